// Computes the history of a crew's tasks (attempts, verdicts, checks, usage, times), and the usage and setup of its members. Takes the
// facts of the journal one by one. Pure. If a daemon crash interrupted a turn, only the part after the restart counts.
// Test: test/tables/daemon/crew/history.test.ts.
import { addTotals } from '../../kernel/model/usage-totals.ts'
import { isoTime } from '../views/format-times.ts'
import type { ReportCheckView, ReportSetupView, ReportTryView, ReportVerdictView } from '../../api/views/crew-report.ts'
import type { CrewFact, CrewRecord, CrewFactOf } from '../../kernel/model/crew/facts.ts'
import type { UsageTotals } from '../../kernel/model/usage.ts'
import type { MemberId, TaskId } from '../../kernel/model/crew/words.ts'

/** maximum number of attempts, of verdicts and of checks per task; the last ones are kept */
const MAX_KEPT = 100

/** maximum length of a command's output, in characters; its end is kept */
const MAX_OUTPUT_CHARS = 2_000

/** A span of wall time, in ms since the epoch. */
type Span = readonly [from: number, to: number]

export class TaskHistory {
  readonly reviewers: MemberId[] = []
  tries: ReportTryView[] = []
  verdicts: ReportVerdictView[] = []
  checks: ReportCheckView[] = []
  spent: UsageTotals = {}
  /** git's remark about the task's commit; null if there is none */
  note: string | null = null
  /** the spans of turns for the task */
  readonly workSpans: Span[] = []
  /** the spans of answered questions to the user */
  readonly questionSpans: Span[] = []
  /** start of the open question to the user; null if there is none */
  openQuestionSince: number | null = null

  beginAttempt(member: MemberId, at: number): void {
    this.tries = [...this.tries, { member, startedAt: isoTime(at), endedAt: null, outcome: null, reason: null }].slice(-MAX_KEPT)
  }

  endAttempt(at: number, outcome: NonNullable<ReportTryView['outcome']>, reason: string | null): void {
    this.tries = this.tries.map((attempt) => (attempt.endedAt === null ? { ...attempt, endedAt: isoTime(at), outcome, reason } : attempt))
    this.endQuestion(at)
  }

  endQuestion(at: number): void {
    if (this.openQuestionSince !== null) this.questionSpans.push([this.openQuestionSince, at])
    this.openQuestionSince = null
  }
}

type FactHandler<T extends CrewFact['type']> = (task: TaskHistory, fact: CrewFactOf<T>, at: number) => void
type TaskFactType = Extract<CrewFact, { task: TaskId }>['type']

const HANDLER_BY_FACT: { readonly [T in TaskFactType]?: FactHandler<T> } = {
  'task.assigned': (task, { member }, at) => {
    task.endAttempt(at, 'requeued', null)
    task.beginAttempt(member, at)
  },
  'task.review': (task, { member }) => {
    if (!task.reviewers.includes(member)) task.reviewers.push(member)
  },
  'task.verdict': (task, { member, verdict, comments }, at) => {
    task.endQuestion(at)
    task.verdicts = [...task.verdicts, { by: member, at: isoTime(at), verdict, comments }].slice(-MAX_KEPT)
  },
  'task.verify': (task, { member, stage, command, ok, ran, commit, changed }, at) => {
    task.checks = [
      ...task.checks,
      {
        member,
        at: isoTime(at),
        stage,
        command,
        ok,
        code: ran.code,
        ms: ran.ms,
        end: ran.end,
        signal: ran.signal,
        commit,
        output: ran.output.slice(-MAX_OUTPUT_CHARS),
        changed: [...changed],
      },
    ].slice(-MAX_KEPT)
  },
  'task.asked': (task, _, at) => {
    task.openQuestionSince ??= at
  },
  'task.answered': (task, _, at) => task.endQuestion(at),
  'task.approved': (task, _, at) => task.endQuestion(at),
  'task.requeued': (task, { reason }, at) => task.endAttempt(at, 'requeued', reason),
  'task.done': (task, { reason }, at) => task.endAttempt(at, 'done', reason),
  'task.failed': (task, { reason }, at) => task.endAttempt(at, 'failed', reason),
  'task.reopened': (task, { comments }, at) => {
    task.verdicts = [...task.verdicts, { by: null, at: isoTime(at), verdict: 'DENIED' as const, comments }].slice(-MAX_KEPT)
  },
  'task.cancelled': (task, { reason }, at) => task.endAttempt(at, 'cancelled', reason),
}

