// The limits in a request: the change that a resume or a fork requests. Also finds the limits that cannot be enforced for a plain command:
// most of them count model calls and steps, which only agents have. Tests: test/e2e/limits/budgets.test.ts, test/e2e/daemon/api.test.ts.
import { LIMITS, configuredLimits, type LimitCheck } from '../../kernel/state/limits.ts'
import type { ResumeBody } from '../../api/views/process.ts'
import type { LimitName, Limits } from '../../kernel/model/words.ts'
import type { LimitChange } from '../../kernel/model/inputs.ts'

/** Returns the limits to set and the amounts to add, as a field of an input; empty if the request has neither. */
export function limitChange({ limits, raise }: Pick<ResumeBody, 'limits' | 'raise'>): { readonly limits?: LimitChange } {
  return limits === undefined && raise === undefined ? {} : { limits: { set: limits ?? {}, add: raise ?? {} } }
}

/**
 * For each moment of a check: true if the limits that are checked then can be enforced for a plain command. `metered`: only if its model
 * calls go through the gateway, which counts the calls of any program.
 */
const IS_ENFORCED_FOR_COMMANDS: Readonly<Record<LimitCheck, boolean | 'metered'>> = {
  step: false,
  turn: false,
  call: 'metered',
  message: false,
  after: false,
  measured: true,
  ask: true,
  clock: true,
}

/** Returns the limits that cannot be enforced for a plain command. `isMetered`: its model calls go through the gateway. */
export function unenforceableLimits(limits: Limits, isMetered: boolean): Partial<Record<LimitName, number>> {
  const isEnforceable = (name: LimitName): boolean => {
    const isEnforced = IS_ENFORCED_FOR_COMMANDS[LIMITS[name].when]
    return isEnforced === 'metered' ? isMetered : isEnforced
  }
  return Object.fromEntries(
    configuredLimits(limits)
      .filter((name) => !isEnforceable(name))
      .map((name) => [name, limits[name]]),
  )
}
