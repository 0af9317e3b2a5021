// The limits of a process: their names, units and flags. Test: test/tables/web/resume-form.test.ts.
import type { LimitUseView } from '../../src/api/views/process.ts'
import { formatBytes, formatElapsed, formatLimitUsd, formatTokens } from '../../src/faces/format.ts'

export type Limit = LimitUseView['limit']

interface LimitUnit {
  readonly name: string
  /** the flag of `reeve resume` that sets it. null: it has none */
  readonly flag: string | null
  /** the unit of the field, for the user and for the command line */
  readonly unit: readonly [name: string, suffix: string]
  /** one unit, as the API counts the limit */
  readonly size: number
  readonly format: (value: number) => string
}

const count = (name: string, flag: string | null): LimitUnit => ({ name, flag, unit: ['', ''], size: 1, format: formatTokens })
const time = (name: string, flag: string): LimitUnit => ({ name, flag, unit: ['minutes', 'm'], size: 60_000, format: formatElapsed })
const bytes = (name: string, flag: string): LimitUnit => ({ name, flag, unit: ['MiB', 'MiB'], size: 1_048_576, format: formatBytes })

export const LIMIT_UNITS: Readonly<Record<Limit, LimitUnit>> = {
  maxSteps: count('steps', '--max-steps'),
  maxTurns: count('turns', '--max-turns'),
  maxToolCalls: count('tool calls', '--max-tool-calls'),
  maxChildren: count('living children', '--max-children'),
  maxDepth: count('levels below it', '--max-depth'),
  maxMessages: count('messages', null),
  maxInputTokens: count('input tokens', null),
  maxOutputTokens: count('output tokens', null),
  maxCacheReadTokens: count('tokens read from the cache', null),
  maxCacheWriteTokens: count('tokens written to the cache', null),
  budgetTokens: count('tokens', '--budget-tokens'),
  budgetUsd: {
    name: 'money',
    flag: '--budget-usd',
    unit: ['USD', ''],
    size: 1,
    format: (value) => formatLimitUsd(Math.round(value * 100) / 100),
  },
  timeoutMs: time('active time', '--timeout'),
  cpuTimeMs: time('CPU time', '--cpu-time'),
  memoryBytes: bytes('memory', '--memory'),
  outputBytes: bytes('output', '--max-output'),
}

/** What was typed, in the unit of the field, as the API counts the limit. */
export function limitValue(limit: Limit, amount: number): number {
  return Math.round(amount * LIMIT_UNITS[limit].size * 1e6) / 1e6
}
