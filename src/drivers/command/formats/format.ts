// The observations that a format makes of an agent's JSON lines, and the interface of a format. A format reads lines, builds
// command lines and explains exit codes. It is pure: an object in, observations out. The input is untrusted: each field is checked by
// the helpers at the end, and unknown fields are ignored. Test: test/tables/drivers/command/formats/formats.test.ts.
import type { AssistantPart, ToolOutcome } from '../../../kernel/model/facts.ts'
import type { ParsedCommand } from './args.ts'

export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

/** The entry of the price list that applies to an agent that reports no cost. */
export interface AgentPricing {
  readonly provider: string
  readonly model: string
}

/**
 * What a usage figure covers.
 * `step`: the current answer.
 * `since`: everything since the last figure with `since`, including subagents. It corrects the figures of steps in between.
 * `session`: the whole session so far, including the time before this program.
 */
export type UsageSpan = 'step' | 'since' | 'session'

export type Observation =
  /** the agent's session has this id */
  | { readonly type: 'session'; readonly id: string; readonly model?: string }
  /** a part of an answer; parts with different `answer` ids belong to different answers; `isDelta`: it continues the part before */
  | {
      readonly type: 'part'
      readonly answer: string | null
      readonly part: AssistantPart
      readonly model?: string
      readonly isDelta?: boolean
    }
  /** the result of a tool call */
  | { readonly type: 'tool'; readonly callId: string; readonly outcome: ToolOutcome; readonly content: string }
  /** a usage figure; `subagentAnswer` is the id of a subagent's answer, which is not a step of this process */
  | {
      readonly type: 'used'
      readonly span: UsageSpan
      readonly tokens: Tokens
      readonly costUsd: number | null
      readonly priced?: AgentPricing
      readonly window?: number
      readonly subagentAnswer?: string
    }
  /** the end of a step: its answer is complete, with all calls and their results */
  | { readonly type: 'step' }
  /** a message for the user, such as an error after which the agent continues */
  | { readonly type: 'note'; readonly text: string }
  /** a rate limit was hit; it ends at `until`, a wall time in ms */
  | { readonly type: 'limited'; readonly until: number }
  /** the end of the agent's task; `error`: null for a success; `result`: null for the text of the last answer */
  | { readonly type: 'ended'; readonly error: string | null; readonly result: string | null }

export type Fields = Readonly<Record<string, unknown>>

export interface AgentFormat {
  /** the product's name */
  readonly title: string
  /** whether the agent marks the end of its steps; otherwise each answer ends the step before */
  readonly marksSteps: boolean
  /** Reads one line; null if it is not of this format. `command` supplies details that the line lacks. */
  read(line: Fields, command: ParsedCommand): readonly Observation[] | null
  /** whether this command line makes the agent print JSON lines */
  printsJsonLines(command: ParsedCommand): boolean
  /** the model named in the command line; null if it names none */
  model(command: ParsedCommand): string | null
  /** whether the agent keeps no session that could be resumed */
  keepsNoSession(command: ParsedCommand): boolean
  /** whether the command line continues an earlier session, so that totals include usage from before this process */
  continuesSession(command: ParsedCommand): boolean
  /** returns all arguments for a new session with this prompt */
  start(command: ParsedCommand, prompt: string): readonly string[]
  /** returns all arguments that resume a session with this prompt in place of the old one */
  resume(command: ParsedCommand, sessionId: string, prompt: string): readonly string[]
  /** returns all arguments for a new session that copies this session; null if the agent cannot fork */
  readonly fork: ((command: ParsedCommand, sessionId: string, prompt: string) => readonly string[]) | null
  /** meanings of the agent's own exit codes */
  readonly exitCodeMeanings: Readonly<Record<number, string>>
}

/** Returns the value if it is an object; otherwise an empty one. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** Returns the value if it is a list; otherwise an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the value if it is a text; otherwise an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}

/** Returns a positive finite number; 0 for any other value. */
export function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

export const NO_TOKENS: Tokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

export function mapTokens(map: (bucket: keyof Tokens) => number): Tokens {
  return {
    inputTokens: map('inputTokens'),
    outputTokens: map('outputTokens'),
    cacheReadTokens: map('cacheReadTokens'),
    cacheWriteTokens: map('cacheWriteTokens'),
  }
}

/** Formats a value for display: text as it is, anything else as JSON. */
export function displayText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** Returns the message inside a JSON text, which some providers send instead of plain text; returns any other text unchanged. */
export function messageInJson(message: string): string {
  try {
    const parsed = fieldsOf(JSON.parse(message))
    return textOf(fieldsOf(parsed['error'])['message']) || textOf(parsed['message']) || message
  } catch {
    // The message is plain text, as usual.
    return message
  }
}
