// MCP servers of a native agent over HTTP: real servers of both protocol revisions. Sessions that end or are lost, headers,
// cancellation, and addresses without such a server.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { McpTransport } from '../../../src/kernel/model/mcp-start.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { scriptOfCalls, EVERYTHING_SERVER, holdUntilListed, newerServerArgv, runWithServers } from '../../support/agents/native-with-mcp.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'

let harness: NativeHarness
const children: ChildProcess[] = []
const servers: Server[] = []

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  for (const child of children.splice(0)) await endServer(child)
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

interface StartedServer {
  readonly child: ChildProcess
  /** its output so far */
  output(): string
}

/** Starts a server as a user would, and waits until it prints that it listens. */
async function startServer(argv: readonly string[], env: Readonly<Record<string, string>>, marker: string): Promise<StartedServer> {
  const [program = '', ...args] = argv
  const child = spawn(program, [...args, harness.token], { env: testEnv(harness.dir, env), stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  await waitUntil(() => text.includes(marker), marker)
  return { child, output: () => text }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts an HTTP server with this request handler. */
async function serveWith(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<McpTransport> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return httpTransport(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
}

function httpTransport(url: string, headers: Readonly<Record<string, string>> = {}): McpTransport {
  return { kind: 'http', url, headers }
}

test('a real server of the 2025-11-25 revision answers calls, and its session is closed at the end', async () => {
  const port = await findFreePort()
  const every = await startServer([process.execPath, EVERYTHING_SERVER, 'streamableHttp'], { PORT: String(port) }, 'listening on port')
  const { kernel, runTurn, serverState, agent } = await runWithServers(harness, {
    servers: { every: httpTransport(`http://127.0.0.1:${port}/mcp`) },
    script: scriptOfCalls(['mcp__every__echo', { message: 'hello' }], ['mcp__every__get-tiny-image']),
  })
  await runTurn('go')
  expect(serverState('every')).toMatchObject({ state: 'up', detail: expect.stringMatching(/\(2025-11-25\)$/) })
  expect(kernel.factsOf('tool.finished')).toMatchObject([
    { outcome: 'ok', content: 'Echo: hello' },
    { outcome: 'ok', images: [{ mediaType: 'image/png' }] },
  ])
  expect(every.output()).not.toContain('session termination')
  await agent[Symbol.asyncDispose]()
  await waitUntil(() => every.output().includes('Received session termination request'), 'the session is closed')
})

test('a session that a server has forgotten is restarted by the next call', async () => {
  const port = await findFreePort()
  const startOnSamePort = (): Promise<StartedServer> =>
    startServer([process.execPath, EVERYTHING_SERVER, 'streamableHttp'], { PORT: String(port) }, 'listening on port')
  const first = await startOnSamePort()
  const echoCall = (message: string): readonly [string, object] => ['mcp__every__echo', { message }]
  const { kernel, runTurn } = await runWithServers(harness, {
    servers: { every: httpTransport(`http://127.0.0.1:${port}/mcp`) },
    script: scriptOfCalls(echoCall('one'), echoCall('two'), echoCall('three')),
  })
  kernel.onFact = (body) => {
    if (body.type === 'tool.finished' && body.content === 'Echo: one') kernel.hold()
  }
  const turnEnded = runTurn('go')
  await kernel.waitFor(() => kernel.pauseWaitCount > 0, 'it waits after the first call')
  await endServer(first.child)
  await startOnSamePort()
  kernel.onFact = () => undefined
  kernel.release()
  await turnEnded
  expect(kernel.factsOf('tool.finished').map(({ content }) => content)).toEqual(['Echo: one', 'Echo: two', 'Echo: three'])
})

test('a call that a server refuses with 400 is not repeated', async () => {
  let requestCount = 0
  const reach = await serveWith(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { readonly id?: number; readonly method?: string }
    const reply = (result: object): void => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    if (method === 'initialize')
      reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'strict', version: '1' } })
    else if (method === 'tools/list') reply({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] })
    else if (method === 'tools/call') {
      requestCount += 1
      response.writeHead(400, { 'content-type': 'text/plain' }).end('the amount is too large')
    } else response.writeHead(id === undefined ? 202 : 400).end()
  })
  const { kernel, runTurn } = await runWithServers(harness, { servers: { strict: reach }, script: scriptOfCalls(['mcp__strict__pay']) })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'error' }])
  expect(requestCount).toBe(1)
})

