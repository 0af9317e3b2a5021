// The JSON of the API: the liveness of each living process. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do
// not edit. Test: test/processes/daemon/liveness.test.ts.
import type { Status } from '../../kernel/model/status.ts'
import type { LivenessPolicy, LivenessWord } from '../../kernel/model/words.ts'

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
