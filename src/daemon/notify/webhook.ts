// Sends a notice to the user's webhook, as a POST of JSON. Secrets are looked up for each request, and not kept. Must not follow redirects,
// because the headers with secrets would be sent along. Test: test/e2e/daemon/notifications.test.ts.
import { originOf, type NotificationsConfig } from '../../config/keys/notifications.ts'
import { MissingVariable, expandVariables, variablesIn } from '../../config/expand-variables.ts'
import { isoTime } from '../views/format-times.ts'
import type { Notice } from './notices.ts'
import type { DeliveryResult } from './outbox.ts'

const TIMEOUT_MS = 10_000
/** The longest delay of a `retry-after` header that is respected. */
const MAX_RETRY_AFTER_MS = 300_000

type Webhook = NonNullable<NotificationsConfig['webhook']>
/** Looks up the value of a variable; undefined if there is none. */
export type SecretLookup = (name: string) => Promise<string | undefined>

/** A notice, which need not be about a process. */
type AnyNotice = Notice | Pick<Notice, 'kind' | 'at' | 'text'>

function bodyOf(notice: AnyNotice, repeated: number): object {
  const { kind, at, text } = notice
  const aboutProcess = 'uuid' in notice ? processPart(notice) : {}
  return { version: 1, event: kind, at: isoTime(at), text, ...aboutProcess, ...(repeated > 0 ? { repeated } : {}) }
}

function processPart({ uuid, pid, name, agent, intent, elapsedMs, command }: Notice): object {
  return {
    ...(command === undefined ? {} : { command }),
    process: { uuid, pid, name, agent, intent, ...(elapsedMs === undefined ? {} : { elapsedMs }) },
  }
}

/** Sends a notice. Never rejects. */
export async function postNotice(hook: Webhook, notice: AnyNotice, repeated: number, lookup: SecretLookup): Promise<DeliveryResult> {
  const expanded = await fillSecrets(hook, lookup)
  if ('why' in expanded) return { ok: false, why: expanded.why, retry: false }
  const { url, headers } = expanded
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'user-agent': 'reeve', ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(notice, repeated)),
    })
    await response.body?.cancel()
    return resultOf(response)
  } catch (error) {
    return { ok: false, why: `${originOf(hook.url)}: ${reasonOf(error)}`, retry: true }
  }
}

function resultOf({ ok, status, headers }: Response): DeliveryResult {
  if (ok) return { ok: true }
  const seconds = Number(headers.get('retry-after'))
  const retry = status === 408 || status === 425 || status === 429 || status >= 500
  return {
    ok: false,
    why: `it answered ${status}`,
    retry,
    ...(seconds > 0 ? { afterMs: Math.min(MAX_RETRY_AFTER_MS, seconds * 1_000) } : {}),
  }
}

/** Checks that the server responds, without a notice. Returns why it cannot be reached; null if it can. */
export async function unreachableReason(hook: Webhook, lookup: SecretLookup): Promise<string | null> {
  const expanded = await fillSecrets(hook, lookup)
  if ('why' in expanded) return expanded.why
  try {
    const response = await fetch(expanded.url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

/** Replaces the variables in the URL and the headers with their values. `why` has the error, which names no value. */
async function fillSecrets(
  { url, headers = {} }: Webhook,
  lookup: SecretLookup,
): Promise<{ readonly url: string; readonly headers: Record<string, string> } | { readonly why: string }> {
  const names = [...new Set([url, ...Object.values(headers)].flatMap(variablesIn))]
  const values = new Map(await Promise.all(names.map(async (name) => [name, await lookup(name)] as const)))
  try {
    const value = (text: string): string => expandVariables(text, (name) => values.get(name))
    const expanded = { url: value(url), headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, value(text)])) }
    return URL.canParse(expanded.url) && /^https?:$/.test(new URL(expanded.url).protocol)
      ? expanded
      : { why: 'its URL is not valid after its variables were replaced' }
  } catch (error) {
    if (error instanceof MissingVariable) return { why: error.message }
    throw error
  }
}

/** Describes an error of `fetch`, whose cause is nested. The text must not contain the URL, which may be a secret. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it cannot be reached'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1_000} s`
  const { code } = (error.cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? `it cannot be reached (${code})` : 'it cannot be reached'
}
