// The port between the daemon and what runs an agent. A driver runs one incarnation; it says what happens by reports,
// each acknowledged once it is durable, and is told what to do by the Agent's methods. It never touches a state.
// Tests: test/processes/command.test.ts, test/e2e/native.test.ts.
import type { Ack, Asking, Permit, Report } from '../kernel/reports.ts'
import type { ContainmentIntent, OpenCall, Pid, ProcessSpec, Range, Sender, ToolEffect, Uuid } from '../kernel/types.ts'
import type { FactMark, Skim, StoredFact } from '../kernel/facts.ts'
import type { Containment, Ladder } from './contain/contain.ts'

/** All that a driver needs to run one incarnation. */
export interface Launch {
  readonly uuid: Uuid
  readonly pid: Pid
  readonly spec: ProcessSpec
  /** owns every program of the operating system that this incarnation starts; made, and recorded as an intent, before `start` */
  readonly containment: Containment
  readonly intent: ContainmentIntent
  /** a folder of its own for temporary files; removed after the end */
  readonly tmpDir: string
  /** values of `spec.credentials`, by name; never recorded */
  readonly credentials: Readonly<Record<string, string>>
  /** reeve's own tools as it may use them; absent: it has none */
  readonly own?: OwnTools
  /** its models are called through the gateway; absent: it calls them itself */
  readonly gateway?: LaunchGateway
  /** where the work stands at the start: the next step, and calls to run again (`read`, `idempotent`) before it */
  readonly step: number
  readonly openCalls: readonly OpenCall[]
  /** the last turn that was begun; a command that takes no messages begins the next one by itself */
  readonly turn: number
  /** the agent's own name for what it goes on with; null for an agent that begins anew */
  readonly sessionId: string | null
  /** of a fork that has no session yet: the one of its origin, which it is to fork */
  readonly forkOf?: string
  /** it goes on with `sessionId` */
  readonly resumed: boolean
  /** what an agent that takes no messages is to be told by its command line, in place of what it was started with (`resume --message`); null: nothing new */
  message(): Promise<string | null>
  /** pages through the process's facts, oldest first, from `afterSeq` (exclusive); an empty page is the end */
  history(afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /** the same without what `skim` names; the last fact of a page is there at least as a mark */
  skim(afterSeq: number, limit: number, skim: Skim): Promise<readonly (StoredFact | FactMark)[]>
  /** the same of another process: for a model that replays it. An unknown one has no facts */
  historyOf(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /** the parts of the history that make the context; the last one is open at its end. Null: all of it */
  readonly context: readonly Range[] | null
}

/** A tool of reeve's own as a model is told of it. */
export interface OwnTool {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  schema(): Readonly<Record<string, unknown>>
}

export interface OwnToolEnd {
  readonly text: string
  readonly isError: boolean
}

/** reeve's own tools: for agents in the daemon by calls, for those of others by MCP. */
export interface OwnTools {
  /** with their prefix */
  readonly list: readonly OwnTool[]
  /** `id` is the same for a call that is repeated. Never rejects. */
  call(call: { readonly name: string; readonly input: unknown; readonly id: string; readonly signal: AbortSignal; readonly progress: (text: string) => void }): Promise<OwnToolEnd>
  /** where an agent of others finds them, with a token that is gone with this incarnation */
  reach(): Promise<OwnReach>
}

export interface OwnReach {
  readonly url: string
  readonly token: string
  /** the same by a program that speaks over its input and output */
  readonly stdio: { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> }
}

/** How an agent of others calls its models through the gateway. */
export interface LaunchGateway {
  /** the base URL for a client of this provider, in the form that its own clients take; null: it may not call it */
  url(provider: string): string | null
  /** in place of a key, for this incarnation alone */
  readonly token: string
  /** names of variables that hold keys of providers: the agent is not to have them */
  readonly hides: readonly string[]
}

/** A text for the agent. `turn` is the turn that it begins, or the open one if it is put into a turn that runs. */
export interface Message {
  readonly id: string
  readonly from: Sender
  readonly text: string
  readonly turn: number
}

/** Things that are shown while they happen and are not kept: lost if nobody looks. */
export type Live =
  | { readonly type: 'text'; readonly step: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly step: number; readonly text: string }
  | { readonly type: 'tool-output'; readonly callId: string; readonly text: string }

/** The daemon as a driver sees it. */
export interface KernelPort {
  /** Says what happened. Resolves when it is on disk; reports made in one go share a commit. Rejects if the process is gone. */
  report(report: Report): Promise<Ack>
  /** The same for what asks whether a call may begin: says how long its answer may be, or why it may not. */
  begin(asking: Asking): Promise<Permit>
  /** Resolves when the process has no hold; says `drained` by itself if it has to wait, and is still. Rejects when the signal aborts. */
  clear(isStill?: () => boolean): Promise<void>
  live(event: Live): void
  /** aborted when the incarnation is to end: by a kill, a stop or its own end */
  readonly signal: AbortSignal
}

/** One running incarnation. Methods may be called in any order and more than once. Disposing waits until nothing of it is left. */
export interface Agent extends AsyncDisposable {
  /** begins a turn with this message */
  deliver(message: Message): Promise<void>
  /** goes on with the turn that was open when the last incarnation or daemon ended */
  proceed(turn: number): Promise<void>
  /** ends the turn that is on; the agent then reports `turn.ended` with outcome `interrupted` */
  interrupt(): Promise<void>
  /** what a person said to an ask that it reported as `waiting` */
  answer?(answer: { readonly id: string; readonly option: string | null; readonly text: string | null }): Promise<void>
  /** a hold was added. `now`: freeze as a whole. Reports `drained` or `frozen` when it is so */
  pause(now: boolean): Promise<void>
  /** the last hold is gone */
  unpause(): Promise<void>
  /** ends it; the agent reports `exited` when its main program or loop has ended */
  stop(ladder: Ladder): Promise<void>
}

/** What each driver can do stands in src/kernel/capabilities.ts, as the kernel decides by it. */
export interface Driver {
  start(launch: Launch, kernel: KernelPort): Promise<Agent>
}
