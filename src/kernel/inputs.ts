// All that can happen to the kernel: a closed union of inputs, each with its time. Requests carry a `reply` number,
// which comes back in exactly one effect. Test: test/properties/kernel.test.ts draws from all of them.
import type { Command } from '../crew/commands.ts'
import type { ForkPoint } from './forking.ts'
import type { LimitChange } from './limits.ts'
import type { LivenessWord } from './liveness.ts'
import type { LoopEvidence } from './loops.ts'
import type { Report } from './reports.ts'
import type { ContainmentIntent, Handler, HoldReason, Now, Pid, Process, ProcessSpec, Sender, Signal, Uuid } from './types.ts'

/** The number of a request; its answer comes as a `reply` or `refuse` effect. */
export type ReplyTo = number

interface Request {
  readonly reply: ReplyTo
  readonly by: Sender
}

/** What waits for a process, with the texts; the row as it was then. */
export interface Waiting {
  readonly process: Process
  readonly messages: readonly { readonly id: string; readonly from: Sender; readonly text: string }[]
}

export type InputBody =
  | (Request & { readonly type: 'spawn'; readonly uuid: Uuid; readonly spec: ProcessSpec; readonly parent: Uuid | null })
  /** the daemon is about to start it: `containment` is the intent, recorded before anything is made; `kin` are the rows of a supervisor's children that have ended */
  | { readonly type: 'start'; readonly uuid: Uuid; readonly pid: Pid; readonly containment: ContainmentIntent; readonly missingKeys: readonly string[]; readonly kin?: readonly Process[]; readonly metered?: true; readonly direct?: string }
  | (Request & { readonly type: 'signal'; readonly uuid: Uuid; readonly signal: Signal; readonly subtree: boolean; readonly graceMs: number | null; readonly leastGraceMs?: number; readonly freeze: boolean; readonly via?: string })
  | (Request & { readonly type: 'resume'; readonly uuid: Uuid; readonly frozen: Process | null; readonly subtree: boolean; readonly only: boolean; readonly message: { readonly id: string; readonly text: string } | null; readonly spec: ProcessSpec | null; readonly rerun: boolean; readonly limits?: LimitChange })
  /** `uuid` is the new one's; `at` was read from the journal of `origin` (forking.ts), which may be dead and may go on; `childId`: it takes that place in its family */
  | (Request & { readonly type: 'fork'; readonly uuid: Uuid; readonly origin: Process; readonly at: ForkPoint; readonly message: { readonly id: string; readonly text: string } | null; readonly spec: ProcessSpec | null; readonly childId?: string })
  /** `frozen` is the row of one that is dead */
  | (Request & { readonly type: 'pin'; readonly uuid: Uuid; readonly frozen: Process | null; readonly pinned: boolean })
  /** a supervisor gives up a child, which is stopped */
  | (Request & { readonly type: 'removeChild'; readonly uuid: Uuid; readonly id: string; readonly graceMs: number | null })
  /** the process of a run's node is put together, or cannot be; `ask` is the number of the request that it answers */
  | (Request & { readonly type: 'composeNode'; readonly uuid: Uuid; readonly node: string; readonly ask: number; readonly made: { readonly uuid: Uuid; readonly spec: ProcessSpec } | { readonly error: string } })
  /** a node of a run goes on, or a fork of it does in its place; `frozen` and `child` are the rows of the run and of the node's process where they have ended */
  | (Request & { readonly type: 'composeResume'; readonly uuid: Uuid; readonly frozen: Process | null; readonly node: string; readonly child: Process | null; readonly message: { readonly id: string; readonly text: string } | null; readonly rerun: boolean; readonly fork: { readonly uuid: Uuid; readonly at: ForkPoint; readonly spec: ProcessSpec } | null })
  /**
   * Of a person (`user`), of a member (`agent:UUID`; `call`: in which incarnation and turn, and the id of the call), or what the daemon
   * answers to a job (`system`).
   */
  | (Request & { readonly type: 'crew'; readonly uuid: Uuid; readonly command: Command; readonly call?: { readonly pid: Pid; readonly turn: number | null; readonly id: string | null } })
  /** one that has ended is let go: nobody goes on with its work */
  | { readonly type: 'retire'; readonly uuid: Uuid; readonly frozen: Process; readonly by: Sender; readonly reason: string }
  /** what waited for these, read from their journals: it goes to the process `to`, or back to who wrote it; `all` as it was asked */
  | { readonly type: 'crewMoved'; readonly uuid: Uuid; readonly from: readonly Waiting[]; readonly to: Uuid | null; readonly all: boolean }
  | (Request & { readonly type: 'send'; readonly uuid: Uuid; readonly id: string; readonly text: string })
  /** messages that wait for it, which it has read in its turn */
  | (Request & { readonly type: 'take'; readonly uuid: Uuid; readonly ids: readonly string[] })
  /** `id` null: the only ask that is open */
  | (Request & { readonly type: 'answer'; readonly uuid: Uuid; readonly id: string | null; readonly option: string | null; readonly text: string | null })
  /** `how`: as sigprocmask(2) has it; absent: `set` */
  | (Request & { readonly type: 'mask'; readonly uuid: Uuid; readonly mask: readonly Signal[]; readonly how?: 'set' | 'block' | 'unblock' })
  | (Request & { readonly type: 'handle'; readonly uuid: Uuid; readonly signal: Signal; readonly handler: Handler })
  /** the kernel's own holds, for one process or all that live; `release` says that the cause is gone */
  | { readonly type: 'hold'; readonly uuid: Uuid | null; readonly reason: HoldReason }
  | { readonly type: 'release'; readonly uuid: Uuid | null; readonly reason: HoldReason }
  | { readonly type: 'report'; readonly reply: ReplyTo; readonly uuid: Uuid; readonly pid: Pid; readonly report: Report }
  /** the driver has ended and its containment is empty, or names who survived */
  | { readonly type: 'released'; readonly uuid: Uuid; readonly pid: Pid; readonly survivors: readonly number[] }
  | { readonly type: 'checkpoint'; readonly uuid: Uuid; readonly pid: Pid; readonly error: string | null }
  /** what is seen of it is another word now; `since` is wall time in ms */
  | { readonly type: 'liveness'; readonly uuid: Uuid; readonly pid: Pid; readonly word: LivenessWord; readonly since: number; readonly evidence: string }
  /** its calls repeat themselves, or fail */
  | { readonly type: 'loop'; readonly uuid: Uuid; readonly pid: Pid; readonly evidence: LoopEvidence }
  /** a deadline of this process may have come */
  | { readonly type: 'tick'; readonly uuid: Uuid }
  /** the daemon starts and found this row; `survivors` could not be ended. `crashLoop`: it died too often, so what would come back by itself is held */
  | { readonly type: 'boot'; readonly uuid: Uuid; readonly survivors: readonly number[]; readonly crashLoop?: true }

export type Input = InputBody & { readonly now: Now }
export type InputOf<T extends InputBody['type']> = Extract<InputBody, { type: T }> & { readonly now: Now }
