// The limits of a process in words: how much of each is used, what becomes of it there, and when it is looked at.
// Test: test/tables/cli-limits.test.ts.
import { allowance, cost, elapsed, shortId, size, tokens } from './format.ts'
import type { LimitUseView, ProcessView } from '../api/views.ts'
import type { LimitName } from '../kernel/types.ts'

type Row = readonly [label: string, value: string | null]

const NAMES: Readonly<Record<LimitName, readonly [words: string, figure: (value: number) => string]>> = {
  maxSteps: ['steps', String], maxTurns: ['turns', String], maxMessages: ['messages', String], maxToolCalls: ['tool calls', String],
  maxChildren: ['children at a time', String], maxDepth: ['levels below it', String],
  maxInputTokens: ['input tokens', tokens], maxOutputTokens: ['output tokens', tokens], maxCacheReadTokens: ['tokens from the cache', tokens], maxCacheWriteTokens: ['tokens to the cache', tokens],
  budgetTokens: ['tokens', tokens], budgetUsd: ['', (value) => cost(value)],
  cpuTimeMs: ['of CPU time', elapsed], timeoutMs: ['of time', elapsed], memoryBytes: ['of memory', size], outputBytes: ['of output', size],
}

const METERING: Readonly<Record<ProcessView['metering'], string | null>> = {
  call: 'before each call', report: 'after each report of the agent: it may go over', none: null,
}

/** One row for each limit, its own and those above it. */
export function limitRows({ limits, limitUse, metering, memoryLimit }: ProcessView): Row[] {
  const rows = limitUse.map((use, index): Row => [index === 0 ? 'limits' : '', `${limitText(use)}${use.limit === 'memoryBytes' && use.scope === null ? memoryText(memoryLimit) : ''}`])
  const isBudget = limits.budgetUsd !== undefined || limits.budgetTokens !== undefined || limitUse.some(({ limit }) => limit.startsWith('budget'))
  return [...rows, ['looked at', isBudget ? METERING[metering] : null]]
}

/** `$0.95 of $1, then suspend` · `40 of 60 steps (of 5f607182), then terminate` */
export function limitText({ limit, used, of, action, scope }: LimitUseView): string {
  return `${amountText(limit, used, of)}${scope === null ? '' : ` (of ${shortId(scope)})`}, then ${action}`
}

/** `40 of 60 steps` */
export function amountText(limit: LimitName, used: number, of: number): string {
  const [words, figure] = NAMES[limit]
  const most = limit === 'budgetUsd' ? allowance(of) : figure(of)
  const amount = limit === 'maxDepth' ? most : `${figure(used)} of ${most}`
  return `${amount}${words === '' ? '' : ` ${words}`}`
}

function memoryText(how: ProcessView['memoryLimit']): string {
  return how === null ? '' : how === 'held' ? ' (held by the system)' : ' (measured every second)'
}
