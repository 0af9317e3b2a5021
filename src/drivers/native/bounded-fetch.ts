// `fetch` for the provider packages, which keep an event or an error in memory until it has ended, however long it is:
// here an event has a largest size, and of an error only the beginning comes through. They also take any body for a
// stream: here an answer that is none is an error that says so. Half a character in a request is none.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-wire-errors.test.ts.
import { limitEvents } from '../event-limit.ts'
import { CallFailed } from './model.ts'

/** The largest event of a stream, in bytes: a whole answer could come as one. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024
/** How much of an error's body is read, in bytes. */
const MAX_ERROR_BYTES = 64 * 1024
/** Of an answer that is none, in characters. */
const MAX_SHOWN_CHARS = 200

export const boundedFetch: typeof fetch = async (url, init) => {
  // A key in a header of the vendor's own would go along to wherever it leads.
  const { body, ok, status, statusText, headers } = await fetch(url, { ...init, ...(typeof init?.body === 'string' ? { body: withoutHalves(init.body) } : {}), redirect: 'manual' })
  if (status >= 300 && status < 400) throw new CallFailed(`${status}: the base URL leads elsewhere, to ${headers.get('location') ?? 'nowhere'}`, { kind: 'not-found' })
  const type = headers.get('content-type') ?? ''
  if (ok && /json|html/i.test(type)) return noStream(new Response(body?.pipeThrough(beginning())), { type, headers })
  return new Response(body?.pipeThrough(ok ? limitEvents(MAX_EVENT_BYTES, tooLong) : beginning()) ?? null, { status, statusText, headers })
}

/**
 * A text that was cut may end with half a character, which JSON writes as an escape, and a provider refuses: the context would
 * be refused at each later call. What else is escaped is passed over, so that no backslash of a text is taken for the mark.
 */
function withoutHalves(json: string): string {
  if (!json.includes(String.raw`\ud`)) return json
  return json.replaceAll(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, half: string | undefined) => (half === undefined ? escape : '\ufffd'))
}

/** Some hosts send an error with status 200; a page comes from another server than was meant. */
async function noStream(response: Response, { type, headers }: { readonly type: string; readonly headers: Headers }): Promise<Response> {
  const text = await response.text()
  if (!/json/i.test(type)) throw new CallFailed(`a page came back, no answer of a model: is the base URL right? (${type})`, { kind: 'not-found' })
  const status = errorStatus(text)
  if (status === null) throw new CallFailed(`the answer came as one piece of JSON, not as a stream of events: ${text.slice(0, MAX_SHOWN_CHARS)}`)
  return new Response(text, { status, headers })
}

function errorStatus(text: string): number | null {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: unknown } | string | null }
    if (error === undefined || error === null) return null
    const code = typeof error === 'object' ? Number(error.code) : Number.NaN
    return code >= 400 && code < 600 ? code : 500
  } catch {
    return null
  }
}

function tooLong(): CallFailed {
  return new CallFailed(`an event of the answer is larger than ${MAX_EVENT_BYTES} bytes`)
}

function beginning(): TransformStream<Uint8Array, Uint8Array> {
  let left = MAX_ERROR_BYTES
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.terminate()
    },
  })
}
