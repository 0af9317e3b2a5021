// The usage of a process: how model calls and measurements add up in the fold. Must agree with usage-by-model.ts, which
// counts the same facts for sums over many processes. Test: test/properties/usage-ledger.test.ts.

/** The resource usage of an incarnation's programs since the last measurement. */
export interface Measured {
  readonly cpuTimeMs: number
  readonly outputBytes: number
  /** resident memory at the time of the measurement */
  readonly rssBytes: number
  readonly peakRssBytes: number
}

/** Adds a model call of the agent, and updates the size of the context. */
export function chargeCall(usage: Usage, call: CallUsage): Usage {
  const contextTokens = call.inputTokens + call.cacheReadTokens + call.cacheWriteTokens + call.outputTokens
  // Without token counts the size is unknown: an external agent may report its usage later.
  return { ...addUsage(usage, call), contextTokens: contextTokens === 0 ? usage.contextTokens : contextTokens }
}

/** Adds the tokens and the cost of a call. */
export function addUsage(usage: Usage, call: CallUsage): Usage {
  return {
    ...usage,
    inputTokens: usage.inputTokens + call.inputTokens,
    outputTokens: usage.outputTokens + call.outputTokens,
    cacheReadTokens: usage.cacheReadTokens + call.cacheReadTokens,
    cacheWriteTokens: usage.cacheWriteTokens + call.cacheWriteTokens,
    costUsd: usage.costUsd + (call.costUsd ?? 0),
    unpriced: usage.unpriced || call.costUsd === null,
    estimated: usage.estimated || call.estimated === true,
  }
}

export function addMeasurement(usage: Usage, { cpuTimeMs, outputBytes, rssBytes, peakRssBytes }: Measured): Usage {
  return {
    ...usage,
    cpuTimeMs: (usage.cpuTimeMs ?? 0) + cpuTimeMs,
    outputBytes: (usage.outputBytes ?? 0) + outputBytes,
    rssBytes,
    peakRssBytes: Math.max(usage.peakRssBytes ?? 0, peakRssBytes),
  }
}

/** The usage of a process over all incarnations. */
export interface Usage {
  readonly steps: number
  readonly turns: number
  readonly messagesSent: number
  readonly toolCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly contextTokens: number
  readonly costUsd: number
  /** a call had no known price, so `costUsd` is a lower bound */
  readonly unpriced: boolean
  /** a call was interrupted and charged by its estimate */
  readonly estimated: boolean
  /** CPU time of all programs of the process; absent: not measured */
  readonly cpuTimeMs?: number
  /** resident memory now */
  readonly rssBytes?: number
  readonly peakRssBytes?: number
  readonly outputBytes?: number
}

/** Tokens and money of one model call. */
export interface CallUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** null: the price is unknown */
  readonly costUsd: number | null
  readonly estimated?: boolean
}

/** The counters that are summed over processes, in display order. */
export const COUNTERS = [
  'steps',
  'turns',
  'messagesSent',
  'toolCalls',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'costUsd',
  'cpuTimeMs',
  'outputBytes',
] as const satisfies readonly (keyof Usage)[]
export type Counter = (typeof COUNTERS)[number]

/** Sums over processes; an absent counter is zero. */
export type UsageTotals = { readonly [C in Counter]?: number } & {
  readonly unpriced?: true
  readonly estimated?: true
}
