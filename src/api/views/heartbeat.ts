// The JSON of the API: the liveness of each living process, what it waits for, and what it does. Made by `npm run docs` from the schemas of
// the daemon (scripts/views.ts): do not edit. Test: test/e2e/lifecycle/liveness.test.ts.
import type { Status } from '../../kernel/model/status.ts'
import type { LimitName, LivenessPolicy, LivenessWord } from '../../kernel/model/words.ts'

/** What a process waits for, or what it is busy with. It is made from facts; where nothing is known, the text states that. */
export interface WhyView {
  kind:
    | 'ask'
    | 'hold:user'
    | 'hold:subtree'
    | 'hold:budget'
    | 'hold:loop'
    | 'hold:breaker'
    | 'hold:context-full'
    | 'hold:supervisor'
    | 'hold:daemon-shutdown'
    | 'hold:daemon-crash'
    | 'budget-room'
    | 'rate-limit'
    | 'disk'
    | 'credentials'
    | 'drain'
    | 'stop'
    | 'restart'
    | 'start'
    | 'retry'
    | 'model'
    | 'tool'
    | 'work'
    | 'child'
    | 'node'
    | 'task'
    | 'slot'
    | 'queue'
    | 'message'
    | 'guardian'
  /** one sentence without a period */
  text: string
  since: string
  /** when the wait ends by itself, if that is known */
  until?: string
  /** the UUID of the process, or the id of the task, that it waits for */
  on?: string
  /** the limit that is used up, of the process `on` or its own; `dailyUsd` and `monthlyUsd` are of the home */
  limit?: LimitName | 'dailyUsd' | 'monthlyUsd'
  /** the commands that can end the wait */
  can?: ('answer' | 'resume' | 'send' | 'interrupt' | 'stop' | 'kill' | 'crew' | 'doctor')[]
}

/** The open model call, tool call or compaction of a process. */
export interface DoingView {
  step: number
  what: 'model' | 'tool' | 'compaction' | 'retry'
  /** the tool, or the model */
  name?: string
  /** of `tool`: its call */
  callId?: string
  /** the input of the tool as one line of at most 120 characters */
  input?: string
  since: string
  /** of `retry`: when the call is repeated */
  until?: string
  /** of `model`: the tokens received so far, estimated from the characters */
  out?: number
  /** the number of further open tool calls */
  more?: number
}

/** The thresholds of the liveness of a process. */
export interface ThresholdsView {
  /** the word `stopped`: a program was stopped by a signal for this time; null: never */
  stoppedMs: number | null
  /** the word `silent`: no output for this time; null: never */
  silentMs: number | null
  /** the word `stalled`: no step, tool call or turn has ended for this time; null: never */
  stalledMs: number | null
  /** the word `waiting`: a question has waited for the user for this time; null: never */
  waitingMs: number | null
  policy: LivenessPolicy
  /** the number of equal steps that counts as a loop; null: not checked */
  loop: number | null
  /** the number of failures among the last `errorsOf` tool calls that counts as a problem; null: not checked */
  errors: number | null
  errorsOf: number
}

export interface HeartbeatRowView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  status: Status
  /** the liveness; null: not checked, because it is suspended, has not started, or is ending */
  word: LivenessWord | null
  since: string | null
  /** what the process was doing at that time */
  evidence: string | null
  /** the time since its last output; null: not checked */
  quietMs: number | null
  /** the time since its last progress; null: not checked */
  idleMs: number | null
  thresholds: ThresholdsView
}

export interface HeartbeatView {
  version: 1
  processes: HeartbeatRowView[]
}
