// `fetch` for the provider packages, which keep an event or an error in memory until it has ended, however long it is:
// here an event has a largest size, and of an error only the beginning comes through.
// Test: test/e2e/native-models.test.ts.
import { CallFailed } from './model.ts'

/** The largest event of a stream, in bytes: a whole answer could come as one. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024
/** How much of an error's body is read, in bytes. */
const MAX_ERROR_BYTES = 64 * 1024
/** An event ends with an empty line; its line end may be torn. */
const TORN_BYTES = 3

export const boundedFetch: typeof fetch = async (url, init) => {
  const { body, ok, status, statusText, headers } = await fetch(url, init)
  return new Response(body?.pipeThrough(ok ? eventLimit() : beginning()) ?? null, { status, statusText, headers })
}

function eventLimit(): TransformStream<Uint8Array, Uint8Array> {
  let torn: Uint8Array = new Uint8Array()
  let open = 0
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([torn, chunk])
      const end = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'))
      open = end < 0 ? open + chunk.length : bytes.length - end
      torn = bytes.subarray(-TORN_BYTES)
      if (open > MAX_EVENT_BYTES) controller.error(new CallFailed(`an event of the answer is larger than ${MAX_EVENT_BYTES} bytes`))
      else controller.enqueue(chunk)
    },
  })
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
