// Compresses what a session of the page reads: JSON and streams. Answers on the Unix socket are not compressed, because no network slows
// them down. Answers without a session are not compressed either, because they may contain the token of a new session. Each write of a
// stream is compressed separately, so that its size does not depend on earlier writes. But its size depends on all events or rows in the
// write. docs/trust/security.md explains why no site can guess a secret from the sizes. Test: test/e2e/web/access/listener.test.ts.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { constants, createGzip, gzip as gzipWithCallback } from 'node:zlib'
import { promisify } from 'node:util'
import { passOf } from '../web/pass.ts'

const gzip = promisify(gzipWithCallback)
/** Shorter answers fit into one packet anyway. */
const MIN_BYTES = 1_024
/** The fastest level: JSON of reeve shrinks to a tenth with it. */
const LEVEL = 1
const HEADERS = { 'content-encoding': 'gzip', vary: 'accept-encoding' } as const

/** Whether the sender of a request is a session of the page that reads gzip. */
function acceptsGzip(request: IncomingMessage): boolean {
  if (!passOf(request)?.session) return false
  return String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?$/i.test(coding))
}

/** The compressed body of an answer with its headers; null for an answer that stays as it is. */
export async function compressAnswer(
  request: IncomingMessage,
  payload: unknown,
): Promise<{ readonly body: Buffer; readonly headers: typeof HEADERS } | null> {
  if (!acceptsGzip(request) || typeof payload !== 'string' || payload.length < MIN_BYTES) return null
  return { body: await gzip(payload, { level: LEVEL }), headers: HEADERS }
}

/** Begins a stream of events. Returns what they are written to: the response, or a compressor in front of it. */
export function beginStream(response: ServerResponse): Writable {
  const isCompressed = acceptsGzip(response.req)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...(isCompressed ? HEADERS : {}) })
  response.flushHeaders()
  if (!isCompressed) return response
  const compressor = createGzip({ level: LEVEL, flush: constants.Z_FULL_FLUSH })
  response.once('close', () => compressor.destroy())
  compressor.pipe(response)
  return compressor
}
