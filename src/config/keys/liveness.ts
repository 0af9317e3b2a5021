// The key `liveness` of config.yaml and of agent files. It sets the times after which a process counts as silent, stalled or stopped, or
// waits too long. It sets the action that follows, and how many repeated calls count as a loop. `off` disables a check. Defines the
// format, and a copy of the kernel's defaults for `reeve config`; the test compares both. Test: test/tables/config/keys/liveness.test.ts.
import * as z from 'zod'
import { parseDuration } from '../duration.ts'
import type { LivenessSpec } from '../../kernel/model/liveness.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { LIVENESS_POLICIES } from '../../kernel/model/words.ts'

const MAX_LOOP = 100
const MAX_CALLS = 1_000

const EXPECTED_DURATION = 'expected a duration such as 90s, 10m or 1h30m, or off'
/** `off`, or false: some YAML parsers convert an unquoted `off` to false. */
const off = z.union([z.literal('off'), z.literal(false)])
const duration = z.union([off, z.string().refine((text) => (parseDuration(text) ?? 0) > 0, EXPECTED_DURATION)], EXPECTED_DURATION)
/** A count within a range, or `off`. */
const times = (min: number, max: number) => {
  const message = `expected a number from ${min} to ${max}, or off`
  return z.union([z.int(message).min(min, message).max(max, message), off], message)
}

const keys = {
  stopped: duration.optional(),
  silent: duration.optional(),
  stalled: duration.optional(),
  waiting: duration.optional(),
  policy: z.enum(LIVENESS_POLICIES).optional(),
  loop: times(2, MAX_LOOP).optional(),
  errors: times(1, MAX_CALLS).optional(),
  errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
}

/** The value of the key in a file. */
export type LivenessConfig = z.output<typeof livenessFileRule>

export const LIVENESS_KEYS: readonly string[] = Object.keys(keys)

export const livenessFileRule = z
  .strictObject(keys)
  .refine(({ errors, errorsOf = 10 }) => typeof errors !== 'number' || errors <= errorsOf, '`errors` cannot be more than `errorsOf`')

/** The defaults in the format of a file. */
export const LIVENESS_DEFAULTS: LivenessConfig = {
  stopped: '10s',
  silent: '5m',
  stalled: '15m',
  waiting: '10m',
  policy: 'warn',
  loop: 12,
  errors: 8,
  errorsOf: 10,
}

/** Converts the value of a file to the recorded form. Absent values stay absent. */
export function toLivenessSpec({ stopped, silent, stalled, waiting, loop, errors, policy, errorsOf }: LivenessConfig): LivenessSpec {
  const all: { [K in keyof LivenessSpec]: LivenessSpec[K] | undefined } = {
    stoppedMs: msOf(stopped),
    silentMs: msOf(silent),
    stalledMs: msOf(stalled),
    waitingMs: msOf(waiting),
    policy,
    loop: numberOf(loop),
    errors: numberOf(errors),
    errorsOf,
  }
  return withoutUndefined(all)
}

function msOf(value: string | false | undefined): number | null | undefined {
  return value === undefined ? undefined : value === 'off' || value === false ? null : parseDuration(value)
}

function numberOf(value: number | 'off' | false | undefined): number | null | undefined {
  return value === 'off' || value === false ? null : value
}

const ms = z.number().min(0).max(1e12).nullable().optional()
const count = z.int().min(1).max(MAX_CALLS).nullable().optional()

/** The schema of the recorded form. */
export const livenessRule = z.looseObject({
  stoppedMs: ms,
  silentMs: ms,
  stalledMs: ms,
  waitingMs: ms,
  policy: z.enum(LIVENESS_POLICIES).optional(),
  loop: count,
  errors: count,
  errorsOf: z.int().min(1).max(MAX_CALLS).optional(),
})
