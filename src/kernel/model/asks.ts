// Asks: the questions of agents to the user, and the answers. Has their types, and decides whether an answer is due.
// Test: test/tables/kernel/decide/asks/asks.test.ts.
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

export const ASK_TOOL_KINDS = ['execute', 'edit', 'fetch', 'read', 'other'] as const
export type AskToolKind = (typeof ASK_TOOL_KINDS)[number]

/** Who states what the call does. `recorded`: reeve itself runs exactly this call; `said`: an external agent describes it. */
export const ASK_SOURCES = ['recorded', 'said'] as const

/** The tool call that an ask is about. */
export interface AskTool {
  readonly name: string
  readonly kind: AskToolKind
  /** JSON; a long input has shortened texts, or is a text with the beginning of its JSON */
  readonly input: unknown
  /** a part of `input` is left out */
  readonly isCut?: true
  /** the paths that the call works on */
  readonly locations: readonly string[]
}

/** An intended change of a file: the whole text, or only the changed part of it. */
export interface AskDiff {
  readonly path: string
  /** null: the file is new */
  readonly old: string | null
  readonly new: string
  /** the file exists, but its old text could not be read */
  readonly isOldUnknown?: true
  /** numbers of equal lines that are left out before and after the texts; absent: none */
  readonly equal?: { readonly before: number; readonly after: number }
  /** number of characters that are left out at the ends of `old` and `new`; absent: none */
  readonly cut?: number
}

/** What the user needs to decide about a call, besides the text of the ask. */
export interface AskEvidence {
  readonly source: (typeof ASK_SOURCES)[number]
  readonly tool: AskTool
  readonly diff: readonly AskDiff[]
  /** the number of further files that `diff` leaves out; absent: none */
  readonly moreFiles?: number
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
  /** absent: the ask is about no call, or was recorded by an earlier version */
  readonly evidence?: AskEvidence
  /** the step that asks; absent: recorded by an earlier version, or an ask of a crew */
  readonly step?: number
  /** the last text of the agent before the ask; absent: none */
  readonly message?: string
}

export interface UserAnswer {
  readonly option: string | null
  readonly text: string | null
  readonly by: Sender
  /** until this time the user can take the answer back, then the agent gets it; absent: the answer is due at once */
  readonly delivery?: DeliveryTime
}

/** When an agent gets an answer: wall ms for readers, and monotonic ms for the deadline. */
export interface DeliveryTime {
  readonly at: number
  readonly dueMono: number
}

/** An ask whose answer the agent does not have yet. */
export type PendingAsk = Ask & {
  /** the answer, which the driver gets at the time in `delivery`, but not during a pause; absent: the ask is open */
  readonly answer?: UserAnswer
}

/** Whether the ask has an answer, and the time to deliver it has come. `mono`: the current monotonic ms. */
export function isAnswerDue({ answer }: PendingAsk, mono: number): boolean {
  return answer !== undefined && (answer.delivery === undefined || answer.delivery.dueMono <= mono)
}

/** The id of the message with the text of an answer. It is unique, because a process has each `seq` once. */
export function answerMessageId(seq: number): string {
  return `answer-${seq}`
}
