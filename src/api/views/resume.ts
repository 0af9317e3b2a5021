// The JSON of the API: resumable processes, and forks. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not
// edit. Test: test/e2e/cli/resume.test.ts.
import type { Status } from '../../kernel/model/status.ts'

/** The ways to resume a process. null means that the way is possible; a text is the reason why it is not. */
export interface ResumeModesView {
  /** continues with the same UUID, from its current state */
  continue: string | null
  /** continues as a new process */
  fork: string | null
  /** the range of steps after which a fork can start; null: only in its current state, or not at all */
  fromStep: { from: number; to: number } | null
  /** runs again from its beginning, without its history */
  rerun: string | null
}

export interface ResumableView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  status: Status
  step: number
  /** the step of the newest checkpoint; null: no checkpoint */
  checkpointStep: number | null
  exitedAt: string | null
  modes: ResumeModesView
}

export interface ResumablesView {
  version: 1
  processes: ResumableView[]
  /** the value of `after` for the next page; null: this is the last page */
  next: string | null
}

/** A process of a tree of forks. Of a removed process only its ids and its name are known. */
export interface LineageNodeView {
  uuid: string
  pid: number
  name: string | null
  status: Status | 'collected'
  step: number | null
  originUuid: string | null
  originStep: number | null
  createdAt: string | null
  endedAt: string | null
  /** null: unknown */
  costUsd: number | null
  exit: { code: number; reason: string } | null
  model: string | null
  /** the settings that differ from those of its origin, by their names */
  changed: string[]
  /** the beginning of its last text */
  lastText: string | null
}

/** The tree of forks of a process, oldest first, each after its origin. */
export interface LineageView {
  version: 1
  uuid: string
  processes: LineageNodeView[]
  /** true: the tree has more processes than the list */
  truncated: boolean
}

export interface CompareView {
  version: 1
  a: LineageNodeView
  b: LineageNodeView
  /** the last step that both have in common; null: none is known */
  commonStep: number | null
  /** the settings that differ, with their values as text or JSON */
  changed: { field: string; a: string | null; b: string | null }[]
}
