// Which ends would only come again: by a limit, of a context that is full, of a request that the provider refuses.
// Owns the reading of an end's own words. What it does not know comes back, and is caught by the count of equal causes.
// Test: test/tables/supervise.test.ts.
import type { ExitStatus } from '../kernel/types.ts'

/** Time-out, conflict, too early, too many: the same request may succeed later. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** How agents tell the status of the request that failed: as the first word, or after one of these. */
const STATUS = /(?:^|\b(?:API Error:?|HTTP(?:\/\d(?:\.\d)?)?|status(?: code)?:?)\s+)(4\d\d)\b/i
const FULL = /prompt is too long|context[ _](?:window|length)|maximum context|input is too long/i
const KEYS = /invalid api key|incorrect api key|authentication_error|not logged in|please run \/login|unauthorized/i

/** Why a restart would end in the same way; null: it may go better. */
export function finalCause(exit: ExitStatus): string | null {
  if (exit.cause === 'limit') return exit.reason
  const words = exit.error ?? exit.reason
  const status = exit.status ?? Number(STATUS.exec(words)?.[1] ?? 0)
  if (status >= 400 && status < 500) return PASSING.has(status) ? null : words
  return exit.cause === 'agent' && exit.code !== 0 && (FULL.test(words) || KEYS.test(words)) ? words : null
}

/** The cause by its own words, without numbers and identifiers, which differ each time. A bare exit code or signal tells none. */
export function ownWords({ error }: ExitStatus): string | null {
  return error === undefined ? null : error.replaceAll(/\S*\d\S*/g, '#').slice(0, 200)
}
