// The spans of time in which a process, or each process of a tree, had a status. Each span has the cause that is shown. Reads only the
// facts that can change a status. Tests: test/e2e/daemon/spans.test.ts, test/tables/daemon/views/spans.test.ts.
import { senderWord } from '../../api/text/sender-word.ts'
import { reasonText } from '../../api/text/exit-reason.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { readTree, type TreeDeps } from './descendants.ts'
import { isoOrNull, isoTime } from './format-times.ts'
import type { ProcessSpansView, SpanView, SpansView } from '../../api/views/spans.ts'
import type { FactBody, FactType, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'

/** Facts per page. They are short, but for questions. */
const PAGE_FACTS = 100
/** The greatest number of spans of an answer. */
const MAX_ALL = 20_000
const CAUSE_CHARS = 120

/** The facts that can change the status of a process. */
const STATUS_FACTS = [
  'process.spawned',
  'process.forked',
  'process.started',
  'process.attached',
  'process.ready',
  'process.working',
  'process.waiting',
  'process.answered',
  'process.delivered',
  'process.unanswered',
  'process.unasked',
  'process.stopping',
  'process.exited',
  'process.reaped',
  'process.resumed',
  'process.rehydrated',
  'process.held',
  'process.released',
  'process.drained',
  'process.frozen',
  'restart.due',
] as const satisfies readonly FactType[]

export interface SpansQuery {
  readonly subtree: boolean
  /** wall ms */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** the greatest number of spans of one process: its last ones */
  readonly max: number
}

/** A change of status; `at` in wall ms. */
type Change = Pick<SpanView, 'status' | 'cause'> & { readonly at: number }

/** Returns the spans of a process, or of all processes of its tree, in order. */
export async function spansView(deps: TreeDeps, root: Process, query: SpansQuery): Promise<SpansView> {
  const processes = query.subtree ? (await readTree(deps, root)).processes : [root]
  const found: ProcessSpansView[] = []
  let room = MAX_ALL
  for (const process of processes) {
    const { spans, isCut } = await readSpans(deps, process, { ...query, max: Math.min(query.max, room) })
    room -= spans.length
    const { uuid, pid, parentUuid, spec } = process
    if (spans.length > 0) found.push({ uuid, pid, parentUuid, name: spec.name, spans, truncated: isCut })
    if (room === 0) break
  }
  return { version: 1, processes: found, more: room === 0 ? processes.length - found.length : 0 }
}

async function readSpans(
  { store, slices }: TreeDeps,
  { uuid }: Process,
  { since = 0, until = Infinity, max }: SpansQuery,
): Promise<{ readonly spans: SpanView[]; readonly isCut: boolean }> {
  /** the newest first */
  const changes: Change[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    await slices.next()
    const page = await store.tail(uuid, PAGE_FACTS, STATUS_FACTS, before)
    // The facts of an origin are not those of its fork.
    const own = page.filter((fact) => fact.uuid === uuid)
    for (const fact of own.toReversed()) {
      const change = changeOf(fact)
      if (change && change.at < until) addOlder(changes, change)
    }
    const isBefore = (changes.at(-1)?.at ?? Infinity) <= since
    if (own.length < PAGE_FACTS || isBefore || changes.length > max) break
    before = page[0]?.seq ?? 0
  }
  const inOrder = changes.reverse()
  const first = Math.max(
    0,
    inOrder.findLastIndex(({ at }) => at <= since),
  )
  const spans = inOrder.slice(first).map(({ at, status, cause }, index, all): SpanView => {
    return { from: isoTime(at), to: isoOrNull(all[index + 1]?.at ?? null), status, cause }
  })
  return { spans: spans.slice(-max), isCut: spans.length > max }
}

/** Adds the change before the others. A change to the same status does not count. */
function addOlder(changes: Change[], change: Change): void {
  if (changes.at(-1)?.status === change.status) changes.pop()
  changes.push(change)
}

/** Returns the status after a fact; null for facts of an older version, which have none. */
function changeOf({ at, body, moment }: StoredFact): Change | null {
  return moment ? { at, status: moment.status, cause: causeOf(body) } : null
}

function causeOf(body: FactBody): string | null {
  switch (body.type) {
    case 'process.held':
      return shorten(body.hold.reason === 'user' ? `paused by ${senderWord(body.hold.by)}` : body.hold.reason)
    case 'process.released':
    case 'process.answered':
    case 'process.resumed':
      return `${body.type.slice('process.'.length)} by ${senderWord(body.by)}`
    case 'process.delivered':
      return 'got the answer'
    case 'process.unanswered':
      return `answer taken back by ${senderWord(body.by)}`
    case 'process.waiting':
      return shorten(body.question)
    case 'process.exited':
      return shorten(reasonText(body.exit.reason))
    case 'process.ready':
      return body.error === undefined ? null : shorten(body.error)
    default:
      return null
  }
}

function shorten(text: string): string {
  return truncate(text.split('\n', 1)[0] ?? '', CAUSE_CHARS)
}
