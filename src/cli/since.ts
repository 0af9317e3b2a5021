// A moment in the past as people type it: how long ago (`10m`, `2h`), a day, or a time, without a zone that of this machine.
// Test: test/tables/cli-args.test.ts.
import { parseDuration } from '../config/duration.ts'
import { UsageError } from './errors.ts'

const DAY = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

/** Wall ms; undefined if nothing was asked. */
export function sinceOf(text: string | undefined, now = Date.now()): number | undefined {
  if (text === undefined) return undefined
  const ago = parseDuration(text)
  if (ago !== null) return Math.max(0, now - ago)
  // A day alone would be read as of UTC.
  const at = DAY.test(text) ? Date.parse(`${text}T00:00`) : TIME.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(at)) return Math.max(0, at)
  throw new UsageError(`--since "${text}" is neither a duration nor a time`, 'Write it as in 10m, 2h, 2026-01-31, 2026-01-31T14:05 or 2026-01-31T14:05:00Z.')
}
