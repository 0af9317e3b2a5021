// The JSON of the API: the report of a crew. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/crew/report.test.ts.
import type { CommitGate, CrewOutcome, Leave, ReviewVerdict, Role, TaskState } from '../../kernel/model/crew/words.ts'
import type { Status } from '../../kernel/model/status.ts'

/** Tokens and USD of a part of a crew. */
export interface ReportUsageView {
  steps: number
  turns: number
  toolCalls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** true: the price of some call is unknown, so the cost is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
}

/** An attempt at a task: from its assignment to a member until it was done or taken away. */
export interface ReportTryView {
  member: string
  startedAt: string
  /** null: the attempt is not over */
  endedAt: string | null
  outcome: 'done' | 'requeued' | 'handed over' | 'failed' | 'cancelled' | null
  /** why the task was taken away, or failed */
  reason: string | null
}

export interface ReportVerdictView {
  /** null: the user */
  by: string | null
  at: string
  verdict: ReviewVerdict
  comments: string
}

/** A run of the verify command of a task. */
export interface ReportCheckView {
  /** the member whose files were checked */
  member: string
  at: string
  stage: 'review' | 'merge'
  command: string
  ok: boolean
  /** how the command ended. `exited`: by itself; `late`: after its time limit; `unable`: it could not be started */
  end: 'exited' | 'late' | 'unable'
  code: number | null
  signal: string | null
  ms: number
  /** the commit with the checked files; null: not in a repository */
  commit: string | null
  /** the end of its output */
  output: string
  /** the files that the command changed, which reeve restored */
  changed: string[]
}

/** The outcome of a task. `usage` is that of all turns about the task, including those of its reviewers. */
export interface ReportTaskView {
  id: string
  kind: 'work' | 'human' | 'conflict'
  title: string
  state: TaskState
  needs: string[]
  /** the member that does the task, or has done it */
  implementer: string | null
  /** all members that have worked on the task */
  implementers: string[]
  reviewer: string | null
  /** the number of failed attempts, for any reason */
  attempts: number
  /** the number of attempts that a reviewer or the user denied */
  denials: number
  base: string | null
  commit: string | null
  /** the commit of the crew branch after the merge; null: not merged */
  merged: string | null
  /** the id of the task that resolves the merge conflict; null: no conflict */
  conflict: string | null
  /** why the task ended, or why the last attempt failed */
  reason: string | null
  /** who declared the task done without a review or a commit; null for all other tasks */
  byWord: string | null
  addedAt: string
  startedAt: string | null
  endedAt: string | null
  /** all reviewers so far */
  reviewers: string[]
  /** the last 100 attempts */
  tries: ReportTryView[]
  /** the last 100 verdicts */
  verdicts: ReportVerdictView[]
  /** the last 100 runs of the verify command */
  checks: ReportCheckView[]
  /** a remark about its commit, for the user */
  note: string | null
  usage: ReportUsageView
  /** the time in which a member had a turn about the task */
  workedMs: number
  /** the time since the task was added, until its end, that of the crew, or now; minus `workedMs` */
  waitedMs: number
  /** the part of `waitedMs` in which a question about the task waited for the user */
  askedMs: number
}

/** The setup of the worktree of a member. */
export interface ReportSetupView {
  at: string
  ok: boolean
  command: string | null
  code: number | null
  ms: number
  /** the end of its output */
  output: string
  /** the number of copied files */
  copied: number
  /** some of the files that were not copied, with the reason */
  skipped: string[]
}

/** A member of the crew. `usage` includes the processes that the member has started. */
export interface ReportMemberView {
  id: string
  role: Role
  uuid: string | null
  /** null: the process of the member was removed */
  agent: string | null
  model: string | null
  status: Status | null
  /** how and why the member left, or is leaving; null: it stays */
  leave: { how: Leave; reason: string } | null
  usage: ReportUsageView
  /** null: its worktree needed no setup */
  setup: ReportSetupView | null
}

export interface ReportBranchView {
  name: string
  commit: string
  /** the number of commits that the crew branch does not have; for the crew branch: the number since its start */
  commits: number
}

export interface ReportGitView {
  branch: {
    name: string
    commit: string
    /** the number of commits that the crew branch does not have; for the crew branch: the number since its start */
    commits: number
    base: string
    /** true: the checked-out branch contains all its commits */
    taken: boolean
  }
  /** other branches with commits that the crew branch does not have */
  unmerged: ReportBranchView[]
  /** refs with uncommitted files, newest first */
  salvaged: { ref: string; commit: string; at: string; subject: string }[]
  /** worktrees of members that left without retiring */
  worktrees: { member: string; uuid: string; dir: string; branch: string }[]
}

export interface CrewReportView {
  version: 1
  uuid: string
  name: string | null
  status: Status
  coordinator: 'engine' | 'agent'
  gate: CommitGate
  merge: 'auto' | 'leave'
  reviews: boolean
  createdAt: string
  exitedAt: string | null
  /** the time from its start to its end, or until now, including time in which it was stopped or paused */
  elapsedMs: number
  ending: { outcome: CrewOutcome; summary: string } | null
  tasks: ReportTaskView[]
  members: ReportMemberView[]
  /** `usage` is that of the whole crew; `apart` is the part of it that belongs to no task */
  totals: {
    /** the number of tasks in each state */
    tasks: Partial<Record<TaskState, number>>
    commits: number
    attempts: number
    denials: number
    usage: ReportUsageView
    apart: ReportUsageView
  }
  /** null: the crew works without a repository, or the repository cannot be read (`problems` has the reason) */
  git: ReportGitView | null
  /** the open points for the user, each with a command if there is one */
  open: { what: string; how: string | null }[]
  /** which parts of the report are missing, and why */
  problems: string[]
}
