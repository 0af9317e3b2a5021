// Types of asks: the questions of agents to the user, and their answers. Test: test/tables/kernel/decide/asks.test.ts.
import type { Sender } from './ids.ts'

/** The kinds of asks. `plan`: an approval changes the permissions of the process to the chosen policy. */
export const ASK_KINDS = ['permission', 'question', 'plan'] as const

export const ASK_OPTION_KINDS = ['allow_once', 'allow_always', 'reject_once', 'reject_always', 'choice'] as const

/** A possible answer to an ask. The kind `choice` neither allows nor rejects anything. */
export interface AskOption {
  readonly id: string
  readonly name: string
  readonly kind: (typeof ASK_OPTION_KINDS)[number]
}

/** A question of an agent, which needs a permission or an answer from the user before it continues. */
export interface Ask {
  /** unique among the asks of the process */
  readonly id: string
  readonly kind: (typeof ASK_KINDS)[number]
  readonly text: string
  /** empty: the answer is free text */
  readonly options: readonly AskOption[]
  /** the tool call that the ask is about; null: none */
  readonly callId: string | null
  /** wall time in ms */
  readonly at: number
}

export interface UserAnswer {
  readonly option: string | null
  readonly text: string | null
  readonly by: Sender
}

/** An open ask of a process. */
export type PendingAsk = Ask & {
  /** an answer that arrived during a pause; the driver receives it when the pause ends */
  readonly answer?: UserAnswer
}
