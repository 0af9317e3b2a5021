// Reads a stream to its end, and no faster than is good for everybody else: a program that shouts waits for us.
// Test: test/processes/mcp-hostile.test.ts.
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const BURST_BYTES = 256 * 1024
const REST_MS = 100

export function hearSlowly(stream: Readable, heard: (text: string) => void): void {
  const decoder = new StringDecoder('utf8')
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    heard(decoder.write(chunk))
    bytes += chunk.length
    if (bytes < BURST_BYTES) return
    bytes = 0
    stream.pause()
    setTimeout(() => stream.resume(), REST_MS).unref()
  })
}
