// The key `gc` of the user's config.yaml: how many ended processes are kept, and how often the daemon collects the others.
// Defines the defaults and the ranges. Test: test/tables/config/keys/gc.test.ts.
import * as z from 'zod'
import { parseBytes } from '../bytes.ts'

/** The rules, and the interval. 0 turns a rule off. Without any rule nothing is collected. */
export interface GcConfig {
  /** the age after which an ended process is removed, in days */
  readonly retention_days: number
  /** maximum number of ended processes that are kept */
  readonly max_entries: number
  /** the size of the store above which ended processes are removed, in bytes */
  readonly max_bytes: number
  /** the time between two collections */
  readonly interval_seconds: number
}

export const GC_DEFAULTS: GcConfig = { retention_days: 30, max_entries: 500, max_bytes: 0, interval_seconds: 3_600 }

const MAX_RETENTION_DAYS = 36_500
const MAX_ENTRIES = 10_000_000
/** the shortest interval: a shorter one would keep an idle machine awake */
const MIN_INTERVAL_SECONDS = 60
const MAX_INTERVAL_SECONDS = 31 * 86_400

const bytes = z.union([z.int().min(0), z.string()], 'expected a number of bytes or a size such as 5GiB').transform((value, context) => {
  const size = typeof value === 'number' ? value : parseBytes(value)
  if (size === null) context.addIssue({ code: 'custom', message: 'expected a number of bytes or a size such as 5GiB' })
  return size ?? 0
})

export const gcRule = z.strictObject({
  retention_days: z.number().min(0).max(MAX_RETENTION_DAYS).optional(),
  max_entries: z.int().min(0).max(MAX_ENTRIES).optional(),
  max_bytes: bytes.optional(),
  interval_seconds: z.int().min(MIN_INTERVAL_SECONDS).max(MAX_INTERVAL_SECONDS).optional(),
})

export const GC_KEYS: readonly string[] = Object.keys(gcRule.shape)
