// Recognizes ends that a restart would only repeat: a limit, a full context, a request that the provider refuses. An end that is not
// recognized may be retried; restart-decision.ts then stops after equal errors, which `normalizedError` makes comparable.
// Test: test/tables/kernel/supervise/restart-decision.test.ts.
import type { ExitStatus } from '../model/process.ts'

/** HTTP statuses after which the same request may succeed later: timeout, conflict, too early, too many requests. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** The HTTP status in an agent's error text: at its start, or after a prefix such as `API Error:`. */
const HTTP_STATUS = /(?:^|\b(?:API Error:?|HTTP(?:\/\d(?:\.\d)?)?|status(?: code)?:?)\s+)(4\d\d)\b/i
const CONTEXT_FULL = /prompt is too long|context[ _](?:window|length)|maximum context|input is too long/i
const KEY_REFUSED = /invalid api key|incorrect api key|authentication_error|not logged in|please run \/login|unauthorized/i

/** Why a restart would end in the same way; null: a restart may succeed. */
export function nonRetryableCause(exit: ExitStatus): string | null {
  if (exit.cause === 'limit') return exit.reason
  const text = exit.error ?? exit.reason
  const status = exit.status ?? Number(HTTP_STATUS.exec(text)?.[1] ?? 0)
  if (status >= 400 && status < 500) return TRANSIENT_STATUSES.has(status) ? null : text
  return exit.cause === 'agent' && exit.code !== 0 && (CONTEXT_FULL.test(text) || KEY_REFUSED.test(text)) ? text : null
}

/** The error text without numbers or identifiers, so that equal errors compare equal. Null: the exit has no error text. */
export function normalizedError({ error }: ExitStatus): string | null {
  return error === undefined ? null : error.replaceAll(/\S*\d\S*/g, '#').slice(0, 200)
}
