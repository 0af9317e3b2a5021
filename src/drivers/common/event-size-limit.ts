// Limits the size of HTTP bodies that servers send: of each event in an event stream, or of a whole body.
// An event ends with an empty line. The line ends may be LF or CRLF, and may be split between two chunks.
// Test: test/tables/drivers/common/event-size-limit.test.ts.

/** This many bytes of the previous chunk are searched again, because the end of an event may be split between two chunks. */
const OVERLAP_BYTES = 3

/**
 * Passes all bytes through. Fails the stream with `tooLong` after more than `maxBytes` since the end of the last event. An event that
 * begins and ends within one chunk is not limited: its bytes are in memory already.
 */
export function limitEvents(maxBytes: number, tooLong: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let previousTail: Uint8Array = new Uint8Array()
  let openBytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([previousTail, chunk])
      const end = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'))
      openBytes = end < 0 ? openBytes + chunk.length : bytes.length - end
      previousTail = bytes.subarray(-OVERLAP_BYTES)
      if (openBytes > maxBytes) controller.error(tooLong())
      else controller.enqueue(chunk)
    },
  })
}

/**
 * Passes all bytes through. Fails the stream with `tooLong` after more than `maxBytes` in total. For a body that is not an event stream.
 */
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
