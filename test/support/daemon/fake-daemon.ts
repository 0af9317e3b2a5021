// A fake daemon with scripted responses on a real Unix socket. Tests of the command line use it to check arguments, output and exit
// codes.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ErrorBody, EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { BUILD_HEADER } from '../../../src/api/build.ts'
import { BUNDLE_ID } from './build-id.ts'
import { ERRORS, type ErrorCode } from '../../../src/kernel/model/errors.ts'

export interface FakeRequest {
  readonly route: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  readonly headers: IncomingMessage['headers']
}

/** A response: `json`, a stream of `events`, or what `stream` writes. After the events the stream ends, the connection breaks, or the stream stays open. */
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

/** Serves `METHOD /path` (without query) under `home`, until it is disposed. */
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
      sendAnswer(response, routes[route]?.(received) ?? refusedAnswer('NOT_FOUND', `no process at ${route}`))
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

/** Makes the view of a process; its default status is `working`. */
export function processView(changes: Partial<ProcessView> = {}): ProcessView {
  const at = '2026-01-02T03:04:05.000+00:00'
  return {
    uuid: '01960000-0000-7000-8000-0000deadbeef',
    pid: 5,
    ppid: 0,
    parentUuid: null,
    name: 'docs',
    agent: 'default',
    driver: 'native',
    format: null,
    state: 'running',
    status: 'working',
    activity: 'working',
    holds: [],
    asks: [],
    resumeAt: null,
    liveness: null,
    intent: 'write the manual',
    about: 'write the manual',
    cwd: '/srv',
    directory: '/w',
    worktree: null,
    host: 'box',
    containment: null,
    gateway: null,
    createdAt: at,
    startedAt: at,
    pausedAt: null,
    exitedAt: null,
    elapsedMs: 4000,
    exit: null,
    stopping: null,
    signals: { mask: [], pending: [], handlers: {}, recent: [] },
    step: 2,
    turn: 1,
    interactive: false,
    input: false,
    originUuid: null,
    originStep: null,
    resumedFromStep: null,
    checkpointStep: null,
    model: 'anthropic/claude',
    fallback: [],
    effort: null,
    sessionId: null,
    role: null,
    phase: null,
    taskId: null,
    queueCount: 0,
    retiredAt: null,
    updatedAt: at,
    lastActivityAt: at,
    usage: {
      steps: 2,
      turns: 1,
      messagesSent: 0,
      toolCalls: 1,
      inputTokens: 1200,
      outputTokens: 300,
      cacheReadTokens: 800,
      cacheWriteTokens: 0,
      contextTokens: 0,
      costUsd: 0.0123,
      unpriced: false,
      estimated: false,
      contextWindow: null,
      turnCostUsd: null,
      cpuTimeMs: null,
      rssBytes: null,
      peakRssBytes: null,
      outputBytes: null,
      updatedAt: at,
    },
    subtreeUsage: {
      steps: 2,
      turns: 1,
      messagesSent: 0,
      toolCalls: 1,
      inputTokens: 1200,
      outputTokens: 300,
      cacheReadTokens: 800,
      cacheWriteTokens: 0,
      costUsd: 0.0123,
      cpuTimeMs: 0,
      outputBytes: 0,
      rssBytes: 0,
      unpriced: false,
      estimated: false,
      openCalls: 0,
      reservedTokens: 0,
      reservedUsd: 0,
    },
    limitUse: [],
    metering: 'call',
    limits: {},
    memoryLimit: null,
    restart: null,
    pendingRestart: null,
    childId: null,
    supervisor: null,
    instructions: [],
    skills: [],
    capabilities: {
      tools: null,
      deny: [],
      mcp: [],
      calls: null,
      paths: { read: null, write: null },
      network: 'on',
      signals: 'subtree',
      spawns: null,
      enforced: { tools: 'yes', paths: 'yes', network: 'yes' },
      notes: [],
    },
    children: [],
    pinned: false,
    removeAtEnd: false,
    labels: {},
    since: at,
    why: null,
    doing: null,
    note: null,
    lastText: null,
    ...changes,
  }
}

/** Makes the view of an ended process. */
export function endedView(code: number, changes: Partial<ProcessView> = {}): ProcessView {
  const status = code === 0 ? 'completed' : 'failed'
  return processView({ state: 'dead', status, activity: null, exit: { code, reason: code === 0 ? 'completed' : 'it broke' }, ...changes })
}

/** Makes the event that the daemon sends for a fact. */
export function factEvent(seq: number, fact: { type: string; [field: string]: unknown }, changes: Partial<EventView> = {}): EventView {
  return { ...fact, version: 1, seq, uuid: processView().uuid, pid: 5, at: '2026-01-02T03:04:05.000+00:00', fact: fact.type, ...changes }
}
