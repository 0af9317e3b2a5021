// Rows for a session that must not see everything. A session for a subtree gets no sums of all processes. It also gets nothing about other
// processes, not even an event when they change. A redacted session gets no inputs of tools and no questions. All other viewers share the
// bytes of their rows; each of these sessions gets its own.
// Test: test/tables/daemon/web/restrict.test.ts, test/e2e/web/security.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import { OtherProcesses } from './hide-others.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import { passOf, type Pass } from './pass.ts'
import type { NeedView } from '../../api/views/needs.ts'
import { fieldRedactor, redactDoing, redactExit, redactFields, redactNeed, redactWhy, SHOWN, type FieldRules } from './redact.ts'

type Session = NonNullable<Pass['session']>

/** How a redacted session sees each field of a row. */
const ROW_FIELDS: FieldRules<RowView> = {
  uuid: SHOWN,
  pid: SHOWN,
  parent: SHOWN,
  under: SHOWN,
  host: SHOWN,
  kind: SHOWN,
  name: SHOWN,
  agent: SHOWN,
  driver: SHOWN,
  model: SHOWN,
  about: SHOWN,
  directory: SHOWN,
  labels: SHOWN,
  state: SHOWN,
  status: SHOWN,
  activity: SHOWN,
  liveness: SHOWN,
  since: SHOWN,
  why: redactWhy,
  doing: redactDoing,
  note: () => null,
  step: SHOWN,
  turn: SHOWN,
  queue: SHOWN,
  asks: SHOWN,
  elapsedMs: SHOWN,
  runsSince: SHOWN,
  ctx: SHOWN,
  tokens: SHOWN,
  cost: SHOWN,
  sub: SHOWN,
  budget: SHOWN,
  budgetOf: SHOWN,
  role: SHOWN,
  phase: SHOWN,
  task: SHOWN,
  branch: SHOWN,
  origin: SHOWN,
  forks: SHOWN,
  resumes: SHOWN,
  attention: SHOWN,
  unseen: SHOWN,
  snoozedUntil: SHOWN,
  pinned: SHOWN,
  lastText: SHOWN,
  exit: redactExit,
  createdAt: SHOWN,
  endedAt: SHOWN,
  seq: SHOWN,
}

/** Changes the rows for a session; null: it sees them as they are. */
export interface RowsAdapter {
  text(json: string): Promise<string>
  frames(frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
}

const FRAME = /^id: .*\nevent: (\w+)\ndata: (.*)\n\n$/

/** The adapter for the session of a request. */
export function rowsAdapterOf(request: object, reads: Pick<ProcessQueries, 'find'>): RowsAdapter | null {
  const session = passOf(request)?.session
  if (!session || (session.only === null && !session.redact)) return null
  const others = session.only === null ? null : new OtherProcesses((uuid) => reads.find(uuid), session.only)
  const adapt = async (body: RowsBody, count: number): Promise<RowsBody> => {
    const visibleBody = rowsOfSession(body, session)
    // A cursor counts the changes of all processes. A narrow stream never continues, so its cursors need no meaning.
    return others === null ? visibleBody : { ...((await others.hideIn(visibleBody)) as RowsBody), cursor: `own-${count}`, seq: count }
  }
  return {
    text: async (json) => JSON.stringify(await adapt(JSON.parse(json) as RowsBody, 0)),
    async *frames(frames) {
      let count = 0
      for await (const frame of frames) {
        const [, type = '', json = '{}'] = FRAME.exec(frame.toString('utf8')) ?? []
        const body = JSON.parse(json) as RowsBody
        if (others !== null && type === 'rows' && isEmpty(body)) continue
        if (type !== 'alive') count += 1
        const adapted = await adapt(body, count)
        yield Buffer.from(`id: ${adapted.cursor}\nevent: ${type}\ndata: ${JSON.stringify(adapted)}\n\n`)
      }
    },
  }
}

/** Whether a frame has nothing for a session that sees no sums. */
function isEmpty({ up = [], gone = [], needIds }: RowsBody): boolean {
  return up.length === 0 && gone.length === 0 && needIds === undefined
}

interface RowsBody {
  readonly cursor?: string
  readonly seq?: number
  readonly sums?: unknown
  readonly rows?: readonly Partial<RowView>[]
  readonly up?: readonly Partial<RowView>[]
  readonly gone?: readonly string[]
  readonly needIds?: readonly string[]
  readonly needs?: readonly NeedView[]
  readonly columns?: Readonly<Record<string, readonly unknown[]>>
}

/** Removes from a snapshot or an event what a session must not see. */
export function rowsOfSession(body: RowsBody, { only, redact }: Pick<Session, 'only' | 'redact'>): RowsBody {
  const { sums, ...rest } = body
  const visible = only === null ? { sums, ...rest } : rest
  if (!redact) return visible
  return {
    ...visible,
    ...(visible.rows ? { rows: visible.rows.map((row) => redactFields(row, ROW_FIELDS)) } : {}),
    ...(visible.needs ? { needs: visible.needs.map(redactNeed) } : {}),
    ...(visible.up ? { up: visible.up.map((row) => redactFields(row, ROW_FIELDS)) } : {}),
    ...(visible.columns ? { columns: Object.fromEntries(Object.entries(visible.columns).flatMap(redactColumn)) } : {}),
  }
}

/** Returns a column with redacted values; no column if the field must not be shown. */
function redactColumn([field, values]: [string, readonly unknown[]]): [string, readonly unknown[]][] {
  const redactField = fieldRedactor(field, ROW_FIELDS)
  return redactField ? [[field, values.map(redactField)]] : []
}
