// The words of compose as types: what a run is asked to do, what it knows of its nodes, and the facts that change that.
// Owns the stored format of both: a field may be added, none may change its meaning. Decides nothing: that is compose.ts.
// Tested through test/tables/compose.test.ts.
import type { ProcessSpec, Sender, Uuid } from '../kernel/types.ts'

/** `waiting` for what it needs · `starting`: the daemon is putting it together · `blocked`: what it needs failed · `cancelled`: somebody stopped it. */
export type NodeState = 'waiting' | 'starting' | 'running' | 'completed' | 'failed' | 'blocked' | 'cancelled'

/** A node as it was written; the same for the whole life of the run. */
export interface NodeSpec {
  readonly name: string
  /** the nodes that must have completed before */
  readonly needs: readonly string[]
  /** how often it is started again after it failed */
  readonly retries: number
  /** it gets a worktree of its own, made when it starts */
  readonly worktree?: true
  /** what is started, in the environment of the run; `{{ nodes.X.result }}` in its intent and its arguments is filled in then */
  readonly template: ProcessSpec
}

export interface ComposeSpec {
  /** what it was read from */
  readonly file: string
  /** so many nodes at a time; absent: all that can */
  readonly parallel?: number
  readonly nodes: readonly NodeSpec[]
}

/** What a run knows of a node. */
export interface ComposeNode {
  readonly name: string
  readonly state: NodeState
  /** its process; null: it has none yet, or it is to have another */
  readonly uuid: Uuid | null
  /** how often it was started again after a failure */
  readonly attempts: number
  /** the number of the last request to put it together: an answer to another one is late */
  readonly ask: number
  /** why it failed, is blocked or was cancelled */
  readonly reason: string | null
}

export interface ComposeRun {
  readonly nodes: readonly ComposeNode[]
}

/** How all of it ended, as names. */
export interface Outcome {
  readonly completed: readonly string[]
  readonly failed: readonly string[]
  readonly blocked: readonly string[]
  readonly cancelled: readonly string[]
}

export type ComposeFact =
  /** the daemon is to put the node's process together */
  | { readonly type: 'compose.starting'; readonly node: string; readonly ask: number }
  | { readonly type: 'compose.started'; readonly node: string; readonly child: Uuid }
  /** it failed, and begins again in so many ms */
  | { readonly type: 'compose.retrying'; readonly node: string; readonly child: Uuid; readonly attempt: number; readonly cause: string; readonly delayMs: number }
  | { readonly type: 'compose.completed'; readonly node: string; readonly child: Uuid }
  | { readonly type: 'compose.failed'; readonly node: string; readonly reason: string }
  /** `by` is the node that it needs and that did not complete */
  | { readonly type: 'compose.blocked'; readonly node: string; readonly by: string }
  | { readonly type: 'compose.cancelled'; readonly node: string; readonly reason: string }
  /** it is to run once more, as another process */
  | { readonly type: 'compose.again'; readonly node: string; readonly by: Sender }
  /** its process goes on, or a fork of it takes its place */
  | { readonly type: 'compose.resumed'; readonly node: string; readonly child: Uuid; readonly by: Sender }
  /** nothing is left that could run */
  | { readonly type: 'compose.finished'; readonly outcome: Outcome }
