// The key `liveness` of config.yaml and of agent files: after how long a process counts as silent, stalled, stopped or kept
// waiting, what follows, and when repeated calls are a loop. `off` switches one off. Owns the form; defaults are the kernel's.
// Test: test/tables/config-liveness.test.ts.
import * as z from 'zod'
import { parseDuration } from './duration.ts'
import type { LivenessSpec } from '../kernel/liveness.ts'

const MAX_LOOP = 100
const MAX_CALLS = 1_000

const LONG = 'expected a duration such as 90s, 10m or 1h30m, or off'
/** YAML reads a bare `off` as a text, and older readers as false. */
const duration = z.union([z.literal('off'), z.literal(false), z.string()], LONG).transform((said, context) => {
  if (said === 'off' || said === false) return null
  const ms = parseDuration(said)
  if (ms === null || ms <= 0) context.addIssue({ code: 'custom', message: LONG })
  return ms
})
const times = (least: number, most: number) => {
  const words = `expected a number from ${least} to ${most}, or off`
  return z.union([z.int(words).min(least, words).max(most, words), z.literal('off'), z.literal(false)], words).transform((said) => (typeof said === 'number' ? said : null))
}

/** As people write it. */
const keys = {
  stopped: duration.optional(),
  silent: duration.optional(),
  stalled: duration.optional(),
  waiting: duration.optional(),
  policy: z.enum(['warn', 'interrupt', 'restart']).optional(),
  loop: times(2, MAX_LOOP).optional(),
  errors: times(1, MAX_CALLS).optional(),
  errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
}

export const LIVENESS_KEYS: readonly string[] = Object.keys(keys)

export const livenessFileRule = z.strictObject(keys).refine(({ errors, errorsOf }) => typeof errors !== 'number' || errorsOf === undefined || errors <= errorsOf, '`errors` cannot be more than `errorsOf`').transform(specOf)

function specOf({ stopped, silent, stalled, waiting, ...rest }: z.output<z.ZodObject<typeof keys>>): LivenessSpec {
  return defined({ stoppedMs: stopped, silentMs: silent, stalledMs: stalled, waitingMs: waiting, ...rest })
}

function defined(values: { [K in keyof LivenessSpec]: LivenessSpec[K] | undefined }): LivenessSpec {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

const ms = z.number().min(0).max(1e12).nullable().optional()
const count = z.int().min(1).max(MAX_CALLS).nullable().optional()

/** As it is recorded. */
export const livenessRule = z.looseObject({
  stoppedMs: ms, silentMs: ms, stalledMs: ms, waitingMs: ms, policy: z.enum(['warn', 'interrupt', 'restart']).optional(), loop: count, errors: count, errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
})
