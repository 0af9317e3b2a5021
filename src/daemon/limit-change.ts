// What a request says of limits: those that it sets, and what it adds to those that are there. Owns which of them a plain
// command can be held to: the others count what only agents have. Tests: test/e2e/budgets.test.ts, test/e2e/external.test.ts.
import { LIMITS, limitsSet } from '../kernel/limits.ts'
import type { ResumeBody } from '../api/views.ts'
import type { LimitChange } from '../kernel/limits.ts'
import type { LimitName, Limits } from '../kernel/types.ts'

export function limitChange({ limits, raise }: Pick<ResumeBody, 'limits' | 'raise'>): { readonly limits?: LimitChange } {
  return limits === undefined && raise === undefined ? {} : { limits: { set: limits ?? {}, add: raise ?? {} } }
}

const OF_PROGRAMS: ReadonlySet<LimitName> = new Set<LimitName>(['timeoutMs', 'cpuTimeMs', 'memoryBytes', 'outputBytes', 'maxChildren', 'maxDepth'])

/** Those that nobody could hold a plain command to. What goes through the gateway is counted there, whatever program it is. */
export function notOfPrograms(limits: Limits, metered: boolean): Partial<Record<LimitName, number>> {
  const isHeld = (name: LimitName): boolean => OF_PROGRAMS.has(name) || (metered && LIMITS[name].when === 'call')
  return Object.fromEntries(limitsSet(limits).filter((name) => !isHeld(name)).map((name) => [name, limits[name]]))
}
