// Describes the limits of a process: how much is used, the action at the limit, and when the limit is checked. Test:
// test/tables/cli/print/limits.test.ts.
import { formatLimitUsd, formatCost, formatElapsed, shortId, formatBytes, formatTokens } from '../../faces/format.ts'
import type { LimitUseView, ProcessView } from '../../api/views/process.ts'
import type { BoundName } from '../../kernel/model/words.ts'

type Row = readonly [label: string, value: string | null]

/** The unit of each limit in a text, and the format of its values. */
const UNITS: Readonly<Record<BoundName, readonly [unit: string, format: (value: number) => string]>> = {
  maxSteps: ['steps', String],
  maxTurns: ['turns', String],
  maxMessages: ['messages', String],
  maxToolCalls: ['tool calls', String],
  maxChildren: ['children at a time', String],
  maxDepth: ['levels below it', String],
  maxInputTokens: ['input tokens', formatTokens],
  maxOutputTokens: ['output tokens', formatTokens],
  maxCacheReadTokens: ['tokens from the cache', formatTokens],
  maxCacheWriteTokens: ['tokens to the cache', formatTokens],
  budgetTokens: ['tokens', formatTokens],
  budgetUsd: ['', (value) => formatCost(value)],
  cpuTimeMs: ['of CPU time', formatElapsed],
  timeoutMs: ['of time', formatElapsed],
  memoryBytes: ['of memory', formatBytes],
  outputBytes: ['of output', formatBytes],
  dailyUsd: ['today', (value) => formatCost(value)],
  monthlyUsd: ['this month', (value) => formatCost(value)],
}

/** When a budget is checked. */
const METERING: Readonly<Record<ProcessView['metering'], string | null>> = {
  call: 'before each call',
  report: 'after each report of the agent; it may exceed the limit',
  none: null,
}

/** Returns a row for each limit of the process and of its ancestors. */
export function limitRows({ limits, limitUse, metering, memoryLimit }: ProcessView): Row[] {
  const rows = limitUse.map((use, index): Row => [
    index === 0 ? 'limits' : '',
    `${limitText(use)}${use.limit === 'memoryBytes' && use.scope === null ? memoryText(memoryLimit) : ''}`,
  ])
  const isBudget =
    limits.budgetUsd !== undefined || limits.budgetTokens !== undefined || limitUse.some(({ limit }) => limit.startsWith('budget'))
  return [...rows, ['checked', isBudget ? METERING[metering] : null]]
}

/** Describes a limit: `$0.95 of $1, then suspend`, or `40 of 60 steps (of 5f607182), then terminate (config.yaml)`. */
export function limitText({ limit, used, of, action, scope, source }: LimitUseView): string {
  const owner = scope === null ? '' : ` (of ${shortId(scope)})`
  return `${amountText(limit, used, of)}${owner}, then ${action}${source === 'config' ? ' (config.yaml)' : ''}`
}

/** Describes the used part of a limit: `40 of 60 steps`. */
export function amountText(limit: BoundName, used: number, of: number): string {
  const [unit, format] = UNITS[limit]
  const maximum = limit.endsWith('Usd') ? formatLimitUsd(of) : format(of)
  const amount = limit === 'maxDepth' ? maximum : `${format(used)} of ${maximum}`
  return `${amount}${unit === '' ? '' : ` ${unit}`}`
}

function memoryText(enforcement: ProcessView['memoryLimit']): string {
  return enforcement === null ? '' : enforcement === 'held' ? ' (enforced by the system)' : ' (measured every second)'
}
