// The JSON of the API: resumable processes. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/cli/resume.test.ts.
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
