// A notice as one POST of JSON. Owns the form of its body and what an answer means. Secrets are looked up for each one and
// kept nowhere; no answer is followed elsewhere, as the headers would go along. Test: test/e2e/notifications.test.ts.
import { originOf, type NotificationsConfig } from '../../config/notifications.ts'
import { MissingVariable, expand, variablesIn } from '../../config/template.ts'
import { iso } from '../times.ts'
import type { Notice } from './notices.ts'
import type { Sent } from './outbox.ts'

const TIMEOUT_MS = 10_000
/** A server that asks for more is not waited for longer, in ms. */
const MAX_AFTER_MS = 300_000

type Webhook = NonNullable<NotificationsConfig['webhook']>
/** The value of a variable; undefined: nobody has it. */
export type Lookup = (name: string) => Promise<string | undefined>

function bodyOf({ kind, uuid, pid, name, agent, intent, at, text, elapsedMs }: Notice, repeated: number): object {
  return { version: 1, event: kind, at: iso(at), text, process: { uuid, pid, name, agent, intent, ...(elapsedMs === undefined ? {} : { elapsedMs }) }, ...(repeated > 0 ? { repeated } : {}) }
}

export async function post(hook: Webhook, notice: Notice, repeated: number, lookup: Lookup): Promise<Sent> {
  const filled = await fillIn(hook, lookup)
  if ('why' in filled) return { ok: false, why: filled.why, retry: false }
  const { url, headers } = filled
  try {
    const response = await fetch(url, {
      method: 'POST', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'user-agent': 'reeve', ...headers, 'content-type': 'application/json' }, body: JSON.stringify(bodyOf(notice, repeated)),
    })
    await response.body?.cancel()
    return judged(response)
  } catch (error) {
    return { ok: false, why: `${originOf(hook.url)}: ${reasonOf(error)}`, retry: true }
  }
}

function judged({ ok, status, headers }: Response): Sent {
  if (ok) return { ok: true }
  const seconds = Number(headers.get('retry-after'))
  const retry = status === 408 || status === 425 || status === 429 || status >= 500
  return { ok: false, why: `it answered ${status}`, retry, ...(seconds > 0 ? { afterMs: Math.min(MAX_AFTER_MS, seconds * 1_000) } : {}) }
}

/** Whether anybody answers there: nothing is sent. Null: yes. */
export async function unreachable(hook: Webhook, lookup: Lookup): Promise<string | null> {
  const filled = await fillIn(hook, lookup)
  if ('why' in filled) return filled.why
  try {
    const response = await fetch(filled.url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

async function fillIn({ url, headers = {} }: Webhook, lookup: Lookup): Promise<{ readonly url: string; readonly headers: Record<string, string> } | { readonly why: string }> {
  const names = [...new Set([url, ...Object.values(headers)].flatMap(variablesIn))]
  const values = new Map(await Promise.all(names.map(async (name) => [name, await lookup(name)] as const)))
  try {
    const value = (text: string): string => expand(text, (name) => values.get(name))
    const filled = { url: value(url), headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, value(text)])) }
    return URL.canParse(filled.url) && /^https?:$/.test(new URL(filled.url).protocol) ? filled : { why: 'its URL is none when it is filled in' }
  } catch (error) {
    if (error instanceof MissingVariable) return { why: error.message }
    throw error
  }
}

/** `fetch` hides the cause. Must not repeat the URL, which may be a secret. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it cannot be reached'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1_000} s`
  const { code } = (error.cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? `it cannot be reached (${code})` : 'it cannot be reached'
}
