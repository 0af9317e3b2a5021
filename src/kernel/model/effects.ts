// Effects: the actions that the daemon performs after a commit, as ordered data. The kernel never acts: one exhaustive
// table of the daemon performs the effects (src/daemon/incarnation/effect-performer.ts). Test: the transcripts of test/tables.
import type { Ack } from './reports.ts'
import type { ErrorCode } from './errors.ts'
import type { ReplyTo } from './inputs.ts'
import type { Pid, Uuid } from './ids.ts'
import type { Job } from './crew/facts.ts'
import type { EndSignal } from './words.ts'

/** The answer to a request. */
export type ReplyValue =
  /** acknowledges a report; a call request also gets the maximum length of the model's answer, or the reason why the call may not begin */
  | { readonly type: 'ack'; readonly ack: Ack; readonly maxOutputTokens?: number | null; readonly reason?: string }
  /**
   * `affected`: number of changed processes; `childrenGoOn`: number of living children of a stopped process; `note`: a
   * remark such as `it was not suspended`; `undo`: how the answer to an ask can be taken back
   */
  | {
      readonly type: 'done'
      readonly uuid: Uuid
      readonly affected: number
      readonly childrenGoOn: number
      readonly note: string | null
      readonly undo?: AnswerUndo
    }

/** The ask whose answer can be taken back until `until` (wall ms); null: until the pause ends. */
export interface AnswerUndo {
  readonly id: string
  readonly until: number | null
}

/** An action of the daemon. All effects with the prefix `driver.` are calls of the driver that runs the process. */
export type Effect =
  | { readonly type: 'reply'; readonly to: ReplyTo; readonly value: ReplyValue }
  | {
      readonly type: 'refuse'
      readonly to: ReplyTo
      readonly code: ErrorCode
      readonly message: string
      readonly details?: Readonly<Record<string, unknown>>
      readonly hint?: string
    }
  /** plan the containment, then submit the input `start` */
  | { readonly type: 'start'; readonly uuid: Uuid; readonly pid: Pid }
  | { readonly type: 'driver.start'; readonly uuid: Uuid; readonly pid: Pid }
  /** pass a message to the agent, in the turn `turn`; `seq`: the fact that has the text */
  | {
      readonly type: 'driver.deliver'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly message: string
      readonly seq: number
      readonly turn: number
    }
  /** continue an open turn without a new message */
  | { readonly type: 'driver.proceed'; readonly uuid: Uuid; readonly pid: Pid; readonly turn: number }
  | {
      readonly type: 'driver.answer'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly id: string
      readonly option: string | null
      readonly text: string | null
    }
  /** end the turn */
  | { readonly type: 'driver.interrupt'; readonly uuid: Uuid; readonly pid: Pid }
  /** pause at the next boundary, or at once with `freeze` */
  | { readonly type: 'driver.pause'; readonly uuid: Uuid; readonly pid: Pid; readonly freeze: boolean }
  | { readonly type: 'driver.unpause'; readonly uuid: Uuid; readonly pid: Pid }
  /** send the signal to the agent, and SIGKILL after `graceMs` */
  | {
      readonly type: 'driver.stop'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly signal: EndSignal
      readonly graceMs: number
    }
  /** build the specification of a node's process, then submit the input `composeNode`; `ask`: the number of this request */
  | { readonly type: 'compose.start'; readonly uuid: Uuid; readonly pid: Pid; readonly node: string; readonly ask: number }
  /** run the crew job, then submit the command `job_done`; the same job may be requested again */
  | { readonly type: 'crew.job'; readonly uuid: Uuid; readonly pid: Pid; readonly job: Job }
  /** load the rows of these ended members, then submit the input `retire` for each */
  | { readonly type: 'crew.retire'; readonly uuid: Uuid; readonly pid: Pid; readonly members: readonly Uuid[]; readonly reason: string }
  /**
   * load the messages that are queued for the processes `from`, then submit the input `crewMoved`. `to`: the receiver;
   * null: the senders. `all`: `from` lists the crew and every predecessor of the receiver
   */
  | {
      readonly type: 'crew.move'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly from: readonly Uuid[]
      readonly to: Uuid | null
      readonly all: boolean
    }
  /** submit the input `checkpoint` together with the next other input */
  | { readonly type: 'checkpoint'; readonly uuid: Uuid; readonly pid: Pid }
  /** a step of the release order that the daemon performs; see release.ts */
  | { readonly type: 'release'; readonly action: ReleaseAction; readonly uuid: Uuid; readonly pid: Pid }

/** The steps that release an incarnation at its end, in order. */
export const RELEASE_ORDER = ['orphans', 'cancel', 'await', 'channel', 'context', 'reap', 'remove'] as const

/**
 * The steps that the daemon performs; `orphans` and `reap` are facts. `cancel`: ends the driver; `await`: ends all programs, and reports
 * survivors; `channel`: ends the streams of output; `context`: forgets the incarnation and its keys; `remove`: the row has left the table.
 */
export type ReleaseAction = Exclude<(typeof RELEASE_ORDER)[number], 'orphans' | 'reap'>
