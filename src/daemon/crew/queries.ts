// Read-only queries of the API about crews: the list, one crew, and one task with its texts and history. Reads committed state, and
// journals in pages. Test: test/e2e/crew/crew.test.ts.
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { crewView, MEMBER_FIELDS, taskView } from './view.ts'
import { crewEventText, TASK_FACTS } from '../../api/text/crew-event.ts'
import { taskTextsOf } from '../../kernel/crew/text/task-text.ts'
import { isoTime } from '../views/format-times.ts'
import { totalElapsedMs } from '../views/process-view.ts'
import type { CrewView, TaskDetailView, TaskEventView } from '../../api/views/crew.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { CrewFact } from '../../kernel/model/crew/facts.ts'
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const FACTS_PER_PAGE = 200
/** maximum number of pages of facts that are read for one task */
const MAX_PAGES = 100

export interface CrewQueriesDeps {
  readonly reads: ProcessQueries
  readonly store: Pick<Store, 'tail'>
  readonly clock: Clock
}

export class CrewQueries {
  readonly #deps: CrewQueriesDeps

  constructor(deps: CrewQueriesDeps) {
    this.#deps = deps
  }

  /** The living crews in the order of their PIDs. With `includeEnded`, the ended crews come before them. */
  async list(includeEnded: boolean): Promise<CrewView[]> {
    const { reads } = this.#deps
    const rows = await reads.list({ all: includeEnded, fields: ['uuid', 'driver'] })
    const crews: CrewView[] = []
    for (const { uuid } of rows.filter(({ driver }) => driver === 'crew')) {
      const process = await reads.find(uuid)
      if (process) crews.push(await this.view(process))
    }
    return crews
  }

  /** Resolves a reference to a crew. Errors: those of a reference; INVALID for a process that is not a crew. */
  async resolve(ref: string): Promise<Process> {
    const process = await this.#deps.reads.resolve(ref)
    if (process.spec.crew) return process
    const { member } = process.spec
    throw new KernelError(
      'INVALID',
      `process ${process.pid} is not a crew`,
      undefined,
      member ? `It is the member ${member.id} of a crew: \`reeve crew ps ${member.crew.slice(-8)}\`.` : '`reeve crew ps` lists the crews.',
    )
  }

  async view(process: Process): Promise<CrewView> {
    const { reads, clock } = this.#deps
    const { mono } = clock.now()
    const members = new Map<Uuid, Pick<ProcessView, (typeof MEMBER_FIELDS)[number]>>()
    for (const { uuid } of process.crew?.members ?? []) {
      const found = uuid === null ? undefined : await reads.find(uuid)
      if (found) members.set(found.uuid, { ...reads.view(found, MEMBER_FIELDS), elapsedMs: totalElapsedMs(found.clock, mono) })
    }
    const view = reads.view(process, ['status', 'asks', 'exit', 'subtreeUsage', 'note', 'holds'])
    return crewView({ process, view, members, mono })
  }

  /** One task with its texts and history. Errors: those of `requireTask`. */
  async task(process: Process, id: string): Promise<TaskDetailView> {
    const task = requireTask(process, id)
    const facts = await readTaskFacts(this.#deps.store, process.uuid)
    const factAt = <T extends FactBody['type']>(seq: number | null, type: T): Extract<FactBody, { type: T }> | undefined =>
      facts.find((fact) => fact.seq === seq && fact.body.type === type)?.body as Extract<FactBody, { type: T }> | undefined
    const { text: taskText, acceptance } = taskTextsOf(
      task,
      facts.map(({ body }) => body as CrewFact),
    )
    return {
      ...taskView(task),
      text: taskText ?? '',
      acceptance,
      report: factAt(task.seqs.report, 'task.reported')?.summary ?? factAt(task.seqs.report, 'task.taken')?.report ?? null,
      comments: factAt(task.seqs.verdict, 'task.verdict')?.comments ?? null,
      history: taskEvents(facts, id),
    }
  }
}

/** Reads the facts about a crew's tasks, oldest first. At most the last MAX_PAGES pages. */
export async function readTaskFacts(store: CrewQueriesDeps['store'], uuid: Uuid): Promise<StoredFact[]> {
  const facts: StoredFact[] = []
  let before: number | undefined
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await store.tail(uuid, FACTS_PER_PAGE, TASK_FACTS, before)
    facts.unshift(...page)
    if (page.length < FACTS_PER_PAGE) break
    before = page[0]?.seq
  }
  return facts
}

/** The task of a crew with this id. Errors: NOT_FOUND; the hint has the most similar id, or else lists the tasks. */
export function requireTask({ crew }: Process, id: string): Task {
  const tasks = crew?.tasks ?? []
  const task = tasks.find((task) => task.id === id)
  if (!task)
    throw unknownTaskError(
      id,
      tasks.map((candidate) => candidate.id),
    )
  return task
}

/** The events of one task. A handover between members is one of them if the predecessor held the task. */
function taskEvents(facts: readonly StoredFact[], task: string): TaskEventView[] {
  const workerIds = new Set<string>()
  return facts.flatMap((fact) => {
    const { body } = fact
    if (body.type === 'crew.replaced') {
      if (!workerIds.delete(body.member)) return []
      workerIds.add(body.heir)
      return eventView(fact, `${body.heir} takes over from ${body.member}`)
    }
    if (!('task' in body) || body.task !== task) return []
    if (body.type === 'task.assigned' || body.type === 'task.review') workerIds.add(body.member)
    else if (RELEASING_FACTS.has(body.type)) workerIds.clear()
    return eventView(fact)
  })
}

/** Facts after which no member holds the task. */
const RELEASING_FACTS: ReadonlySet<FactBody['type']> = new Set([
  'task.requeued',
  'task.committed',
  'task.done',
  'task.failed',
  'task.cancelled',
])

function eventView({ seq, at, body }: StoredFact, title?: string): TaskEventView[] {
  const event = crewEventText(body)
  return event ? [{ seq, at: isoTime(at), type: body.type, what: title ?? event.what, text: event.text }] : []
}

function unknownTaskError(id: string, knownIds: readonly string[]): KernelError {
  const similarId = closestWord(id, knownIds)
  return new KernelError(
    'NOT_FOUND',
    `the crew has no task "${id}"`,
    undefined,
    similarId ? `Did you mean ${similarId}?` : knownIds.length === 0 ? 'It has no tasks.' : `Its tasks are ${knownIds.join(', ')}.`,
  )
}
