// Access to the MCP server: every request needs the token of a living incarnation, and web pages get no access at
// all. No client of ours would send these requests.
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect as connectSocket, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { connectClient, callTool, spawnWithReeveTools } from '../../support/agents/reeve-tools-client.ts'
import type { ToolsSession } from '../../support/agents/reeve-tools-client.ts'

let daemon: LocalDaemon
let session: ToolsSession

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  session = await spawnWithReeveTools(daemon)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const LIST_TOOLS = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

interface SentRequest extends RequestOptions {
  readonly token?: string | null
  readonly type?: string | null
  readonly body?: string
}

/** Returns the status, and the text where there is one. */
async function send({
  token = session.token,
  type = 'application/json',
  body = LIST_TOOLS,
  headers,
  ...options
}: SentRequest): Promise<{ status: number; text: string }> {
  const { hostname, port, pathname } = new URL(session.url)
  const request = httpRequest({
    host: hostname,
    port,
    path: pathname,
    method: 'POST',
    ...options,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(type === null ? {} : { 'content-type': type }),
      ...(headers as Record<string, string>),
    },
  })
  const responded = once(request, 'response')
  // The server may answer and close before it has read the whole request.
  request.on('error', () => undefined)
  request.end(options.method === 'GET' ? '' : body)
  const [response] = (await responded) as [IncomingMessage]
  return { status: response.statusCode ?? 0, text: (await response.toArray().catch(() => [])).join('') }
}

test('a request with the token is accepted', async () => {
  expect(await send({})).toMatchObject({ status: 200, text: expect.stringContaining('"ps"') })
})

describe('access by token', () => {
  test.each<readonly [string, string | null, Readonly<Record<string, string>>]>([
    ['no token', null, {}],
    ['an empty token', '', {}],
    ['a guessed token', 'A'.repeat(43), {}],
    ['another scheme', null, { authorization: 'Basic QQ==' }],
    ['a cookie', null, { cookie: 'token=1' }],
  ])('is refused with %s', async (_, token, headers) => {
    expect((await send({ token, headers })).status).toBe(401)
  })

  test('is refused with the token in the address', async () => {
    expect((await send({ token: null, path: `/mcp?token=${session.token}` })).status).toBe(404)
  })

  test('is refused with a token that differs in its last character', async () => {
    const otherLastCharacter = session.token.at(-1) === 'A' ? 'B' : 'A'
    expect((await send({ token: session.token.slice(0, -1) + otherLastCharacter })).status).toBe(401)
  })

  test('is refused with the token of an ended incarnation, and the next incarnation has another', async () => {
    await daemon.signal(session.view.uuid, 'SIGKILL')
    await daemon.waitForEnd(session.view.uuid)
    expect(await send({})).toMatchObject({ status: 401, text: expect.stringContaining('ended with its process') })
    const oldToken = session.token
    session = await spawnWithReeveTools(daemon)
    expect(session.token).not.toBe(oldToken)
    expect([(await send({ token: oldToken })).status, (await send({})).status]).toEqual([401, 200])
  })

  test('is access for the process of the token, whatever a call claims', async () => {
    const other = await spawnWithReeveTools(daemon, { name: 'other' })
    const client = await connectClient(other)
    expect((await callTool(client, 'inspect', { process: 'self' })).value).toMatchObject({ name: 'other' })
    const forgedCall = await client.callTool({
      name: 'sigmask',
      arguments: { block: ['SIGINT'] },
      _meta: { uuid: session.view.uuid, 'reeve/callId': 'x' },
    })
    expect(forgedCall.isError ?? false).toBe(false)
    expect((await daemon.client.get<{ mask: string[] }>(`/v1/processes/${session.view.uuid}/signals`)).mask).toEqual([])
    await client.close()
  })
})

