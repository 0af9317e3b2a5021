// Inputs: the closed union of everything that the kernel decides, each with its time. A request has a number, `reply`:
// exactly one effect answers it. Tests: test/properties/kernel.test.ts, test/simulation/compose.test.ts.
import type { Command } from './crew/commands.ts'
import type { Report } from './reports.ts'
import type { ContainmentIntent, Process } from './process.ts'
import type { Now, Pid, Sender, Uuid } from './ids.ts'
import type { Handler, HoldReason, Signal, LivenessWord, LimitName, Limits } from './words.ts'
import type { Calendar, HomeBudgets } from './home.ts'
import type { ProcessSpec } from './process-spec.ts'
import type { ForkState, BodyOf } from './facts.ts'

/** The number of a request. Exactly one `reply` or `refuse` effect has the same number. */
export type ReplyTo = number

interface Request {
  readonly reply: ReplyTo
  readonly by: Sender
  /** the client through which the user sent it: the session of the page, `web:ID`; for a signal, any client */
  readonly via?: string
}

/** The queued messages of a process, with their texts. */
export interface PendingMessages {
  /** the row of the process when the texts were read */
  readonly process: Process
  readonly messages: readonly { readonly id: string; readonly from: Sender; readonly text: string }[]
}

/** New values of labels by key; null: the label is removed. */
export type LabelChange = Readonly<Record<string, string | null>>

