// Short texts about a process, for all verbs. Pure. Test: test/tables/cli/print/process-text.test.ts.
import { toolInputLine } from '../../api/text/tool-input-line.ts'
import { senderWord } from '../../api/text/sender-word.ts'
import { endReasonText } from '../../api/text/exit-reason.ts'
import type { ProcessView } from '../../api/views/process.ts'
import { formatCost, formatElapsed, formatCount, formatTokens } from '../../faces/format.ts'
import { fitWidth, oneLine } from './text.ts'

/** Returns the title of a process: `PID 5 (docs)`. */
export function processTitle(view: Pick<ProcessView, 'pid' | 'name'>): string {
  return view.name ? `PID ${view.pid} (${oneLine(view.name)})` : `PID ${view.pid}`
}

/** Returns the line about a started process, with its model, or its driver if the model is unknown: `PID 5 spawned (MODEL)`. */
export function startText(view: ProcessView): string {
  return `PID ${view.pid} spawned (${oneLine(view.model ?? view.driver)})`
}

/** Whether the process is a plain command: reeve does not understand its output. */
export function isPlainCommandView({ driver, format }: Pick<ProcessView, 'driver' | 'format'>): boolean {
  return driver === 'command' && format === null
}

/** Whether the process has ended. The resources of a zombie are not released yet. */
export function hasEnded(view: Pick<ProcessView, 'state'>): boolean {
  return view.state === 'dead' || view.state === 'zombie'
}

/** The process of an open call: the fields that decide the word for the call. */
export type CallingProcess = Pick<ProcessView, 'state' | 'status' | 'note' | 'asks'>

/**
 * Returns the word that is shown for a call without an outcome. `unbegun`: the call has not started, because it, or a call before it, waits
 * for an answer or a resume.
 */
export function openCallWord(
  { state, status, note, asks }: CallingProcess,
  { callId, unbegun }: { readonly callId: string; readonly unbegun?: boolean },
): string {
  const ended = hasEnded({ state })
  if (unbegun) {
    if (ended) return 'not run'
    if (asks.some((ask) => ask.callId === callId)) return 'waits for your answer'
    return status === 'suspended' ? 'held' : 'not begun'
  }
  if (ended) return 'interrupted'
  // A draining process may still be working on a call.
  return status === 'suspended' && !note?.endsWith('(draining)') ? 'held' : 'running'
}

interface Hold {
  readonly reason: string
  readonly by: string
  /** wall ms, or ISO 8601; so is `until` */
  readonly at?: number | string
  readonly until?: number | string
}

/** Describes a hold: `suspended by user`, `suspended: rate-limit by system until 14:05`. */
function holdText({ reason, by, at, until }: Hold): string {
  const end = until === undefined ? '' : ` until ${localTime(until, at ?? until)}`
  return oneLine(reason === 'user' ? `suspended by ${senderWord(by)}` : `suspended: ${reason} by ${senderWord(by)}${end}`)
}

/** Returns the local time, with its date if that is not the date of `from`. */
function localTime(at: number | string, from: number | string): string {
  const [day, time] = localParts(at)
  return day === localParts(from)[0] ? time : `${day} ${time}`
}

function localParts(at: number | string): readonly [day: string, time: string] {
  const date = new Date(at)
  const two = (number: number): string => String(number).padStart(2, '0')
  return [`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, `${two(date.getHours())}:${two(date.getMinutes())}`]
}

/** Describes all holds of a process. */
export function holdsText({ holds }: Pick<ProcessView, 'holds'>): string {
  return holds.map(holdText).join(', ')
}

/** Describes how a process ended: `failed: max steps exceeded (exit 1)`. A regular end has no reason. */
export function endingText(view: ProcessView): string {
  const { exit, status, parentUuid } = view
  if (!exit || (exit.code === 0 && exit.reason === status)) return status
  const error = exit.error && exit.error !== exit.reason ? `: ${oneLine(exit.error)}` : ''
  const code = exit.reason === `exit code ${exit.code}` ? '' : ` (exit ${exit.code})`
  return `${status}: ${oneLine(endReasonText(exit.reason, parentUuid))}${error}${code}`
}

/** Returns the last line that is printed about a process: outcome, steps, tokens, cost and time. */
export function processSummary(view: ProcessView): string {
  const { usage } = view
  const parts = [`${processTitle(view)} ${endingText(view)}`]
  if (usage.steps > 0) {
    parts.push(formatCount(usage.steps, 'step'))
    // Scripted models and failed calls use no tokens.
    if (usage.costUsd !== 0 || tokenSum(usage) > 0) parts.push(`tokens ${tokensText(usage)}`, formatCost(usage.costUsd, usage.unpriced))
  }
  parts.push(formatElapsed(view.elapsedMs))
  return parts.join(' | ')
}

/** the greatest width of an input that is not printed on a terminal */
export const INPUT_COLUMNS = 100
/** the least width of the input of a tool call */
export const MIN_INPUT_COLUMNS = 10

/** Returns the input of a tool on one line, truncated: its main field, or the whole input as JSON. */
export function shortInput(input: unknown, columns = INPUT_COLUMNS, ellipsis = '...'): string {
  return fitWidth(toolInputLine(input), columns, ellipsis)
}

/** Returns the tokens as text: `1.2k in, 300 out, 800 cache read`. The cache is omitted if it was not used. */
export function tokensText({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): string {
  const parts = [`${formatTokens(inputTokens)} in`, `${formatTokens(outputTokens)} out`]
  if (cacheReadTokens > 0) parts.push(`${formatTokens(cacheReadTokens)} cache read`)
  if (cacheWriteTokens > 0) parts.push(`${formatTokens(cacheWriteTokens)} cache write`)
  return parts.join(', ')
}

function tokenSum({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

type TokenCounts = Pick<ProcessView['usage'], 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>
