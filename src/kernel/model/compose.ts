// Types of compose: the state of a run and its nodes, and the facts that change it. Both are stored: a field may be added, but no field may
// change its meaning. The decisions are in compose/run.ts. Test: test/tables/kernel/compose/run.test.ts.
import type { Sender, Uuid } from './ids.ts'

/**
 * A node waits for the nodes that it needs (`waiting`). The daemon then builds its process (`starting`). A node without
 * success has failed, was stopped by the user or a parent (`cancelled`), or needs such a node (`blocked`).
 */
export const NODE_STATES = ['waiting', 'starting', 'running', 'completed', 'failed', 'blocked', 'cancelled'] as const
export type NodeState = (typeof NODE_STATES)[number]

/** A node of a run. */
export interface ComposeNode {
  readonly name: string
  readonly state: NodeState
  /** the process of the node; null: none yet, or the node runs again with a new process */
  readonly uuid: Uuid | null
  /** number of restarts after a failure */
  readonly attempts: number
  /** number of the last build request; an answer to any other request is ignored */
  readonly ask: number
  /** why the node failed, is blocked or was cancelled */
  readonly reason: string | null
}

export interface ComposeRun {
  readonly nodes: readonly ComposeNode[]
}

/** The result of a run: the names of its nodes by final state. */
export interface RunOutcome {
  readonly completed: readonly string[]
  readonly failed: readonly string[]
  readonly blocked: readonly string[]
  readonly cancelled: readonly string[]
}

export type ComposeFact =
  /** the daemon must build the node's process; `ask`: the number of this request */
  | { readonly type: 'compose.starting'; readonly node: string; readonly ask: number }
  | { readonly type: 'compose.started'; readonly node: string; readonly child: Uuid }
  /** the node failed, and starts again after `delayMs` */
  | {
      readonly type: 'compose.retrying'
      readonly node: string
      readonly child: Uuid
      readonly attempt: number
      readonly cause: string
      readonly delayMs: number
    }
  | { readonly type: 'compose.completed'; readonly node: string; readonly child: Uuid }
  | { readonly type: 'compose.failed'; readonly node: string; readonly reason: string }
  /** `by`: the needed node that did not complete */
  | { readonly type: 'compose.blocked'; readonly node: string; readonly by: string }
  | { readonly type: 'compose.cancelled'; readonly node: string; readonly reason: string }
  /** the node waits again, and will run with a new process */
  | { readonly type: 'compose.again'; readonly node: string; readonly by: Sender; readonly via?: string }
  /** the node's process is resumed, or a fork replaces it */
  | { readonly type: 'compose.resumed'; readonly node: string; readonly child: Uuid; readonly by: Sender; readonly via?: string }
  /** every node has a final state */
  | { readonly type: 'compose.finished'; readonly outcome: RunOutcome }
