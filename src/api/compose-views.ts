// The JSON that users see about runs of compose files, as views.ts has the rest. Types only. Test: test/e2e/compose.test.ts.
import type { Limits } from '../kernel/types.ts'
import type { Status } from './views.ts'

export type NodeStateWord = 'waiting' | 'starting' | 'running' | 'completed' | 'failed' | 'blocked' | 'cancelled'

/** The process of a node, as it is now. */
export interface NodeProcessView {
  uuid: string
  pid: number
  status: Status
  agent: string
  model: string | null
  step: number
  elapsedMs: number
  costUsd: number
  unpriced: boolean
  note: string | null
}

export interface NodeView {
  name: string
  state: NodeStateWord
  /** why it failed, is blocked or was cancelled, or what it is started again after */
  reason: string | null
  needs: string[]
  /** how often it was started again after a failure, and how often it may be */
  attempts: number
  retries: number
  /** null: it has none yet, or it was removed */
  process: NodeProcessView | null
}

/** A run: `reeve compose up`. */
export interface RunView {
  uuid: string
  pid: number
  name: string | null
  status: Status
  file: string
  createdAt: string
  exitedAt: string | null
  elapsedMs: number
  /** how it ended; null: it has not */
  exit: { code: number; reason: string } | null
  /** of all its nodes, and all below them */
  costUsd: number
  unpriced: boolean
  nodes: NodeView[]
}

export interface RunsView { version: 1; runs: RunView[] }
export interface OneRunView { version: 1; run: RunView; note?: string }

/** What would be run: `row` says what may run side by side, from 0. */
export interface PlannedNodeView {
  name: string
  row: number
  needs: string[]
  agent: string
  model: string | null
  retries: number
  worktree: boolean
}

export interface PlanView { version: 1; file: string; name: string; nodes: PlannedNodeView[] }

export interface ComposeBody {
  /** the nearest reeve.yaml above it is meant, where no file is named */
  cwd: string
  file?: string
  /** these and what they need; absent: all */
  nodes?: string[]
  /** default: after the directory of the file */
  name?: string
  /** so many nodes at a time */
  parallel?: number
  /** of all nodes together */
  limits?: Limits
  env?: Record<string, string>
}

export interface ResumeNodeBody {
  node: string
  message?: string
  /** a fork of it takes its place */
  fork?: boolean
  fromStep?: number
  env?: Record<string, string>
}
