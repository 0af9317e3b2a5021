// What happened to each task of a crew, added up fact by fact from its journal: who had it and for how long, what was said of it.
// Pure: the journal in, figures out. What is cut off by a crash of the daemon counts until its last beginning.
// Test: test/tables/crew-history.test.ts.
import { addSpent } from '../kernel/spent.ts'
import { iso } from './times.ts'
import type { ReportTryView, ReportVerdictView } from '../api/crew-report-views.ts'
import type { CrewFact, CrewRecord } from '../crew/facts.ts'
import type { MemberId, TaskId } from '../crew/types.ts'
import type { Spent } from '../kernel/spent.ts'

/** So many tries and verdicts of one task are kept: the last. */
const MAX_KEPT = 100

/** A span of wall time in ms. */
type Span = readonly [from: number, to: number]

export class TaskHistory {
  readonly reviewers: MemberId[] = []
  tries: ReportTryView[] = []
  verdicts: ReportVerdictView[] = []
  spent: Spent = {}
  /** what git had to say of its commit */
  note: string | null = null
  /** turns about it */
  readonly worked: Span[] = []
  /** a person was asked */
  readonly asked: Span[] = []
  askedAt: number | null = null

  begin(member: MemberId, at: number): void {
    this.tries = [...this.tries, { member, startedAt: iso(at), endedAt: null, outcome: null, reason: null }].slice(-MAX_KEPT)
  }

  end(at: number, outcome: NonNullable<ReportTryView['outcome']>, reason: string | null): void {
    this.tries = this.tries.map((one) => (one.endedAt === null ? { ...one, endedAt: iso(at), outcome, reason } : one))
    this.answered(at)
  }

  answered(at: number): void {
    if (this.askedAt !== null) this.asked.push([this.askedAt, at])
    this.askedAt = null
  }
}

type FactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>
type Row<T extends CrewFact['type']> = (task: TaskHistory, fact: FactOf<T>, at: number) => void
type Of = Extract<CrewFact, { task: TaskId }>['type']

const ROWS: { readonly [T in Of]?: Row<T> } = {
  'task.assigned': (task, { member }, at) => {
    task.end(at, 'requeued', null)
    task.begin(member, at)
  },
  'task.review': (task, { member }) => {
    if (!task.reviewers.includes(member)) task.reviewers.push(member)
  },
  'task.verdict': (task, { member, verdict, comments }, at) => {
    task.answered(at)
    task.verdicts = [...task.verdicts, { by: member, at: iso(at), verdict, comments }].slice(-MAX_KEPT)
  },
  'task.asked': (task, _, at) => {
    task.askedAt ??= at
  },
  'task.answered': (task, _, at) => task.answered(at),
  'task.approved': (task, _, at) => task.answered(at),
  'task.requeued': (task, { reason }, at) => task.end(at, 'requeued', reason),
  'task.done': (task, { reason }, at) => task.end(at, 'done', reason),
  'task.failed': (task, { reason }, at) => task.end(at, 'failed', reason),
  'task.cancelled': (task, { reason }, at) => task.end(at, 'cancelled', reason),
}

export class CrewHistory {
  readonly #tasks = new Map<TaskId, TaskHistory>()
  /** when the turn began that each is in */
  readonly #turns = new Map<MemberId, { readonly turn: number; readonly at: number }>()
  /** all that a member used in its turns */
  readonly #members = new Map<string, Spent>()
  /** whose commit a job is that is under way */
  readonly #commits = new Map<number, TaskId>()

  take({ body, at }: CrewRecord): void {
    if (body.type === 'crew.turn.begun') this.#turns.set(body.member, { turn: body.turn, at })
    else if (body.type === 'crew.turn') this.#turnEnded(body, at)
    else if (body.type === 'crew.job') this.#asked(body)
    else if (body.type === 'crew.job.done') this.#answered(body)
    else if (body.type === 'crew.replaced') this.#replaced(body, at)
    else if ('task' in body && typeof body.task === 'string') (ROWS[body.type as Of] as Row<Of> | undefined)?.(this.task(body.task), body as FactOf<Of>, at)
  }

  task(id: TaskId): TaskHistory {
    const known = this.#tasks.get(id) ?? new TaskHistory()
    this.#tasks.set(id, known)
    return known
  }

  spentBy(member: string): Spent {
    return this.#members.get(member) ?? {}
  }

  #turnEnded({ member, turn, task, spent }: FactOf<'crew.turn'>, at: number): void {
    const begun = this.#turns.get(member)
    this.#turns.delete(member)
    if (spent) this.#members.set(member, addSpent(this.#members.get(member), spent))
    if (task === undefined) return
    const of = this.task(task)
    if (spent) of.spent = addSpent(of.spent, spent)
    if (begun?.turn === turn) of.worked.push([begun.at, at])
  }

  #asked({ job }: FactOf<'crew.job'>): void {
    if (job.type === 'commit') this.#commits.set(job.job, job.task)
  }

  #answered({ job, result }: FactOf<'crew.job.done'>): void {
    const task = this.#commits.get(job)
    this.#commits.delete(job)
    if (task !== undefined && result.type === 'committed' && result.commit !== null) this.task(task).note = result.output ?? null
  }

  /** What it had, its successor has. */
  #replaced({ member, heir }: FactOf<'crew.replaced'>, at: number): void {
    for (const task of this.#tasks.values()) {
      const open = task.tries.at(-1)
      if (open?.endedAt !== null || open.member !== member) continue
      task.end(at, 'handed over', null)
      task.begin(heir, at)
    }
  }
}

/** How long at least one of these was, in ms. */
export function covered(spans: readonly Span[]): number {
  let [sum, until] = [0, -Infinity]
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    sum += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return sum
}
