// Short sentences about a process, the same wherever a verb says them. Pure. Test: test/tables/cli-views.test.ts.
import type { ProcessView } from '../api/views.ts'
import { cost, elapsed, plural, tokens } from './format.ts'
import { fit, oneLine } from './text.ts'

/** `PID 5 (docs)`. */
export function called(view: Pick<ProcessView, 'pid' | 'name'>): string {
  return view.name ? `PID ${view.pid} (${oneLine(view.name)})` : `PID ${view.pid}`
}

/** What runs it, in brackets: the model, or the driver of a program that has none that we know. */
export function spawned(view: ProcessView): string {
  return `PID ${view.pid} spawned (${oneLine(view.model ?? view.driver)})`
}

/** A command whose output nobody understands. */
export function isPlain({ driver, format }: Pick<ProcessView, 'driver' | 'format'>): boolean {
  return driver === 'command' && format === null
}

export function hasEnded(view: Pick<ProcessView, 'state'>): boolean {
  return view.state === 'dead' || view.state === 'zombie'
}

interface Held {
  readonly reason: string
  readonly by: string
  /** ms, or a time of the API */
  readonly at?: number | string
  readonly until?: number | string
}

/** `suspended by user`, `suspended: budget by system`, `suspended: rate-limit by system until 14:05`. */
export function held({ reason, by, at, until }: Held): string {
  const end = until === undefined ? '' : ` until ${clock(until, at ?? until)}`
  return oneLine(reason === 'user' ? `suspended by ${by}` : `suspended: ${reason} by ${by}${end}`)
}

/** With its day, if that is another one than that of `from`. */
function clock(at: number | string, from: number | string): string {
  const [day, time] = localParts(at)
  return day === localParts(from)[0] ? time : `${day} ${time}`
}

function localParts(at: number | string): readonly [day: string, time: string] {
  const date = new Date(at)
  const two = (number: number): string => String(number).padStart(2, '0')
  return [`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, `${two(date.getHours())}:${two(date.getMinutes())}`]
}

/** All that keep it from running. */
export function holders({ holds }: Pick<ProcessView, 'holds'>): string {
  return holds.map(held).join(', ')
}

/** `failed: max steps exceeded (exit 1)`; a plain completion needs no reason. */
export function ending(view: ProcessView): string {
  const { exit, status } = view
  if (!exit || (exit.code === 0 && exit.reason === status)) return status
  const error = exit.error && exit.error !== exit.reason ? `: ${oneLine(exit.error)}` : ''
  const code = exit.reason === `exit code ${exit.code}` ? '' : ` (exit ${exit.code})`
  return `${status}: ${oneLine(exit.reason)}${error}${code}`
}

/** The line that closes a run: how it ended, steps, tokens, cost, time. */
export function summary(view: ProcessView): string {
  const { usage } = view
  const parts = [`${called(view)} ${ending(view)}`]
  if (usage.steps > 0) {
    parts.push(plural(usage.steps, 'step'))
    // A script has none, and a model that could not be asked.
    if (usage.costUsd > 0 || usage.unpriced || allTokens(usage) > 0) parts.push(`tokens ${spent(usage)}`, cost(usage.costUsd, usage.unpriced))
  }
  parts.push(elapsed(view.elapsedMs))
  return parts.join(' | ')
}

/** Where no terminal says how wide it may be. */
export const INPUT_COLUMNS = 100

/** A tool's input on one line: its first text, else the JSON, cut. */
export function shortInput(input: unknown, columns = INPUT_COLUMNS, ellipsis = '...'): string {
  const first = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.values(input)[0] : input
  return fit(oneLine(typeof first === 'string' ? first : (JSON.stringify(input) ?? '')), columns, ellipsis)
}

/** `1.2k in, 300 out, 800 cache read`; no word of a cache that was not used. */
export function spent({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): string {
  const parts = [`${tokens(inputTokens)} in`, `${tokens(outputTokens)} out`]
  if (cacheReadTokens > 0) parts.push(`${tokens(cacheReadTokens)} cache read`)
  if (cacheWriteTokens > 0) parts.push(`${tokens(cacheWriteTokens)} cache write`)
  return parts.join(', ')
}

function allTokens({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

type TokenCounts = Pick<ProcessView['usage'], 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>
