// What the API answers about crews without changing anything: all of them, one, and a task of one with its texts and history.
// Reads applied state and journals in pages. Test: test/e2e/crew.test.ts.
import { nearest } from '../config/nearest.ts'
import { KernelError } from '../kernel/errors.ts'
import { crewView, MEMBER_FIELDS, taskView } from './crew-view.ts'
import { crewWords, TASK_FACTS } from '../api/crew-words.ts'
import { iso } from './times.ts'
import { elapsedInAll } from './views.ts'
import type { CrewView, TaskDetailView, TaskEventView } from '../api/crew-views.ts'
import type { ProcessView } from '../api/views.ts'
import type { FactBody, StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Reads } from './reads.ts'

/** facts of tasks that are read in one go, and pages at most */
const PAGE = 200
const MAX_PAGES = 100

export interface CrewReadsParts {
  readonly reads: Reads
  readonly store: Pick<Store, 'tail'>
  readonly clock: Clock
}

export class CrewReads {
  readonly #parts: CrewReadsParts

  constructor(parts: CrewReadsParts) {
    this.#parts = parts
  }

  /** The living by PID; with `all` the ended before them. */
  async list(all: boolean): Promise<CrewView[]> {
    const { reads } = this.#parts
    const rows = await reads.list({ all, fields: ['uuid', 'driver'] })
    const crews: CrewView[] = []
    for (const { uuid } of rows.filter(({ driver }) => driver === 'crew')) {
      const process = await reads.find(uuid)
      if (process) crews.push(await this.view(process))
    }
    return crews
  }

  /** The crew that is meant. Errors: those of a reference; INVALID where it is no crew. */
  async resolve(ref: string): Promise<Process> {
    const process = await this.#parts.reads.resolve(ref)
    if (process.spec.crew) return process
    const { member } = process.spec
    throw new KernelError('INVALID', `process ${process.pid} is no crew`, undefined, member ? `It is ${member.id} of one: \`reeve crew ps ${member.crew.slice(-8)}\`.` : '`reeve crew ps` lists the crews.')
  }

  async view(process: Process): Promise<CrewView> {
    const { reads, clock } = this.#parts
    const { mono } = clock.now()
    const members = new Map<Uuid, Pick<ProcessView, (typeof MEMBER_FIELDS)[number]>>()
    for (const { uuid } of process.crew?.members ?? []) {
      const found = uuid === null ? undefined : await reads.find(uuid)
      if (found) members.set(found.uuid, { ...reads.view(found, MEMBER_FIELDS), elapsedMs: elapsedInAll(found.clock, mono) })
    }
    const view = reads.view(process, ['status', 'asks', 'exit', 'subtreeUsage', 'note'])
    return crewView({ process, view, members, mono })
  }

  /** Errors: NOT_FOUND with the tasks that there are. */
  async task(process: Process, id: string): Promise<TaskDetailView> {
    const tasks = process.crew?.tasks ?? []
    const task = tasks.find((one) => one.id === id)
    if (!task) throw noTask(id, tasks.map((one) => one.id))
    const facts = await this.#factsOf(process.uuid)
    const text = <T extends FactBody['type']>(seq: number | null, type: T): Extract<FactBody, { type: T }> | undefined => facts.find((one) => one.seq === seq && one.body.type === type)?.body as Extract<FactBody, { type: T }> | undefined
    const added = text(task.seqs.text, 'task.added')
    return {
      ...taskView(task), text: added?.text ?? '', acceptance: added?.acceptance ?? null,
      report: text(task.seqs.report, 'task.reported')?.summary ?? null, comments: text(task.seqs.verdict, 'task.verdict')?.comments ?? null,
      history: historyOf(facts, id),
    }
  }

  async #factsOf(uuid: Uuid): Promise<StoredFact[]> {
    const facts: StoredFact[] = []
    let before: number | undefined
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await this.#parts.store.tail(uuid, PAGE, TASK_FACTS, before)
      facts.unshift(...page)
      if (page.length < PAGE) break
      before = page[0]?.seq
    }
    return facts
  }
}

/** Of whom it is taken over is known by who was given it. */
function historyOf(facts: readonly StoredFact[], task: string): TaskEventView[] {
  const holders = new Set<string>()
  return facts.flatMap((fact) => {
    const { body } = fact
    if (body.type === 'crew.replaced') {
      if (!holders.delete(body.member)) return []
      holders.add(body.heir)
      return eventOf(fact, `${body.heir} takes over from ${body.member}`)
    }
    if (!('task' in body) || body.task !== task) return []
    if (body.type === 'task.assigned' || body.type === 'task.review') holders.add(body.member)
    else if (LETS_GO.has(body.type)) holders.clear()
    return eventOf(fact)
  })
}

/** Nobody has it any more. */
const LETS_GO: ReadonlySet<FactBody['type']> = new Set(['task.requeued', 'task.committed', 'task.done', 'task.failed', 'task.cancelled'])

function eventOf({ seq, at, body }: StoredFact, what?: string): TaskEventView[] {
  const said = crewWords(body)
  return said ? [{ seq, at: iso(at), type: body.type, what: what ?? said.what, text: said.text }] : []
}

function noTask(id: string, known: readonly string[]): KernelError {
  const near = nearest(id, known)
  return new KernelError('NOT_FOUND', `the crew has no task "${id}"`, undefined, near ? `Did you mean ${near}?` : known.length === 0 ? 'It has none.' : `There are ${known.join(', ')}.`)
}