export class CrewHistory {
  readonly #historyByTask = new Map<TaskId, TaskHistory>()
  /** the current turn of each member, and its start */
  readonly #openTurns = new Map<MemberId, { readonly turn: number; readonly at: number }>()
  /** the usage of each member's turns, those without a task included */
  readonly #usageByMember = new Map<string, UsageTotals>()
  readonly #setupByMember = new Map<string, ReportSetupView>()
  /** by job number: the tasks of open commit jobs */
  readonly #taskByCommitJob = new Map<number, TaskId>()

  addFact({ body, at }: CrewRecord): void {
    if (body.type === 'crew.turn.begun') this.#openTurns.set(body.member, { turn: body.turn, at })
    else if (body.type === 'crew.turn') this.#endTurn(body, at)
    else if (body.type === 'crew.setup') this.#setupByMember.set(body.member, setupView(body, at))
    else if (body.type === 'crew.job') this.#recordCommitJob(body)
    else if (body.type === 'crew.job.done') this.#recordCommitNote(body)
    else if (body.type === 'crew.replaced') this.#moveAttemptToSuccessor(body, at)
    else if ('task' in body && typeof body.task === 'string')
      (HANDLER_BY_FACT[body.type as TaskFactType] as FactHandler<TaskFactType> | undefined)?.(
        this.taskHistory(body.task),
        body as CrewFactOf<TaskFactType>,
        at,
      )
  }

  taskHistory(id: TaskId): TaskHistory {
    const history = this.#historyByTask.get(id) ?? new TaskHistory()
    this.#historyByTask.set(id, history)
    return history
  }

  setupOf(member: string): ReportSetupView | null {
    return this.#setupByMember.get(member) ?? null
  }

  usageOfMember(member: string): UsageTotals {
    return this.#usageByMember.get(member) ?? {}
  }

  #endTurn({ member, turn, task, spent }: CrewFactOf<'crew.turn'>, at: number): void {
    const begun = this.#openTurns.get(member)
    this.#openTurns.delete(member)
    if (spent) this.#usageByMember.set(member, addTotals(this.#usageByMember.get(member), spent))
    if (task === undefined) return
    const history = this.taskHistory(task)
    if (spent) history.spent = addTotals(history.spent, spent)
    if (begun?.turn === turn) history.workSpans.push([begun.at, at])
  }

  #recordCommitJob({ job }: CrewFactOf<'crew.job'>): void {
    if (job.type === 'commit') this.#taskByCommitJob.set(job.job, job.task)
  }

  #recordCommitNote({ job, result }: CrewFactOf<'crew.job.done'>): void {
    const task = this.#taskByCommitJob.get(job)
    this.#taskByCommitJob.delete(job)
    if (task !== undefined && result.type === 'committed' && result.commit !== null) this.taskHistory(task).note = result.output ?? null
  }

  /** Ends the member's open attempt, and begins one for its successor. */
  #moveAttemptToSuccessor({ member, heir }: CrewFactOf<'crew.replaced'>, at: number): void {
    for (const task of this.#historyByTask.values()) {
      const lastAttempt = task.tries.at(-1)
      if (lastAttempt?.endedAt !== null || lastAttempt.member !== member) continue
      task.endAttempt(at, 'handed over', null)
      task.beginAttempt(heir, at)
    }
  }
}

function setupView({ ok, command, ran, copied, skipped }: CrewFactOf<'crew.setup'>, at: number): ReportSetupView {
  return {
    at: isoTime(at),
    ok,
    command,
    code: ran?.code ?? null,
    ms: ran?.ms ?? 0,
    output: ran?.output.slice(-MAX_OUTPUT_CHARS) ?? '',
    copied,
    skipped: [...skipped],
  }
}

/** The total time that the spans cover, in ms. Overlaps count once. */
export function coveredMs(spans: readonly Span[]): number {
  let [sum, until] = [0, -Infinity]
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    sum += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return sum
}
