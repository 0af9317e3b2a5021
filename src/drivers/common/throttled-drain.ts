// Reads a stream to its end at a limited rate. So a flood of output slows down the program, but not the daemon.
// Test: test/processes/mcp/hostile-servers.test.ts.
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** After this many bytes, reading stops for `DELAY_MS`. */
const BURST_BYTES = 256 * 1024
const DELAY_MS = 100

/** Reads the stream as UTF-8 text. */
export function drainSlowly(stream: Readable, onText: (text: string) => void): void {
  const decoder = new StringDecoder('utf8')
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    onText(decoder.write(chunk))
    bytes += chunk.length
    if (bytes < BURST_BYTES) return
    bytes = 0
    stream.pause()
    setTimeout(() => stream.resume(), DELAY_MS).unref()
  })
}
