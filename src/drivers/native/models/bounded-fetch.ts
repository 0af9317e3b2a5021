// The `fetch` that the provider packages use. The packages keep a whole event or error in memory, and treat any body as a
// stream. This `fetch` limits the size of an event, and reads only the beginning of an error. A successful response that is not a
// stream becomes an error. Unpaired surrogates in requests are replaced.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/wire-errors.test.ts.
import { limitEvents } from '../../common/event-size-limit.ts'
import { CallFailed } from './model.ts'

/** The largest event of a stream, in bytes. A server may send a whole answer as one event. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024
/** The longest part of an error's body that is read, in bytes. */
const MAX_ERROR_BYTES = 64 * 1024
/** The longest part of an unexpected response that an error message quotes, in characters. */
const MAX_QUOTED_CHARS = 200

export const boundedFetch: typeof fetch = async (url, init) => {
  // Redirects are not followed, because a key in a vendor's own header would be sent to the new address.
  const { body, ok, status, statusText, headers } = await fetch(url, {
    ...init,
    ...(typeof init?.body === 'string' ? { body: replaceUnpairedSurrogates(init.body) } : {}),
    redirect: 'manual',
  })
  if (status >= 300 && status < 400)
    throw new CallFailed(
      `${status}: the base URL redirects to ${headers.get('location') ?? 'an unknown address'}: configure the final address`,
      { kind: 'not-found' },
    )
  const type = headers.get('content-type') ?? ''
  if (ok && /json|html/i.test(type)) return readNonStream(new Response(body?.pipeThrough(truncateError())), { type, headers })
  return new Response(body?.pipeThrough(ok ? limitEvents(MAX_EVENT_BYTES, eventTooLong) : truncateError()) ?? null, {
    status,
    statusText,
    headers,
  })
}

/**
 * Replaces unpaired surrogates. A text that was cut may end with half a character, which JSON writes as an escape. Providers would refuse
 * every call whose context contains such a text. Other escapes are matched as a whole, because `\\ud800` is an escaped backslash.
 */
function replaceUnpairedSurrogates(json: string): string {
  if (!json.includes(String.raw`\ud`)) return json
  return json.replaceAll(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, surrogate: string | undefined) =>
    surrogate === undefined ? escape : '\ufffd',
  )
}

/** Reads a successful response that is not a stream. Some hosts send an error with status 200; a wrong address often sends a web page. */
async function readNonStream(
  response: Response,
  { type, headers }: { readonly type: string; readonly headers: Headers },
): Promise<Response> {
  const text = await response.text()
  if (!/json/i.test(type))
    throw new CallFailed(`the server sent a web page instead of an answer: check the base URL (${type})`, { kind: 'not-found' })
  const status = errorStatus(text)
  if (status === null)
    throw new CallFailed(`the server sent one JSON document instead of an event stream: ${text.slice(0, MAX_QUOTED_CHARS)}`)
  return new Response(text, { status, headers })
}

/** The status of an error in a JSON text; null if the text contains no error. */
function errorStatus(text: string): number | null {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: unknown } | string | null }
    if (error === undefined || error === null) return null
    const code = typeof error === 'object' ? Number(error.code) : Number.NaN
    return code >= 400 && code < 600 ? code : 500
  } catch {
    // A text that is not JSON contains no error.
    return null
  }
}

function eventTooLong(): CallFailed {
  return new CallFailed(`an event of the answer is larger than ${MAX_EVENT_BYTES} bytes`)
}

function truncateError(): TransformStream<Uint8Array, Uint8Array> {
  let bytesLeft = MAX_ERROR_BYTES
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, bytesLeft))
      bytesLeft -= chunk.length
      if (bytesLeft <= 0) controller.terminate()
    },
  })
}
