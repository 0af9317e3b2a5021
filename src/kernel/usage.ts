// What a process has used, as the fold counts it: how a call and a measurement add to it.
// Owns these sums and nothing else; spending.ts counts the same facts for sums over many processes. Test: test/properties/usage.test.ts.
import type { CallUsage, Process, Usage } from './types.ts'

/** What the programs of an incarnation have used since it was measured before; memory is as it is now, and the most that it was. */
export interface Measured {
  readonly cpuTimeMs: number
  readonly outputBytes: number
  readonly rssBytes: number
  readonly peakRssBytes: number
}

/** What a call of the loop costs, and how full it shows the context to be. */
export function charge(usage: Usage, call: CallUsage): Usage {
  const contextTokens = call.inputTokens + call.cacheReadTokens + call.cacheWriteTokens + call.outputTokens
  // An agent of others may say later what it used.
  return { ...spend(usage, call), contextTokens: contextTokens === 0 ? usage.contextTokens : contextTokens }
}

export function spend(usage: Usage, call: CallUsage): Usage {
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

export function measure(usage: Usage, { cpuTimeMs, outputBytes, rssBytes, peakRssBytes }: Measured): Usage {
  return {
    ...usage,
    cpuTimeMs: (usage.cpuTimeMs ?? 0) + cpuTimeMs,
    outputBytes: (usage.outputBytes ?? 0) + outputBytes,
    rssBytes,
    peakRssBytes: Math.max(usage.peakRssBytes ?? 0, peakRssBytes),
  }
}

/** Its programs are gone, and with them the memory that they had. */
export function withoutPrograms(process: Process): Process {
  if (process.usage.rssBytes === undefined) return process
  const { rssBytes: _, ...usage } = process.usage
  return { ...process, usage }
}
