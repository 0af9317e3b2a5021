// The JSON of a crew's account: what became of each task, who did it, what it cost, and what is left for a person. Types only.
// Fields may be added; none is renamed within version 1. Test: test/e2e/crew-report.test.ts, test/e2e/openapi.test.ts.
import type { CrewTaskView } from './crew-views.ts'
import type { Status } from './views.ts'

export type ReportUsageView = {
  steps: number
  turns: number
  toolCalls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number
  /** some call had no known price, so `costUsd` is a lower bound */
  unpriced: boolean
  /** some call was cut off and charged by its estimate */
  estimated: boolean
}

/** From when one had a task until it was done or taken away. */
export type ReportTryView = {
  member: string
  startedAt: string
  /** null: it still has it */
  endedAt: string | null
  outcome: 'done' | 'requeued' | 'handed over' | 'failed' | 'cancelled' | null
  /** why it was taken away, or failed */
  reason: string | null
}

export type ReportVerdictView = {
  /** null: a person */
  by: string | null
  at: string
  verdict: 'APPROVED' | 'DENIED'
  comments: string
}

export type ReportTaskView = Pick<CrewTaskView, 'id' | 'kind' | 'title' | 'state' | 'needs' | 'implementer' | 'implementers' | 'reviewer' | 'attempts' | 'denials' | 'base' | 'commit' | 'merged' | 'conflict' | 'reason' | 'addedAt' | 'startedAt' | 'endedAt'> & {
  /** all that ever reviewed it */
  reviewers: string[]
  /** the last 100 of each */
  tries: ReportTryView[]
  verdicts: ReportVerdictView[]
  /** what is to be known of its commit */
  note: string | null
  /** of the turns that were about it, those of its reviewers too */
  usage: ReportUsageView
  /** as long as somebody was in a turn about it */
  workedMs: number
  /** the rest of the time from its beginning to its end, or until now */
  waitedMs: number
  /** as long as a person was asked about it; a part of `waitedMs` */
  askedMs: number
}

export type ReportMemberView = {
  id: string
  role: 'coordinator' | 'generic' | 'implementer' | 'reviewer' | 'researcher'
  uuid: string | null
  /** null: its process was removed */
  agent: string | null
  model: string | null
  status: Status | null
  leave: { how: 'retired' | 'stopped' | 'lost' | 'replaced'; reason: string } | null
  /** with what it started itself */
  usage: ReportUsageView
}

export type ReportBranchView = { name: string; commit: string; /** commits that the crew's branch does not have; of that one itself: since it began */ commits: number }

export type ReportGitView = {
  branch: ReportBranchView & { base: string; /** what is checked out in the repository has all of it */ taken: boolean }
  /** branches beside it that have commits of their own */
  unmerged: ReportBranchView[]
  /** what was not committed when something else began, newest first */
  salvaged: { ref: string; commit: string; at: string; subject: string }[]
  /** of members that are gone and did not retire */
  worktrees: { member: string; uuid: string; dir: string; branch: string }[]
}

export type CrewReportView = {
  version: 1
  uuid: string
  name: string | null
  status: Status
  coordinator: 'engine' | 'agent'
  gate: 'auto' | 'coordinator' | 'human'
  merge: 'auto' | 'leave'
  reviews: boolean
  createdAt: string
  exitedAt: string | null
  /** from its beginning to its end, or until now: also while it was stopped or paused */
  elapsedMs: number
  ending: { outcome: 'completed' | 'failed' | 'cancelled'; summary: string } | null
  tasks: ReportTaskView[]
  members: ReportMemberView[]
  totals: {
    /** tasks by their state */
    tasks: Partial<Record<CrewTaskView['state'], number>>
    commits: number
    attempts: number
    denials: number
    /** of the whole crew, and of that what was about no task */
    usage: ReportUsageView
    apart: ReportUsageView
  }
  /** null: it works on no repository, or that is gone (`problems` says so) */
  git: ReportGitView | null
  /** what a person has to do now, in words; empty: nothing */
  open: { what: string; how: string | null }[]
  /** what this account could not find out */
  problems: string[]
}

/** What git keeps of a crew that was removed: its branch, with so many commits since it began, others that are not merged into it, refs with what nobody committed. */
export interface CrewKeptView { branch: string; commits: number; unmerged: string[]; salvaged: string[] }