export type InputBody =
  | (Request & { readonly type: 'spawn'; readonly uuid: Uuid; readonly spec: ProcessSpec; readonly parent: Uuid | null })
  /**
   * the daemon is about to start the process. `containment`: the intent, which is recorded before anything is created.
   * `missingKeys`: names of credentials without a value. `endedChildren`: rows of a supervisor's ended children.
   * `metered`, `direct`: as in the fact `process.started`
   */
  | {
      readonly type: 'start'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly containment: ContainmentIntent
      readonly missingKeys: readonly string[]
      readonly endedChildren?: readonly Process[]
      readonly metered?: true
      readonly direct?: string
    }
  /**
   * `graceMs`: the grace; null: none given. `leastGraceMs`: the minimum grace if none is given. `freeze`: a pause does not
   * wait for a boundary. `via`: the client that sent the signal
   */
  | (Request & {
      readonly type: 'signal'
      readonly uuid: Uuid
      readonly signal: Signal
      readonly subtree: boolean
      readonly graceMs: number | null
      readonly leastGraceMs?: number
      readonly freeze: boolean
      readonly via?: string
    })
  /**
   * `endedRow`: the row of the process, if it has ended. `only`: paused ancestors stay paused. `spec`: overrides; null:
   * none. `rerun`: starts over instead of continuing
   */
  | (Request & {
      readonly type: 'resume'
      readonly uuid: Uuid
      readonly endedRow: Process | null
      readonly subtree: boolean
      readonly only: boolean
      readonly message: { readonly id: string; readonly text: string } | null
      readonly spec: ProcessSpec | null
      readonly rerun: boolean
      readonly limits?: LimitChange
    })
  /**
   * `uuid`: the fork. `origin`: the forked process, dead or still running. `at`: a point in its journal (fork.ts).
   * `childId`: the id of the child that the fork replaces
   */
  | (Request & {
      readonly type: 'fork'
      readonly uuid: Uuid
      readonly origin: Process
      readonly at: ForkPoint
      readonly message: { readonly id: string; readonly text: string } | null
      readonly spec: ProcessSpec | null
      readonly childId?: string
    })
  /** pins or unpins a process; `endedRow`: its row, if it has ended */
  | (Request & { readonly type: 'pin'; readonly uuid: Uuid; readonly endedRow: Process | null; readonly pinned: boolean })
  /** the user has seen the needs of a process; `endedRow`: its row, if it has ended */
  | (Request & { readonly type: 'seen'; readonly uuid: Uuid; readonly endedRow: Process | null })
  /** hides the needs of a process until a wall time in ms; `until` null: shows them again; `endedRow`: its row, if it has ended */
  | (Request & { readonly type: 'snooze'; readonly uuid: Uuid; readonly endedRow: Process | null; readonly until: number | null })
  /** gives a process a new name, or changes its labels; `endedRow`: its row, if it has ended */
  | (Request & {
      readonly type: 'describe'
      readonly uuid: Uuid
      readonly endedRow: Process | null
      readonly change: { readonly name: string } | { readonly labels: LabelChange }
    })
  /** a supervisor drops a child and stops it */
  | (Request & { readonly type: 'removeChild'; readonly uuid: Uuid; readonly id: string; readonly graceMs: number | null })
  /** the daemon has built the specification of a node's process, or failed; `ask`: the number of the request that this answers */
  | (Request & {
      readonly type: 'composeNode'
      readonly uuid: Uuid
      readonly node: string
      readonly ask: number
      readonly made: { readonly uuid: Uuid; readonly spec: ProcessSpec } | { readonly error: string }
    })
  /**
   * resumes a node, or replaces it by a fork. `endedRow`: the row of the run, if that has ended. `child`: the row of the
   * node's process, if that has ended
   */
  | (Request & {
      readonly type: 'composeResume'
      readonly uuid: Uuid
      readonly endedRow: Process | null
      readonly node: string
      readonly child: Process | null
      readonly message: { readonly id: string; readonly text: string } | null
      readonly rerun: boolean
      readonly fork: { readonly uuid: Uuid; readonly at: ForkPoint; readonly spec: ProcessSpec } | null
    })
  /**
   * A crew command from the user (`user`), from a member (`agent:UUID`), or from the daemon as the answer to a job
   * (`system`). `call`: incarnation, turn and call id of the member's request.
   */
  | (Request & {
      readonly type: 'crew'
      readonly uuid: Uuid
      readonly command: Command
      readonly call?: { readonly pid: Pid; readonly turn: number | null; readonly id: string | null }
    })
  /** retires an ended process whose work no other process continues */
  | { readonly type: 'retire'; readonly uuid: Uuid; readonly endedRow: Process; readonly by: Sender; readonly reason: string }
  /**
   * the daemon has read the messages that were queued for the processes `from`. The messages go to the process `to`;
   * null: they return to their senders. `all`: as in the effect `crew.move`
   */
  | {
      readonly type: 'crewMoved'
      readonly uuid: Uuid
      readonly from: readonly PendingMessages[]
      readonly to: Uuid | null
      readonly all: boolean
    }
  /** queues a message; `id`: the id of the message */
  | (Request & { readonly type: 'send'; readonly uuid: Uuid; readonly id: string; readonly text: string; readonly urgent?: true })
  /** the process has read these queued messages during its turn */
  | (Request & { readonly type: 'take'; readonly uuid: Uuid; readonly ids: readonly string[] })
  /**
   * the user answers an ask. `id` null: the only open one. `wasShown`: the user saw the ask `id`, so the answer counts for that ask only.
   * `undoMs`: the agent gets the answer after this time; absent: at once
   */
  | (Request & {
      readonly type: 'answer'
      readonly uuid: Uuid
      readonly id: string | null
      readonly option: string | null
      readonly text: string | null
      readonly wasShown?: true
      readonly undoMs?: number
    })
  /** the user takes back the answer to an ask, which the agent does not have yet */
  | (Request & { readonly type: 'withdrawAnswer'; readonly uuid: Uuid; readonly id: string })
  /** `how`: how `mask` changes the signal mask, as in sigprocmask(2); absent: `set` */
  | (Request & { readonly type: 'mask'; readonly uuid: Uuid; readonly mask: readonly Signal[]; readonly how?: 'set' | 'block' | 'unblock' })
  | (Request & { readonly type: 'handle'; readonly uuid: Uuid; readonly signal: Signal; readonly handler: Handler })
  /** adds or releases a hold of the kernel; `uuid` null: for all living processes */
  | { readonly type: 'hold'; readonly uuid: Uuid | null; readonly reason: HoldReason }
  | { readonly type: 'release'; readonly uuid: Uuid | null; readonly reason: HoldReason }
  | { readonly type: 'report'; readonly reply: ReplyTo; readonly uuid: Uuid; readonly pid: Pid; readonly report: Report }
  /** the driver has ended; `survivors`: OS processes of its containment that are still alive */
  | { readonly type: 'released'; readonly uuid: Uuid; readonly pid: Pid; readonly survivors: readonly number[] }
  | { readonly type: 'checkpoint'; readonly uuid: Uuid; readonly pid: Pid; readonly error: string | null }
  /** the liveness of the process has changed; `since`: wall time in ms at which the new state began */
  | {
      readonly type: 'liveness'
      readonly uuid: Uuid
      readonly pid: Pid
      readonly word: LivenessWord
      readonly since: number
      readonly evidence: string
    }
  /** the tool calls of the process repeat, or most of them fail */
  | { readonly type: 'loop'; readonly uuid: Uuid; readonly pid: Pid; readonly evidence: LoopEvidence }
  /** the calendar or the budgets of the home may have changed */
  | { readonly type: 'home'; readonly uuid: null; readonly calendar: Calendar; readonly budgets: HomeBudgets }
  /** a deadline of this process may have come */
  | { readonly type: 'tick'; readonly uuid: Uuid }
  /**
   * the daemon starts and has found this row. `survivors`: OS processes that could not be ended. `doubt`: why a program
   * was not signalled (boot.ts). `crashLoop`: the daemon died too often, so automatic restarts are held
   */
  | {
      readonly type: 'boot'
      readonly uuid: Uuid
      readonly survivors: readonly number[]
      readonly doubt?: 'unowned' | 'stale'
      readonly crashLoop?: true
    }

export type Input = InputBody & { readonly now: Now }
export type InputOf<T extends InputBody['type']> = Extract<InputBody, { type: T }> & { readonly now: Now }

/** A position in a journal at which a step was complete, and the state of the process there. */
export interface ForkPoint {
  readonly step: number
  readonly seq: number
  readonly state: ForkState
}

/** A change of limits: `set` replaces the named limits, `add` raises existing ones. */
export interface LimitChange {
  readonly set: Limits
  readonly add: { readonly [L in LimitName]?: number }
}

/** The body of the fact that will record the evidence. */
export type LoopEvidence = BodyOf<'liveness.looping' | 'liveness.breaker'>
