// Applies the limits that the user has configured for all top-level processes. The process's own limits take precedence.
// Leaves out limits that cannot be enforced for a plain command. Test: test/e2e/limits/home-limits.test.ts.
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { unenforceableLimits } from './request-limits.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Limits } from '../../kernel/model/words.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** Returns the spec with the configured limits. A process with a parent gets none: the limits of its ancestors apply to it. */
export function withHomeLimits<S extends ProcessSpec>(spec: S, home: Limits, parent: Uuid | null): S {
  if (parent !== null || Object.keys(home).length === 0) return spec
  const unenforceable = isPlainCommand(spec) ? unenforceableLimits(home, spec.gateway === 'on') : {}
  const enforceable = Object.fromEntries(Object.entries(home).filter(([name]) => !Object.hasOwn(unenforceable, name)))
  const taken = Object.fromEntries(Object.entries(enforceable).filter(([name]) => !Object.hasOwn(spec.limits, name)))
  return Object.keys(taken).length === 0 ? spec : { ...spec, limits: { ...taken, ...spec.limits }, homeLimits: taken }
}
