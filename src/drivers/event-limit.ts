// A limit for what comes over HTTP from a server that is not ours: of a stream of events each event counts by itself, of
// anything else the whole. An event ends with an empty line, whose line ends may be LF or CRLF, and torn between two chunks.
// Test: test/tables/event-limit.test.ts.

/** Bytes of the end of an event that may lie in the chunk before. */
const TORN_BYTES = 3

/** Passes all through, and breaks the stream with `tooLong` when more than `maxBytes` have come since the last event's end. */
export function limitEvents(maxBytes: number, tooLong: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let torn: Uint8Array = new Uint8Array()
  let open = 0
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([torn, chunk])
      const end = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'))
      open = end < 0 ? open + chunk.length : bytes.length - end
      torn = bytes.subarray(-TORN_BYTES)
      if (open > maxBytes) controller.error(tooLong())
      else controller.enqueue(chunk)
    },
  })
}

/** The same for a body that is one piece. */
export function limitBytes(maxBytes: number, tooLong: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > maxBytes) controller.error(tooLong())
      else controller.enqueue(chunk)
    },
  })
}
