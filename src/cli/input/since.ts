// Parses a moment in the past: a duration ago (`10m`, `2h`), a date, or a time, by default in the local time zone. Test:
// test/tables/cli/input/since.test.ts.
import { parseDuration } from '../../config/duration.ts'
import { UsageError } from '../errors.ts'

const DAY = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

/** Returns the moment in wall ms; undefined if no text is given. Errors: usage. */
export function parseSince(text: string | undefined, now = Date.now(), flag = '--since'): number | undefined {
  if (text === undefined) return undefined
  const ago = parseDuration(text)
  if (ago !== null) return Math.max(0, now - ago)
  // Date.parse reads a date without a time as UTC.
  const at = DAY.test(text) ? Date.parse(`${text}T00:00`) : TIME.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(at)) return Math.max(0, at)
  throw new UsageError(
    `${flag} "${text}" is neither a duration nor a time`,
    'Write it as in 10m, 2h, 2026-01-31, 2026-01-31T14:05 or 2026-01-31T14:05:00Z.',
  )
}
