// The port between the daemon and the drivers. A driver runs one incarnation. It sends reports, each acknowledged once it is
// durable, and takes orders through the methods of `Agent`. A driver must never change the state of a process.
// Tests: test/processes/command/command.test.ts, test/processes/native/tool-loop.test.ts.
import type { Ack, CallRequest, CallGrant, Report } from '../kernel/model/reports.ts'
import type { ContainmentIntent, OpenCall } from '../kernel/model/process.ts'
import type { FactMark, PageFilter, StoredFact } from '../kernel/model/facts.ts'
import type { Containment, Ladder } from './contain/containment-contract.ts'
import type { Pid, Sender, Uuid } from '../kernel/model/ids.ts'
import type { DriverName, ToolEffect } from '../kernel/model/words.ts'
import type { Range } from '../kernel/model/context.ts'
import type { ProcessSpec } from '../kernel/model/process-spec.ts'

/** Everything that a driver needs to run one incarnation. */
export interface Launch<S extends ProcessSpec = ProcessSpec> {
  readonly uuid: Uuid
  readonly pid: Pid
  readonly spec: S
  /** owns every operating-system process of this incarnation. It was created and recorded as an intent before `start` is called */
  readonly containment: Containment
  readonly intent: ContainmentIntent
  /** the incarnation's own directory for temporary files, removed after its end */
  readonly tmpDir: string
  /** the values of `spec.credentials` by name; they are never recorded */
  readonly credentials: Readonly<Record<string, string>>
  /** returns the current credentials, which a resume may have replaced */
  readonly currentCredentials?: () => Readonly<Record<string, string>>
  /** the tools of reeve itself that the agent may use; absent if there are none */
  readonly ownTools?: OwnTools
  /** access to the gateway; absent if the agent calls its models directly */
  readonly gateway?: LaunchGateway
  /** the last step whose model call was started; 0 before the first */
  readonly step: number
  /** unfinished tool calls with the effect `read` or `idempotent`, which run again before the next step */
  readonly openCalls: readonly OpenCall[]
  /** the last turn that began; a command that takes no messages begins the next turn on its own */
  readonly turn: number
  /** the agent's own id of the session to continue; null for a new session */
  readonly sessionId: string | null
  /** for a fork: the session id of its origin, which the agent must fork before it continues */
  readonly forkOf?: string
  /** whether the incarnation continues `sessionId` */
  readonly resumed: boolean
  /** the text for stdin of a command's first incarnation; never recorded; absent: none, or it is lost */
  readonly input?: string
  /** returns the new intent of `resume --message`, for an agent that reads its intent from the command line. Null without one */
  resumeMessage(): Promise<string | null>
  /** reads a page of the process's facts, oldest first, after the sequence number `afterSeq`; an empty page means the end */
  history(afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /** like `history`, but leaves out the facts that `filter` excludes. The last fact of a page is always there, at least as a mark */
  filteredHistory(afterSeq: number, limit: number, filter: PageFilter): Promise<readonly (StoredFact | FactMark)[]>
  /** like `history`, for another process, whose facts a model replays; an unknown process has no facts */
  historyOf(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /** the journal ranges from which the context is built, the last one open-ended; null for the whole journal */
  readonly context: readonly Range[] | null
}

/** A tool of reeve itself, as it is offered to a model. */
export interface OwnTool {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  schema(): Readonly<Record<string, unknown>>
}

/** The result of a call of one of reeve's own tools. */
export interface OwnToolResult {
  readonly text: string
  readonly isError: boolean
}

/** The tools of reeve itself: native agents call them directly, external agents through MCP. */
export interface OwnTools {
  /** the offered tools; their names carry the prefix of reeve's MCP server */
  readonly list: readonly OwnTool[]
  /** Runs a tool. A repeated call has the same `id` as the first one. Never rejects. */
  call(call: {
    readonly name: string
    readonly input: unknown
    readonly id: string
    readonly signal: AbortSignal
    readonly progress: (text: string) => void
  }): Promise<OwnToolResult>
  /** returns the MCP endpoint for an external agent, with a token that expires with this incarnation */
  endpoint(): Promise<OwnToolsEndpoint>
  /** resolves when an external agent has listed the tools */
  readonly listed: Promise<void>
}

export interface OwnToolsEndpoint {
  readonly url: string
  readonly token: string
  /** the command line and environment of a program that offers the same MCP server over stdio */
  readonly stdio: { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> }
}

/** How an external agent calls its models through the gateway. */
export interface LaunchGateway {
  /** returns the base URL for this provider, in the form that its clients expect. Null: the agent may not call it */
  url(provider: string): string | null
  /** the key that the agent sends instead of the provider's key; valid for this incarnation only */
  readonly token: string
  /** environment variables that contain provider keys and must not reach the agent */
  readonly hiddenVariables: readonly string[]
}

/** A message for the agent. */
export interface Message {
  readonly id: string
  readonly from: Sender
  readonly text: string
  /** the turn that the message begins, or the running turn that it joins */
  readonly turn: number
}

/** Output that is shown live and never recorded. */
export type LiveOutput =
  | { readonly type: 'text'; readonly step: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly step: number; readonly text: string }
  | { readonly type: 'tool-output'; readonly callId: string; readonly text: string }

/** The connection of a driver to the kernel, which the daemon provides: reports, requests for model calls, pauses and the end. */
export interface KernelPort {
  /**
   * Sends a report and resolves when it is durable. Reports that are sent in the same task share a commit. Rejects if the process no
   * longer exists.
   */
  report(report: Report): Promise<Ack>
  /** Asks whether a model call may begin. The answer contains the maximum length of the model's answer, or the reason for a refusal. */
  requestCall(request: CallRequest): Promise<CallGrant>
  /**
   * Waits until the process is not paused. Reports `drained` once `isDrained` returns true during the wait. Rejects when `signal` aborts.
   */
  waitUntilUnpaused(isDrained?: () => boolean): Promise<void>
  /** Shows output live, without recording it. */
  showLive(event: LiveOutput): void
  /** aborted when the incarnation must end: on a kill, a stop or its own end */
  readonly signal: AbortSignal
}

/**
 * One running incarnation. Its methods may be called in any order and more than once. Disposal kills all its programs, and waits for
 * their end. If some survive, disposal may be repeated.
 */
export interface Agent extends AsyncDisposable {
  /** begins a turn with this message */
  deliver(message: Message): Promise<void>
  /** continues the turn that was open when the last incarnation or daemon ended */
  proceed(turn: number): Promise<void>
  /** ends the running turn; the agent then reports `turn.ended` with the outcome `interrupted` */
  interrupt(): Promise<void>
  /** delivers the user's answer to a question that the agent reported as `waiting` */
  answer?(answer: { readonly id: string; readonly option: string | null; readonly text: string | null }): Promise<void>
  /** pauses the agent; `freezeNow` freezes its programs at once. The agent reports `drained` or `frozen` when it is paused */
  pause(freezeNow: boolean): Promise<void>
  /** continues the agent after its last hold was released */
  unpause(): Promise<void>
  /** ends the agent, which reports `exited` when its main program or loop has ended */
  stop(ladder: Ladder): Promise<void>
}

/** Starts agents. What each driver supports is in src/kernel/model/capabilities.ts, because the kernel decides by it. */
export interface Driver<S extends ProcessSpec = ProcessSpec> {
  start(launch: Launch<S>, kernel: KernelPort): Promise<Agent>
}

export type Drivers = { readonly [D in DriverName]?: Driver<Extract<ProcessSpec, { driver: D }>> }
