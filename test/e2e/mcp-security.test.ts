// Who is kept out of the MCP server, and by what: nobody gets in without the token of an incarnation that lives, and no web page does
// at all. Each request here is one that no client of ours would send.
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect as connectSocket, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../support/local-daemon.ts'
import { connect, say, seated } from '../support/own-tools.ts'
import type { Seated } from '../support/own-tools.ts'

let daemon: LocalDaemon
let seat: Seated

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  seat = await seated(daemon)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

interface Sent extends RequestOptions {
  readonly token?: string | null
  readonly type?: string | null
  readonly body?: string
}

/** Gives the status, and the text where there is one. */
async function send({ token = seat.token, type = 'application/json', body = LIST, headers, ...options }: Sent): Promise<{ status: number; text: string }> {
  const { hostname, port, pathname } = new URL(seat.url)
  const request = httpRequest({
    host: hostname, port, path: pathname, method: 'POST', ...options,
    headers: { accept: 'application/json, text/event-stream', ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(type === null ? {} : { 'content-type': type }), ...(headers as Record<string, string>) },
  })
  const answered = once(request, 'response')
  // It may be answered, and closed, before all of it is sent.
  request.on('error', () => undefined)
  request.end(options.method === 'GET' ? '' : body)
  const [response] = (await answered) as [IncomingMessage]
  return { status: response.statusCode ?? 0, text: (await response.toArray().catch(() => [])).join('') }
}

test('who has the token is let in', async () => {
  expect(await send({})).toMatchObject({ status: 200, text: expect.stringContaining('"ps"') })
})

describe('a token', () => {
  test.each([
    ['none', null],
    ['empty', ''],
    ['guessed', 'A'.repeat(43)],
    ['another scheme', null, { authorization: 'Basic QQ==' } as Record<string, string>],
    ['a cookie', null, { cookie: 'token=1' } as Record<string, string>],
  ])('%s', async (_, token, headers = {}) => {
    expect((await send({ token, headers })).status).toBe(401)
  })

  test('in the address is none', async () => {
    expect((await send({ token: null, path: `/mcp?token=${seat.token}` })).status).toBe(404)
  })

  test('almost right is wrong', async () => {
    const last = seat.token.at(-1) === 'A' ? 'B' : 'A'
    expect((await send({ token: seat.token.slice(0, -1) + last })).status).toBe(401)
  })

  test('of an incarnation that has ended is gone, and the next one has another', async () => {
    await daemon.signal(seat.view.uuid, 'SIGKILL')
    await daemon.ended(seat.view.uuid)
    expect(await send({})).toMatchObject({ status: 401, text: expect.stringContaining('gone with its process') })
    const old = seat.token
    seat = await seated(daemon)
    expect(seat.token).not.toBe(old)
    expect([(await send({ token: old })).status, (await send({})).status]).toEqual([401, 200])
  })

  test('is who it was given to, whatever a call says of itself', async () => {
    const other = await seated(daemon, { name: 'other' })
    const client = await connect(other)
    expect((await say(client, 'inspect', { process: 'self' })).value).toMatchObject({ name: 'other' })
    const tried = await client.callTool({ name: 'sigmask', arguments: { block: ['SIGINT'] }, _meta: { uuid: seat.view.uuid, 'reeve/callId': 'x' } })
    expect(tried.isError ?? false).toBe(false)
    expect((await daemon.client.get<{ mask: string[] }>(`/v1/processes/${seat.view.uuid}/signals`)).mask).toEqual([])
    await client.close()
  })
})

describe('a web page', () => {
  const port = (): string => new URL(seat.url).port

  test.each([
    ['of another site', () => ({ origin: 'https://example.com' })],
    ['of this machine', () => ({ origin: `http://127.0.0.1:${port()}` })],
    ['of a file', () => ({ origin: 'null' })],
    ['by a name that leads here', () => ({ host: `rebound.example:${port()}` })],
    ['by an address that means all', () => ({ host: `0.0.0.0:${port()}` })],
  ])('%s is refused before the token is looked at', async (_, headers) => {
    expect((await send({ headers: headers() })).status).toBe(403)
    expect((await send({ headers: headers(), token: null })).status).toBe(403)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', null])('that sends %s without asking first is refused', async (type) => {
    expect((await send({ type })).status).toBe(415)
  })

  test('that asks first gets no leave', async () => {
    const { status, text } = await send({ method: 'OPTIONS', token: null, headers: { origin: 'https://example.com', 'access-control-request-method': 'POST' } })
    expect([status, text.includes('allow')]).toEqual([403, false])
  })
})

describe('a request', () => {
  test.each(['/', '/mcp/', '/mcp/../mcp', '/mcp/..%2f..%2fetc/passwd', '//mcp', '/v1/processes', '/MCP'])('for %s finds nothing', async (path) => {
    expect((await send({ path })).status).toBe(404)
  })

  test.each(['PUT', 'PATCH', 'TRACE'])('of %s is none of ours', async (method) => {
    expect((await send({ method })).status).toBe(405)
  })

  test.each(['', '{', 'null', '[]', '"text"', '{"jsonrpc":"1.0"}', '[[[[]]]]', '\u0000\u0001'])('of %j is an error, and nothing else', async (body) => {
    const { status } = await send({ body })
    expect([status >= 400 && status < 500, (await send({})).status]).toEqual([true, 200])
  })

  test('that does not end is cut off', async () => {
    expect((await send({ body: 'x'.repeat(5 * 1024 * 1024) })).status).toBe(413)
    expect((await send({})).status).toBe(200)
  })

  test('that is deeper than a stack is an error', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ps","arguments":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}`
    const { status, text } = await send({ body: deep })
    expect(status >= 400 || text.includes('"isError":true') || text.includes('"error"')).toBe(true)
    expect((await send({})).status).toBe(200)
  })
})

test('calls that wait are bounded, and those of others go on', async () => {
  await daemon.sh('sleep 600', { name: 'sleeper' })
  const [busy, other] = [await connect(seat), await connect(await seated(daemon, { name: 'idle' }))]
  const gone = new AbortController()
  const waits = Array.from({ length: 64 }, () => busy.callTool({ name: 'wait', arguments: { processes: ['sleeper'], timeout_s: 240 } }, { signal: gone.signal, onprogress: () => undefined }))
  const refused = async (): Promise<boolean> => (await say(busy, 'ps')).text.startsWith('RESOURCE_EXHAUSTED: 64 calls of yours')
  await expect.poll(refused, { timeout: 20_000 }).toBe(true)
  expect((await say(other, 'ps')).isError).toBe(false)
  gone.abort()
  await Promise.allSettled(waits)
  await expect.poll(refused, { timeout: 20_000 }).toBe(false)
  await Promise.all([busy.close(), other.close()])
  await daemon.signal('sleeper', 'SIGKILL')
})

test('it listens on the loopback alone', async () => {
  const addresses = Object.values(networkInterfaces()).flat().filter((one) => one !== undefined && !one.internal && one.family === 'IPv4')
  const { port } = new URL(seat.url)
  for (const address of addresses) {
    const socket = connectSocket({ host: address?.address ?? '', port: Number(port) })
    await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    socket.destroy()
  }
  const here = connectSocket({ host: '127.0.0.1', port: Number(port) })
  await once(here, 'connect')
  expect((here.address() as AddressInfo).address).toBe('127.0.0.1')
  here.destroy()
})
