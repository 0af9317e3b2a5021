// The key `gc`: which of the ended processes are kept, and how often the daemon looks. It is the user's, never a project's.
// Owns its defaults and what its values may be. Test: test/tables/config-gc.test.ts.
import * as z from 'zod'
import { parseBytes } from './bytes.ts'

/** As it stands in the file. A rule that is 0 is off; with all of them off nothing is collected. */
export interface GcConfig {
  /** ended processes that are older go; in days */
  readonly retention_days: number
  /** so many ended processes are kept */
  readonly max_entries: number
  /** so large may the store be, in bytes */
  readonly max_bytes: number
  /** how often the daemon looks */
  readonly interval_seconds: number
}

export const GC_DEFAULTS: GcConfig = { retention_days: 30, max_entries: 500, max_bytes: 0, interval_seconds: 3_600 }

const MAX_DAYS = 36_500
const MAX_ENTRIES = 10_000_000
/** More often would keep an idle machine awake. */
const LEAST_SECONDS = 60
const MAX_SECONDS = 31 * 86_400

const bytes = z.union([z.int().min(0), z.string()], 'expected a number of bytes or a size such as 5GiB').transform((value, context) => {
  const size = typeof value === 'number' ? value : parseBytes(value)
  if (size === null) context.addIssue({ code: 'custom', message: 'expected a number of bytes or a size such as 5GiB' })
  return size ?? 0
})

export const gcRule = z.strictObject({
  retention_days: z.number().min(0).max(MAX_DAYS).optional(),
  max_entries: z.int().min(0).max(MAX_ENTRIES).optional(),
  max_bytes: bytes.optional(),
  interval_seconds: z.int().min(LEAST_SECONDS).max(MAX_SECONDS).optional(),
})

export const GC_KEYS: readonly string[] = Object.keys(gcRule.shape)
