// The JSON of the API: runs of compose files. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/compose/compose.test.ts.
import type { Status } from '../../kernel/model/status.ts'
import type { Limits } from '../../kernel/model/words.ts'
import type { AskView, HoldView } from './process.ts'

export type NodeStateWord = 'waiting' | 'starting' | 'running' | 'completed' | 'failed' | 'blocked' | 'cancelled'

/** The current process of a node. */
export interface NodeProcessView {
  uuid: string
  pid: number
  status: Status
  agent: string
  model: string | null
  step: number
  elapsedMs: number
  costUsd: number | null
  unpriced: boolean
  note: string | null
  /** why the process is suspended */
  holds: HoldView[]
  /** the open questions for the user */
  asks: AskView[]
}

/** A node of a run. */
export interface NodeView {
  name: string
  state: NodeStateWord
  /** why the node failed, is blocked, was cancelled or is being restarted */
  reason: string | null
  needs: string[]
  /** the number of restarts after failures */
  attempts: number
  /** the largest number of `attempts` */
  retries: number
  /** null: the node has no process yet, or it was removed */
  process: NodeProcessView | null
}

/** A run of a compose file. */
export interface RunView {
  uuid: string
  pid: number
  name: string | null
  status: Status
  file: string
  createdAt: string
  exitedAt: string | null
  elapsedMs: number
  /** how the run ended; null while it runs */
  exit: { code: number; reason: string } | null
  /** the cost of the processes of its nodes, without the processes that these have started */
  costUsd: number | null
  unpriced: boolean
  /** the text of the NOTE column */
  note: string | null
  /** why the process is suspended */
  holds: HoldView[]
  asks: AskView[]
  nodes: NodeView[]
}

export interface RunsView {
  version: 1
  runs: RunView[]
}

export interface OneRunView {
  version: 1
  run: RunView
  note?: string
}

/** A node of a plan. Nodes with the same `row` (from 0) can run in parallel. */
export interface PlannedNodeView {
  name: string
  row: number
  needs: string[]
  agent: string
  model: string | null
  retries: number
  worktree: boolean
}

export interface PlanView {
  version: 1
  file: string
  name: string
  nodes: PlannedNodeView[]
}

export interface ComposeBody {
  /** the working directory; `file` defaults to the nearest reeve.yaml in or above it */
  cwd: string
  file?: string
  /** the nodes to run, with their dependencies; absent: all nodes */
  nodes?: string[]
  /** the name of the run; default: the name of the directory of the file */
  name?: string
  /** the largest number of nodes that run at the same time */
  parallel?: number
  /** limits of all nodes together */
  limits?: Limits
  env?: Record<string, string>
}

export interface ResumeNodeBody {
  node: string
  message?: string
  /** true: a fork of its process replaces the process */
  fork?: boolean
  fromStep?: number
  env?: Record<string, string>
}
