// Sums of counters: what a process and its ended descendants have used, and what of it has been passed on to its payer.
// Owns how they add up. Pure; an absent counter is nothing. Tests: test/tables/accounts.test.ts, test/properties/budgets.test.ts.
import type { Process, Usage } from './types.ts'

/** Counters that add up over processes; an absent one is nothing. */
export interface Spent {
  readonly steps?: number
  readonly turns?: number
  readonly messagesSent?: number
  readonly toolCalls?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly costUsd?: number
  readonly cpuTimeMs?: number
  readonly outputBytes?: number
  readonly unpriced?: true
  readonly estimated?: true
}

/** The counters that add up, in the order in which they are shown. */
export const COUNTERS = [
  'steps', 'turns', 'messagesSent', 'toolCalls', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd', 'cpuTimeMs', 'outputBytes',
] as const

export function addSpent(a: Spent | undefined, b: Spent): Spent {
  return combine((name) => (a?.[name] ?? 0) + (b[name] ?? 0), a?.unpriced ?? b.unpriced, a?.estimated ?? b.estimated)
}

/** All that it and its ended descendants have used. */
export function spentBy({ usage, below }: Pick<Process, 'usage' | 'below'>): Spent {
  return addSpent(below, spentOf(usage))
}

/** What its payer does not know yet; null: nothing. */
export function unsettled(process: Pick<Process, 'usage' | 'below' | 'settled'>): Spent | null {
  const all = spentBy(process)
  const { settled } = process
  const left = combine((name) => (all[name] ?? 0) - (settled?.[name] ?? 0), settled?.unpriced ? undefined : all.unpriced, settled?.estimated ? undefined : all.estimated)
  return Object.keys(left).length === 0 ? null : left
}

/** What was used since then. */
export function spentSince(usage: Usage, before: Spent | undefined): Spent {
  return combine((name) => (usage[name] ?? 0) - (before?.[name] ?? 0), before?.unpriced ? undefined : usage.unpriced || undefined, before?.estimated ? undefined : usage.estimated || undefined)
}

export function spentOf(usage: Usage): Spent {
  return combine((name) => usage[name] ?? 0, usage.unpriced || undefined, usage.estimated || undefined)
}

function combine(value: (name: (typeof COUNTERS)[number]) => number, unpriced: true | undefined, estimated: true | undefined): Spent {
  const counted = COUNTERS.flatMap((name) => {
    const each = value(name)
    return each === 0 ? [] : [[name, each] as const]
  })
  return { ...Object.fromEntries(counted), ...(unpriced ? { unpriced } : {}), ...(estimated ? { estimated } : {}) }
}
