// Restart policies and supervisors as people write them: one zod rule for each, for files (durations as text) and for the API
// (ms). Owns the ranges. Tests: test/tables/config-supervisors.test.ts, test/e2e/api.test.ts.
import { z } from 'zod'
import { parseDuration } from './duration.ts'

const DAY_MS = 86_400_000

const restartWord = z.enum(['no', 'on-failure', 'always', 'permanent', 'transient', 'temporary'])
export const strategyRule = z.enum(['one_for_one', 'one_for_all', 'rest_for_one'])
const onComplete = z.enum(['fresh', 'stop'])
export const childIdRule = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of up to 64 letters, digits, dots, dashes and underscores')
const times = z.int().min(0).max(1_000)
const factor = z.number().min(1).max(100)
const ms = z.number().min(0).max(30 * DAY_MS)

const duration = z.string().transform((text, context) => {
  const parsed = parseDuration(text)
  if (parsed === null) context.addIssue('expected a duration such as 90s, 10m or 1h30m')
  return parsed ?? 0
})

/** Of the API. */
export const intensityRules = {
  maxRestarts: times.exactOptional(),
  windowMs: ms.min(1).exactOptional(),
  backoff: z.strictObject({ initialMs: ms.exactOptional(), maxMs: ms.exactOptional(), factor: factor.exactOptional() }).exactOptional(),
}
export const restartRule = z.union([restartWord, z.strictObject({ type: restartWord, onComplete: onComplete.exactOptional(), ...intensityRules })])

/** Of files. */
const fileIntensity = {
  maxRestarts: times.optional(),
  window: duration.optional(),
  backoff: z.strictObject({ initial: duration.optional(), max: duration.optional(), factor: factor.optional() }).optional(),
}
export const BACKOFF_KEYS = ['initial', 'max', 'factor']

interface FileIntensity {
  readonly maxRestarts?: number | undefined
  readonly window?: number | undefined
  readonly backoff?: { readonly initial?: number | undefined; readonly max?: number | undefined; readonly factor?: number | undefined } | undefined
}

/** The same in the words of the API. */
export function intensityAsked({ maxRestarts, window, backoff }: FileIntensity) {
  return defined({ maxRestarts, windowMs: window, backoff: backoff && defined({ initialMs: backoff.initial, maxMs: backoff.max, factor: backoff.factor }) })
}

export const fileRestartRule = z.union(
  [restartWord, z.strictObject({ type: restartWord, onComplete: onComplete.optional(), ...fileIntensity })],
  `expected ${restartWord.options.join(', ')}, or { type: …, onComplete: …, maxRestarts: …, window: …, backoff: … }`,
).transform((said) => {
  if (typeof said === 'string') return said
  return { type: said.type, ...defined({ onComplete: said.onComplete }), ...intensityAsked(said) }
})

export const fileSupervisor = { strategy: strategyRule.optional(), ...fileIntensity }
export const fileOnComplete = onComplete

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without what was not said. */
export function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>
}
