// The zod rules of restart policies and of supervisors, for files (durations as text) and for the API (ms). Defines the ranges. Tests:
// test/tables/config/supervisors.test.ts, test/e2e/daemon/api.test.ts.
import { z } from 'zod'
import { parseDuration } from './duration.ts'
import { withoutUndefined } from '../kernel/util/without-undefined.ts'
import { ON_COMPLETE, RESTART_WORDS, STRATEGIES } from '../kernel/model/words.ts'

const DAY_MS = 86_400_000

const restartWord = z.enum(RESTART_WORDS)
export const strategyRule = z.enum(STRATEGIES)
const onComplete = z.enum(ON_COMPLETE)
export const childIdRule = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of up to 64 letters, digits, dots, dashes and underscores')
const times = z.int().min(0).max(1_000)
const factor = z.number().min(1).max(100)
const ms = z
  .number()
  .min(0)
  .max(30 * DAY_MS)

const duration = z.string().transform((text, context) => {
  const parsed = parseDuration(text)
  if (parsed === null) context.addIssue('expected a duration such as 90s, 10m or 1h30m')
  return parsed ?? 0
})

/** How often a process may be restarted, in the API. */
export const intensityRules = {
  maxRestarts: times.exactOptional(),
  windowMs: ms.min(1).exactOptional(),
  backoff: z.strictObject({ initialMs: ms.exactOptional(), maxMs: ms.exactOptional(), factor: factor.exactOptional() }).exactOptional(),
}
export const restartRule = z.union([
  restartWord,
  z.strictObject({ type: restartWord, onComplete: onComplete.exactOptional(), ...intensityRules }),
])

/** How often a process may be restarted, in files. */
const fileIntensity = {
  maxRestarts: times.optional(),
  window: duration.optional(),
  backoff: z.strictObject({ initial: duration.optional(), max: duration.optional(), factor: factor.optional() }).optional(),
}
export const BACKOFF_KEYS = ['initial', 'max', 'factor']

/** The parsed intensity of a file; durations in ms. */
interface FileIntensity {
  readonly maxRestarts?: number | undefined
  readonly window?: number | undefined
  readonly backoff?:
    | { readonly initial?: number | undefined; readonly max?: number | undefined; readonly factor?: number | undefined }
    | undefined
}

/** Converts the restart intensity of a file to the fields of the API. */
export function toIntensity({ maxRestarts, window, backoff }: FileIntensity) {
  return withoutUndefined({
    maxRestarts,
    windowMs: window,
    backoff: backoff && withoutUndefined({ initialMs: backoff.initial, maxMs: backoff.max, factor: backoff.factor }),
  })
}

export const fileRestartRule = z
  .union(
    [restartWord, z.strictObject({ type: restartWord, onComplete: onComplete.optional(), ...fileIntensity })],
    `expected ${restartWord.options.join(', ')}, or { type: …, onComplete: …, maxRestarts: …, window: …, backoff: … }`,
  )
  .transform((value) => {
    if (typeof value === 'string') return value
    return { type: value.type, ...withoutUndefined({ onComplete: value.onComplete }), ...toIntensity(value) }
  })

/** The keys of a supervisor in a file, except its children and limits. */
export const fileSupervisorShape = { strategy: strategyRule.optional(), ...fileIntensity }
export const onCompleteRule = onComplete
