// Types of liveness, and of the evidence for tool calls that repeat or fail. Test: test/tables/kernel/decide/liveness/liveness.test.ts.
import type { LivenessWord, LivenessPolicy } from './words.ts'

/** Liveness settings of one process. Null disables a check; an absent field means its default. */
export interface LivenessSpec {
  /** maximum time for which a SIGSTOP from outside may stop the process */
  readonly stoppedMs?: number | null
  /** maximum time without any output */
  readonly silentMs?: number | null
  /** maximum time without a step, tool call, turn or model output */
  readonly stalledMs?: number | null
  /** maximum time for which an ask to the user stays open */
  readonly waitingMs?: number | null
  readonly policy?: LivenessPolicy
  /** number of equal rounds in a row that count as a loop; a round has one to four steps */
  readonly loop?: number | null
  /** number of failed calls among the last `errorsOf` that open the breaker */
  readonly errors?: number | null
  readonly errorsOf?: number
}

/** A liveness problem. */
export interface Liveness {
  readonly word: Exclude<LivenessWord, 'alive'>
  /** wall ms at which it began */
  readonly since: number
  /** the activity at that time */
  readonly evidence: string
}

/** A repeated tool call: its name, input and result, shortened. */
export interface CallEvidence {
  readonly name: string
  readonly input: string
  readonly result: string
}

/** The number of failed calls of one tool. */
export interface ToolErrors {
  readonly name: string
  readonly errors: number
}
