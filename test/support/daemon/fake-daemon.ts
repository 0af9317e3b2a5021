// A fake daemon with scripted responses on a real Unix socket. Tests of the client and of the command line use it to
// check requests, output and exit codes.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ErrorBody, EventView } from '../../../src/api/views/daemon.ts'
import { BUILD_HEADER } from '../../../src/api/build.ts'
import { BUNDLE_ID } from './build-id.ts'
import { ERRORS, type ErrorCode } from '../../../src/kernel/model/errors.ts'

export interface FakeRequest {
  readonly route: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  readonly headers: IncomingMessage['headers']
}

/**
 * A response: `json`, a stream of `events`, or what `stream` writes. After the events the stream ends, the connection breaks, or the stream
 * stays open.
 */
export type FakeAnswer =
  | { readonly json: object; readonly status?: number }
  | { readonly stream: (response: ServerResponse) => void }
  | { readonly events: readonly EventView[]; readonly then: 'end' | 'break' | 'open' }

export type FakeRoutes = Readonly<Record<string, (request: FakeRequest) => FakeAnswer>>

export interface FakeDaemon extends AsyncDisposable {
  readonly requests: readonly FakeRequest[]
  /** Returns the number of open connections. */
  countConnections(): Promise<number>
}

/** Serves the routes, named `METHOD /path` without the query, under `home` until it is disposed. Any other route is `NOT_FOUND`. */
export async function startFakeDaemon(home: string, routes: FakeRoutes): Promise<FakeDaemon> {
  const requests: FakeRequest[] = []
  const server = createServer((request, response) => {
    if (BUNDLE_ID) response.setHeader(BUILD_HEADER, BUNDLE_ID)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://reeve')
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>
      const route = `${request.method} ${decodeURIComponent(url.pathname)}`
      const received = { route, query: url.searchParams, body, headers: request.headers }
      requests.push(received)
      sendAnswer(response, routes[route]?.(received) ?? refusedAnswer('NOT_FOUND', `the fake daemon has no route ${route}`))
    })
  })
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(join(home, 'reeve.sock'), resolve))
  return {
    requests,
    countConnections: promisify(server.getConnections.bind(server)),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function refusedAnswer(code: ErrorCode, message: string): FakeAnswer {
  return { status: ERRORS[code].http, json: { version: 1, error: { code, message, hint: ERRORS[code].hint } } satisfies ErrorBody }
}

function sendAnswer(response: ServerResponse, fake: FakeAnswer): void {
  if ('json' in fake) {
    response.writeHead(fake.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(fake.json))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if ('stream' in fake) return fake.stream(response)
  response.write(': hello\n\n')
  for (const event of fake.events) response.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  if (fake.then === 'end') response.end()
  // The events must be sent before the connection breaks.
  if (fake.then === 'break') response.write(': bye\n\n', () => response.destroy())
}