test('a server of the 2026-07-28 revision gets its headers, offers a growing list, and learns of a cancelled call', async () => {
  const log = `${harness.dir}/new.log`
  const runningServer = await startServer(newerServerArgv('http', log), {}, 'at http')
  const url = /at (\S+)/.exec(runningServer.output())?.[1] ?? ''
  const { kernel, send, agent, readLogLines, serverState } = await runWithServers(harness, {
    servers: { new: httpTransport(url, { 'X-Key': 'opensesame' }) },
    script: scriptOfCalls(['mcp__new__more'], ['mcp__new__extra-1'], ['mcp__new__slow']),
  })
  holdUntilListed(kernel, 'mcp__new__extra-1')
  await send('go')
  await kernel.waitFor(
    () => kernel.liveOutputs.some((live) => live.type === 'tool-output' && live.text.includes('step 3')),
    'the call goes on',
  )
  expect(serverState('new')).toMatchObject({ state: 'up', detail: 'modern 2 (2026-07-28)' })
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ content: 'more' }, { content: 'extra' }])
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('tool.finished').at(-1)).toMatchObject({ outcome: 'interrupted' })
  await waitUntil(() => readLogLines('new').includes('slow is cancelled'), 'the server knows')
  expect(readLogLines('new').filter((line) => line.startsWith('POST ') && !line.endsWith(' opensesame'))).toEqual([])
})

test('a server that dies during a call ends the call, not the agent', async () => {
  const runningServer = await startServer(newerServerArgv('http', `${harness.dir}/new.log`), {}, 'at http')
  const url = /at (\S+)/.exec(runningServer.output())?.[1] ?? ''
  const { kernel, send } = await runWithServers(harness, {
    servers: { new: httpTransport(url) },
    script: scriptOfCalls(['mcp__new__slow'], ['mcp__new__echo', { message: 'x' }]),
  })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.some((live) => live.type === 'tool-output'), 'the call has begun')
  await endServer(runningServer.child)
  await kernel.waitForTurnEnd()
  // A system that is ending the server may still accept the next connection, and then reset it.
  expect(kernel.factsOf('tool.finished')).toMatchObject([
    { outcome: 'error', content: 'the connection ended before the answer' },
    { outcome: 'error', content: expect.stringMatching(/ECONNREFUSED|ECONNRESET/) },
  ])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok' }])
})

const sendJson = (response: ServerResponse, value: object): void => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

test.each<[string, (request: IncomingMessage, response: ServerResponse) => void, string | RegExp]>([
  [
    'an old server with SSE alone',
    (request, response) => {
      if (request.method === 'POST') response.writeHead(405).end('Method Not Allowed')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n')
    },
    'it answers 405: the address is wrong, or the server has only the older SSE transport, which reeve does not support',
  ],
  [
    'a server that requires a key',
    (_, response) => void response.writeHead(401).end(),
    'it answers 401: the key in its headers is missing or wrong (OAuth is not supported)',
  ],
  ['a broken server', (_, response) => void response.writeHead(500).end('oops'), 'it answers 500'],
  ['a web page', (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), /content type: text\/html/],
  [
    'a redirection',
    (_, response) => void response.writeHead(307, { location: 'http://127.0.0.2:9/mcp' }).end(),
    /it answers 307 and redirects, which reeve does not follow/,
  ],
  ['a silent server', () => undefined, 'it was not ready within 1000 ms'],
  [
    'a server whose answer never ends',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const addTool = (): void => {
        if (!response.destroyed) response.write(`"${'x'.repeat(1024 * 1024)}`, addTool)
      }
      addTool()
    },
    /longer than|aborted|terminated/,
  ],
  [
    'a server without tools',
    (request, response) => {
      const chunks: Buffer[] = []
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const { id, method } = (chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}) as {
            readonly id?: number
            readonly method?: string
          }
          if (method === 'initialize')
            sendJson(response, {
              jsonrpc: '2.0',
              id,
              result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'bare', version: '0' } },
            })
          else if (method === 'server/discover') sendJson(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } })
          else response.writeHead(id === undefined && method !== undefined ? 202 : 405).end()
        })
    },
    'bare 0 (2025-06-18)',
  ],
])('%s is shown with its detail, and the turn completes', async (_, answer, detail) => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { bad: await serveWith(answer) },
    settings: { startMs: detail === 'it was not ready within 1000 ms' ? 1_000 : 25_000 },
    script: '- text: done',
  })
  await runTurn('go')
  expect(serverState('bad')?.detail).toEqual(typeof detail === 'string' ? detail : expect.stringMatching(detail))
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
})

test('a server is reported as failed if nothing listens at its address', async () => {
  const { runTurn, serverState } = await runWithServers(harness, {
    servers: { bad: httpTransport(`http://127.0.0.1:${await findFreePort()}/`) },
    script: '- text: done',
  })
  await runTurn('go')
  expect(serverState('bad')).toMatchObject({ state: 'failed', detail: expect.stringMatching(/ECONNREFUSED/) })
})
