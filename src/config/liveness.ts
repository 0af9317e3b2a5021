// The key `liveness` of config.yaml and of agent files: after how long a process counts as silent, stalled, stopped or kept
// waiting, what follows, and when repeated calls are a loop. `off` switches one off. Owns the form; what is built in is the
// kernel's. Test: test/tables/config-liveness.test.ts.
import * as z from 'zod'
import { parseDuration } from './duration.ts'
import type { LivenessSpec } from '../kernel/liveness.ts'

const MAX_LOOP = 100
const MAX_CALLS = 1_000
const POLICIES = ['warn', 'interrupt', 'restart'] as const

const LONG = 'expected a duration such as 90s, 10m or 1h30m, or off'
/** Some readers of YAML take a bare `off` for false. */
const off = z.union([z.literal('off'), z.literal(false)])
const duration = z.union([off, z.string().refine((text) => (parseDuration(text) ?? 0) > 0, LONG)], LONG)
const times = (least: number, most: number) => {
  const words = `expected a number from ${least} to ${most}, or off`
  return z.union([z.int(words).min(least, words).max(most, words), off], words)
}

const keys = {
  stopped: duration.optional(),
  silent: duration.optional(),
  stalled: duration.optional(),
  waiting: duration.optional(),
  policy: z.enum(POLICIES).optional(),
  loop: times(2, MAX_LOOP).optional(),
  errors: times(1, MAX_CALLS).optional(),
  errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
}

/** As people write it. */
export type LivenessFile = z.output<typeof livenessFileRule>

export const LIVENESS_KEYS: readonly string[] = Object.keys(keys)

export const livenessFileRule = z.strictObject(keys)
  .refine(({ errors, errorsOf = 10 }) => typeof errors !== 'number' || errors <= errorsOf, '`errors` cannot be more than `errorsOf`')

/** What is built in, as it would be written. */
export const LIVENESS_DEFAULTS: LivenessFile = { stopped: '10s', silent: '5m', stalled: '15m', waiting: '10m', policy: 'warn', loop: 5, errors: 8, errorsOf: 10 }

/** As it is recorded with a process; what is not said is not there. */
export function livenessOf({ stopped, silent, stalled, waiting, loop, errors, policy, errorsOf }: LivenessFile): LivenessSpec {
  const all: { [K in keyof LivenessSpec]: LivenessSpec[K] | undefined } = {
    stoppedMs: msOf(stopped), silentMs: msOf(silent), stalledMs: msOf(stalled), waitingMs: msOf(waiting), policy, loop: numberOf(loop), errors: numberOf(errors), errorsOf,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function msOf(said: string | false | undefined): number | null | undefined {
  return said === undefined ? undefined : said === 'off' || said === false ? null : parseDuration(said)
}

function numberOf(said: number | 'off' | false | undefined): number | null | undefined {
  return said === 'off' || said === false ? null : said
}

const ms = z.number().min(0).max(1e12).nullable().optional()
const count = z.int().min(1).max(MAX_CALLS).nullable().optional()

/** As it is recorded. */
export const livenessRule = z.looseObject({
  stoppedMs: ms, silentMs: ms, stalledMs: ms, waitingMs: ms, policy: z.enum(POLICIES).optional(), loop: count, errors: count, errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
})
