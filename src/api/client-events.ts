// Server-sent events as they come off the wire: bytes in, one JSON value per event out.
// Splits on LF only, and decodes whole lines, so that a character cut by a chunk is not damaged. Bounded line length.
// Test: test/tables/cli-client.test.ts.

/** The longest event: a tool's result of 8 MiB, with what JSON adds to it. */
export const EVENT_BYTES = 16 * 1024 * 1024

/** The `data` of each event, in order. Comments, ids and names are skipped: the data has its own `seq` and `type`. */
export async function* eventData(body: AsyncIterable<Buffer>, maxBytes = EVENT_BYTES): AsyncGenerator<string, void> {
  let data: string[] = []
  for await (const line of lines(body, maxBytes)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5))
    }
  }
}

async function* lines(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string, void> {
  let held: Buffer[] = []
  let heldBytes = 0
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      held.push(chunk.subarray(start, end))
      yield Buffer.concat(held).toString('utf8').replace(/\r$/, '')
      held = []
      heldBytes = 0
      start = end + 1
    }
    held.push(chunk.subarray(start))
    heldBytes += chunk.length - start
    if (heldBytes > maxBytes) throw new Error(`an event is longer than ${maxBytes} bytes`)
  }
}
