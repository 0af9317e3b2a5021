// What the JSON lines of any known agent come down to, and what there is to know about each format: how its lines are read,
// how it is told to go on with a session, what its exit codes mean. A format is pure: an object in, observations out.
// Hostile input: no field is taken on trust, and what is unknown is passed over. Test: test/tables/command-formats.test.ts.
import type { AssistantPart, ToolOutcome } from '../../../kernel/facts.ts'
import type { Command } from './args.ts'

export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

/** Whose price list holds, where the agent itself says no cost. */
export interface Priced {
  readonly provider: string
  readonly model: string
}

/**
 * `step`: of the answer that is being told · `since`: of all since the last one of this kind, subagents too, so that it settles
 * what the steps said before it · `session`: of the whole session so far, also of what came before this program.
 */
export type Span = 'step' | 'since' | 'session'

export type Observed =
  | { readonly type: 'session'; readonly id: string; readonly model?: string }
  /** a part of an answer. Another `answer` (the agent's name for it) begins a new one */
  | { readonly type: 'part'; readonly answer: string | null; readonly part: AssistantPart; readonly model?: string; readonly isDelta?: boolean }
  | { readonly type: 'tool'; readonly callId: string; readonly outcome: ToolOutcome; readonly content: string }
  /** `aside` is the name of an answer that is no step of this process: a subagent's */
  | { readonly type: 'used'; readonly span: Span; readonly tokens: Tokens; readonly costUsd: number | null; readonly priced?: Priced; readonly window?: number; readonly aside?: string }
  /** the answer is whole, with its calls and their results */
  | { readonly type: 'step' }
  | { readonly type: 'note'; readonly text: string }
  /** a limit was met that is over then, in wall ms */
  | { readonly type: 'limited'; readonly until: number }
  | { readonly type: 'ended'; readonly error: string | null; readonly result: string | null }

export type Fields = Readonly<Record<string, unknown>>

export interface Format {
  /** the company or the program, as people call it */
  readonly title: string
  /** it says `step` itself; else the beginning of the next answer is the end of the one before */
  readonly marksSteps: boolean
  /** What a line says; null if it is none of this format. `command` tells of a format that says less than its command line. */
  read(line: Fields, command: Command): readonly Observed[] | null
  /** whether this command line makes the JSON lines */
  makesLines(command: Command): boolean
  /** the model that its command line names; null: nobody knows before it says so */
  model(command: Command): string | null
  /** it keeps no session to go on with */
  forgets(command: Command): boolean
  /** it goes on with a session that began elsewhere: totals count what this process did not do */
  continues(command: Command): boolean
  /** the arguments that ask it for `text`, in addition to what is there */
  ask(command: Command, text: string): readonly string[]
  /** the arguments that go on with a session, with `text` in place of what was asked before */
  resume(command: Command, sessionId: string, text: string): readonly string[]
  /** the same with a new session that begins as a copy of it; null: it cannot */
  readonly fork: ((command: Command, sessionId: string, text: string) => readonly string[]) | null
  /** what its own exit codes say */
  readonly codes: Readonly<Record<number, string>>
}

export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}

/** A count or an amount; what is none is 0. */
export function amount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

export const NO_TOKENS: Tokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

export function mapTokens(map: (bucket: keyof Tokens) => number): Tokens {
  return { inputTokens: map('inputTokens'), outputTokens: map('outputTokens'), cacheReadTokens: map('cacheReadTokens'), cacheWriteTokens: map('cacheWriteTokens') }
}

/** What a value says, for people: a text as it is, anything else as JSON. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** Providers put their JSON where people expect words. */
export function words(message: string): string {
  try {
    const parsed = fields(JSON.parse(message))
    return text(fields(parsed['error'])['message']) || text(parsed['message']) || message
  } catch {
    return message
  }
}
