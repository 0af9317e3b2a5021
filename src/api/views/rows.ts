// The JSON of the API: the rows that all faces share. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not
// edit. Test: test/e2e/rows/rows.test.ts.
import type { Status } from '../../kernel/model/status.ts'
import type { Activity, DriverName, LimitName, LivenessWord } from '../../kernel/model/words.ts'
import type { DoingView, WhyView } from './heartbeat.ts'
import type { NeedView } from './needs.ts'

/** Sums of a process and all processes below it, by the processes that spawned them. */
export interface SubtreeSumsView {
  /** as its budgets count it; of an ended process: also of those below that outlived it */
  usd: number
  /** the processes that have not ended */
  live: number
  working: number
  /** the processes with an open question */
  asking: number
  /** the suspended processes */
  held: number
  /** the processes that failed, among the rows of the last 24 hours */
  failed: number
  /** the most that the open model calls may cost */
  reservedUsd: number
}

/** Sums of all processes, whatever rows were requested. */
export interface SumsView {
  live: number
  working: number
  asking: number
  held: number
  /** the processes that failed in the last 24 hours */
  failed: number
  /** spent by all processes since midnight */
  todayUsd: number
  reservedUsd: number
}

/** The limit of a process of which the largest share is used. */
export interface RowBudgetView {
  limit: LimitName
  /** the usage of the subtree, in the unit of the limit */
  used: number
  /** the most that open calls may add */
  reserved: number
  of: number
  /** the share at which reeve warns */
  warnAt: number
}

/** A process as lists show it. */
export interface RowView {
  uuid: string
  pid: number
  /** the process that spawned it */
  parent: string | null
  /** its current parent: if its spawner has ended, another ancestor; null: the kernel */
  under: string | null
  host: string
  kind: 'agent' | 'command' | 'crew' | 'run' | 'supervisor'
  name: string | null
  agent: string
  driver: DriverName
  model: string | null
  /** the first line of the intent, truncated */
  about: string
  /** where it was started */
  directory: string
  labels: Record<string, string>
  state: 'created' | 'running' | 'zombie' | 'dead'
  status: Status
  activity: Activity | null
  /** its liveness problem; null: none */
  liveness: LivenessWord | null
  /** when the status began; if that was before the start of the daemon, the nearest known time */
  since: string
  /** null: it has ended */
  why: WhyView | null
  doing: DoingView | null
  /** the text of the NOTE column */
  note: string | null
  step: number
  turn: number
  /** the number of queued messages */
  queue: number
  /** the number of open questions */
  asks: number
  /** the active time up to `runsSince` */
  elapsedMs: number
  /** null: the clock is stopped; else the time since then counts, too */
  runsSince: string | null
  /** the tokens of the context; null: not known */
  ctx: {
    used: number
    window: number
    /** null: reeve does not compact it */
    compactsAt: number | null
  } | null
  tokens: {
    input: number
    output: number
    cacheRead: number
    cacheWrite: number
  }
  cost: {
    usd: number | null
    /** true: the price of some call is unknown, so the cost is a lower bound */
    unpriced: boolean
    /** true: some call was cut off, and its cost is an estimate */
    estimated: boolean
  }
  sub: SubtreeSumsView
  /** null: it has no limit of its own */
  budget: RowBudgetView | null
  /** the nearest process with a `budget` that its usage counts for, such as itself; null: none */
  budgetOf: string | null
  role: string | null
  phase: string | null
  task: string | null
  /** the branch of its worktree */
  branch: string | null
  /** of a fork: the process and the step that it continues from */
  origin: { uuid: string; step: number | null } | null
  forks: 'any step' | 'now' | 'no'
  /** whether it can be resumed */
  resumes: boolean
  /** how urgently it needs the user: 6 a question, 5 of a crew, 4 a hold, 3 a failure, 2 a silence, 1 an end; 0: it does not */
  attention: number
  /** true: the user has not seen one of its needs, such as a question, a hold or its end */
  unseen: boolean
  /** when its needs count again; null: they are not put off. The time may have passed */
  snoozedUntil: string | null
  pinned: boolean
  /** the last assistant text, truncated to 160 characters */
  lastText: string | null
  exit: { code: number; reason: string; signal?: string; error?: string } | null
  createdAt: string
  endedAt: string | null
  /** the number of its facts */
  seq: number
}

/** Rows in the order in which the processes were created (`shape=objects`). */
export interface RowsView {
  version: 1
  /** the state of the rows; `after` of a stream continues there */
  cursor: string
  /** the newest event that the rows include */
  seq: number
  /** the time of the daemon */
  now: string
  sums: SumsView
  /** the most urgent 100 needs of these processes, in order; those that are put off come last */
  needs: NeedView[]
  rows: RowView[]
}

/** The same rows by field: the n-th value of each list belongs to the n-th row. */
export interface RowColumnsView {
  version: 1
  /** the state of the rows; `after` of a stream continues there */
  cursor: string
  /** the newest event that the rows include */
  seq: number
  /** the time of the daemon */
  now: string
  sums: SumsView
  /** the most urgent 100 needs of these processes, in order; those that are put off come last */
  needs: NeedView[]
  columns: Record<string, unknown[]>
}
