// The JSON that users see of crews: the crew, its members, its tasks, and one task with its texts. Types only.
// Fields may be added; none is renamed within version 1. Test: test/e2e/crew.test.ts, test/e2e/openapi.test.ts.
import type { AskView, Status } from './views.ts'

export type CrewTaskView = {
  id: string
  kind: 'work' | 'human' | 'conflict'
  title: string
  state: 'queued' | 'implementing' | 'awaiting_review' | 'in_review' | 'addressing_feedback' | 'approved' | 'committing' | 'merging' | 'waiting' | 'done' | 'failed' | 'cancelled'
  needs: string[]
  role: string | null
  reviews: boolean
  /** who holds it, or held it when it was done */
  implementer: string | null
  /** all that ever held it */
  implementers: string[]
  reviewer: string | null
  verdict: 'APPROVED' | 'DENIED' | null
  /** tries that have failed, for any reason; `denials` of them were denied */
  attempts: number
  denials: number
  base: string | null
  commit: string | null
  /** the crew's branch after the merge */
  merged: string | null
  /** the task that resolves its conflict */
  conflict: string | null
  /** of the last failure, or of its end */
  reason: string | null
  /** a ref with what an earlier try left uncommitted */
  salvaged: string | null
  /** what a person is asked about it: for the task itself, for its commit, or for its review */
  asks: 'human' | 'gate' | 'review' | null
  /** of the turns that were about it */
  spent: { inputTokens: number; outputTokens: number; cacheReadTokens: number; cacheWriteTokens: number; costUsd: number; unpriced: boolean }
  addedAt: string
  startedAt: string | null
  endedAt: string | null
}

export type CrewMemberView = {
  id: string
  role: 'coordinator' | 'generic' | 'implementer' | 'reviewer' | 'researcher'
  state: 'starting' | 'on' | 'leaving' | 'gone'
  phase: 'idle' | 'implementing' | 'awaiting_review' | 'reviewing' | 'addressing_feedback' | 'committing'
  task: string | null
  /** how and why it left, or leaves */
  leave: { how: 'retired' | 'stopped' | 'lost' | 'replaced'; reason: string } | null
  /** null: it is being started */
  uuid: string | null
  pid: number | null
  agent: string | null
  status: Status | null
  /** null: what it runs has no worktree, or that is not made yet */
  worktree: { dir: string; branch: string } | null
  queueCount: number
  contextTokens: number
  contextWindow: number | null
  costUsd: number
  unpriced: boolean
  elapsedMs: number
  /** what the NOTE column says */
  note: string | null
}

export type CrewView = {
  uuid: string
  pid: number
  name: string | null
  status: Status
  cwd: string
  coordinator: 'engine' | 'agent'
  gate: 'auto' | 'coordinator' | 'human'
  merge: 'auto' | 'leave'
  reviews: boolean
  /** null: it works on no repository */
  branch: string | null
  base: string | null
  createdAt: string
  exitedAt: string | null
  elapsedMs: number
  costUsd: number
  unpriced: boolean
  /** what the NOTE column says */
  note: string | null
  /** what it waits for, in words */
  waitsFor: string[]
  /** what it asks a person */
  asks: AskView[]
  ending: { outcome: 'completed' | 'failed' | 'cancelled'; summary: string } | null
  exit: { code: number; reason: string } | null
  tasks: CrewTaskView[]
  members: CrewMemberView[]
}

/** One thing that happened to a task. `text` is what was said then, whole. */
export type TaskEventView = { seq: number; at: string; type: string; what: string; text: string | null }

/** A task with its texts. `history` has its thread, too. */
export type TaskDetailView = CrewTaskView & { text: string; acceptance: string | null; report: string | null; comments: string | null; history: TaskEventView[] }

export type CrewsView = { version: 1; crews: CrewView[] }

/** POST /v1/crews/:ref/commands: what a person says to a crew. */
export type CrewCommandBody =
  | { type: 'add_task'; id?: string; title?: string; text: string; acceptance?: string; needs?: string[]; kind?: 'work' | 'human'; role?: 'generic' | 'implementer' | 'researcher'; reviews?: boolean }
  | { type: 'spawn_worker'; role: 'generic' | 'implementer' | 'reviewer' | 'researcher' }
  | { type: 'assign_task'; task: string; member: string }
  | { type: 'assign_review'; task: string; member: string }
  | { type: 'approve_commit'; task: string }
  | { type: 'send_message'; to: string; text: string; task?: string }
  | { type: 'replace_worker'; member: string; summary: string }
  | { type: 'retire_worker'; member: string; reason: string }
  | { type: 'stop_worker'; member: string; reason: string }
  | { type: 'cancel_task'; task: string; reason: string; requeue: boolean }
  | { type: 'mark_task_done'; task: string; reason: string }
  | { type: 'mark_task_failed'; task: string; reason: string }
  | { type: 'notify_user'; text: string }
  | { type: 'complete_crew'; summary: string; outcome: 'completed' | 'failed' | 'cancelled' }

/** `note`: what came of it, in words. */
export type CrewSteerView = { version: 1; crew: CrewView; note: string | null }
