// The JSON of what can be resumed and of who was forked from whom. Types only, as views.ts.
// Test: test/e2e/cli-resume.test.ts.
import type { Status } from './views.ts'

/** How a process can go on; null: it can, else a text that says why not. */
export interface ResumeModesView {
  /** with its UUID, from where it is */
  continue: string | null
  /** as a new process */
  fork: string | null
  /** the steps after which a fork can begin; null: only as it is now, or not at all */
  fromStep: { from: number; to: number } | null
  /** from its beginning, which is no way to go on */
  rerun: string | null
}

export interface ResumableView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  status: Status
  step: number
  /** the step of its newest checkpoint */
  checkpointStep: number | null
  exitedAt: string | null
  modes: ResumeModesView
}

/** `next` goes on after the last of these; null: there are no more. */
export interface ResumablesView { version: 1; processes: ResumableView[]; next: string | null }

/** One of a family of forks. Of a removed one only its names are left. */
export interface LineageNodeView {
  uuid: string
  pid: number
  name: string | null
  status: Status | 'collected'
  step: number | null
  originUuid: string | null
  originStep: number | null
}

/** The family of a process, the eldest first, each after what it was forked from. */
export interface LineageView { version: 1; uuid: string; processes: LineageNodeView[]; truncated: boolean }