describe('a web page', () => {
  const readPort = (): string => new URL(session.url).port

  test.each([
    ['of another site', () => ({ origin: 'https://example.com' })],
    ['of this machine', () => ({ origin: `http://127.0.0.1:${readPort()}` })],
    ['of a file', () => ({ origin: 'null' })],
    ['by a name that leads here', () => ({ host: `rebound.example:${readPort()}` })],
    ['by an address that means all', () => ({ host: `0.0.0.0:${readPort()}` })],
  ])('%s is refused before its token is checked', async (_, headers) => {
    expect((await send({ headers: headers() })).status).toBe(403)
    expect((await send({ headers: headers(), token: null })).status).toBe(403)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', null])(
    'that sends %s without a preflight request is refused',
    async (type) => {
      expect((await send({ type })).status).toBe(415)
    },
  )

  test('gets no permission from a preflight request', async () => {
    const { status, text } = await send({
      method: 'OPTIONS',
      token: null,
      headers: { origin: 'https://example.com', 'access-control-request-method': 'POST' },
    })
    expect([status, text.includes('allow')]).toEqual([403, false])
  })
})

describe('a request', () => {
  test.each(['/', '/mcp/', '/mcp/../mcp', '/mcp/..%2f..%2fetc/passwd', '//mcp', '/v1/processes', '/MCP'])(
    'for %s finds nothing',
    async (path) => {
      expect((await send({ path })).status).toBe(404)
    },
  )

  test.each(['PUT', 'PATCH', 'TRACE'])('of %s is not supported', async (method) => {
    expect((await send({ method })).status).toBe(405)
  })

  test.each(['', '{', 'null', '[]', '"text"', '{"jsonrpc":"1.0"}', '[[[[]]]]', '\u0000\u0001'])(
    'with the body %j gets an error, and does nothing else',
    async (body) => {
      const { status } = await send({ body })
      expect([status >= 400 && status < 500, (await send({})).status]).toEqual([true, 200])
    },
  )

  test('with a body over the limit is cut off', async () => {
    expect((await send({ body: 'x'.repeat(5 * 1024 * 1024) })).status).toBe(413)
    expect((await send({})).status).toBe(200)
  })

  test('nested deeper than the stack gets an error', async () => {
    const deepBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ps","arguments":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}`
    const { status, text } = await send({ body: deepBody })
    expect(status >= 400 || text.includes('"isError":true') || text.includes('"error"')).toBe(true)
    expect((await send({})).status).toBe(200)
  })
})

test('waiting calls are limited, and those of other processes continue', async () => {
  await daemon.spawnShell('sleep 600', { name: 'sleeper' })
  const [busyClient, other] = [await connectClient(session), await connectClient(await spawnWithReeveTools(daemon, { name: 'idle' }))]
  const disconnect = new AbortController()
  const waitingCalls = Array.from({ length: 64 }, () =>
    busyClient.callTool(
      { name: 'wait', arguments: { processes: ['sleeper'], timeout_s: 240 } },
      { signal: disconnect.signal, onprogress: () => undefined },
    ),
  )
  const isRefused = async (): Promise<boolean> => (await callTool(busyClient, 'ps')).text.startsWith('RESOURCE_EXHAUSTED: 64 of your calls')
  await expect.poll(isRefused, { timeout: 60_000 }).toBe(true)
  expect((await callTool(other, 'ps')).isError).toBe(false)
  disconnect.abort()
  await Promise.allSettled(waitingCalls)
  await expect.poll(isRefused, { timeout: 60_000 }).toBe(false)
  await Promise.all([busyClient.close(), other.close()])
  await daemon.signal('sleeper', 'SIGKILL')
})

test('the server listens only on the loopback', async () => {
  const addresses = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one !== undefined && !one.internal && one.family === 'IPv4')
  const { port } = new URL(session.url)
  for (const address of addresses) {
    const socket = connectSocket({ host: address?.address ?? '', port: Number(port) })
    await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    socket.destroy()
  }
  const loopbackSocket = connectSocket({ host: '127.0.0.1', port: Number(port) })
  await once(loopbackSocket, 'connect')
  expect((loopbackSocket.address() as AddressInfo).address).toBe('127.0.0.1')
  loopbackSocket.destroy()
})
