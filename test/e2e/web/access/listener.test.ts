// The listener of the page: it is off until asked, on loopback alone, has its headers, and closes by itself or when asked. Links work once.
import { createHash, createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { get, type IncomingMessage as RawReply } from 'node:http'
import { brotliDecompressSync, createGunzip, gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebView } from '../../../../src/api/views/web.ts'
import { helloText } from '../../../../src/api/web-hello.ts'
import { ManualClock } from '../../../support/clock.ts'
import { LocalDaemon } from '../../../support/daemon/local-daemon.ts'
import { ROOT } from '../../../support/env.ts'
import { sendRawHead } from '../../../support/web/raw-requests.ts'
import { WebAccess } from '../../../support/web/web-access.ts'

const HOUR_MS = 3_600_000

let daemon: LocalDaemon
let clock: ManualClock

beforeEach(async () => {
  clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const view = (): Promise<WebView> => daemon.client.get('/v1/web')

describe('the port', () => {
  test('is closed until a link is made, and again after a stop', async () => {
    expect(await view()).toEqual({ version: 1, url: null, proxyHosts: [], tls: null, sessions: [], reusedLinks: 0 })
    const web = await WebAccess.open(daemon)
    const { token } = await web.startSession()
    expect(await web.request(token, 'GET', '/v1/daemon')).toMatchObject({ status: 200 })
    expect(await daemon.client.post('/v1/web/stop', {})).toEqual({ version: 1, wasOpen: true })
    await expect(web.request(token, 'GET', '/v1/daemon')).rejects.toThrow('fetch failed')
    expect(await daemon.client.post('/v1/web/stop', {})).toEqual({ version: 1, wasOpen: false })
    const again = await WebAccess.open(daemon)
    expect(await again.request(token, 'GET', '/v1/daemon'), 'a token from before the restart').toMatchObject({ status: 403 })
  })

  test('closes 12 hours after the last session was used', async () => {
    const web = await WebAccess.open(daemon)
    const { token } = await web.startSession()
    clock.wind(11 * HOUR_MS)
    expect(await web.request(token, 'GET', '/v1/daemon')).toMatchObject({ status: 200 })
    clock.wind(11 * HOUR_MS)
    expect((await view()).url).toBe(`${web.origin}/`)
    clock.wind(2 * HOUR_MS)
    await expect.poll(async () => (await view()).url).toBeNull()
  })

  test('is another one if the usual one is in use, so that two homes have two', async () => {
    await using other = await LocalDaemon.start()
    const [one, two] = [await WebAccess.open(daemon), await WebAccess.open(other)]
    expect(one.port).not.toBe(two.port)
    const { token } = await one.startSession()
    expect(await two.request(token, 'GET', '/v1/daemon')).toMatchObject({ status: 403 })
  })
})

describe('a link', () => {
  test('works once; a second use is refused and counted', async () => {
    const web = await WebAccess.open(daemon)
    const { code, link } = await web.createLink()
    const used = daemon.client.get<{ uses: number }>(`/v1/web/links/${link}/wait`, { uses: 0 })
    expect((await web.redeem(code)).status).toBe(201)
    expect(await used).toMatchObject({ uses: 1 })
    const again = daemon.client.get<{ uses: number }>(`/v1/web/links/${link}/wait`, { uses: 1 })
    expect((await web.redeem(code)).status).toBe(403)
    expect(await again).toMatchObject({ uses: 2 })
    expect(await view()).toMatchObject({ reusedLinks: 1, sessions: [{ right: 'all' }] })
    expect(daemon.logMessages.join()).toContain('used twice')
  })

  test('works for a minute', async () => {
    const web = await WebAccess.open(daemon)
    const { code } = await web.createLink()
    clock.wind(60_000)
    expect((await web.redeem(code)).status).toBe(403)
    expect((await view()).reusedLinks).toBe(0)
  })

  test('is refused over the Unix socket, and so is a wrong code, a fourth one in a second with 429', async () => {
    const web = await WebAccess.open(daemon)
    const { code } = await web.createLink()
    await expect(daemon.client.post('/v1/web/session', { code })).rejects.toMatchObject({ code: 'INVALID' })
    const statuses = []
    for (let count = 0; count < 5; count += 1) statuses.push((await web.redeem('x'.repeat(22))).status)
    expect(statuses).toEqual([403, 403, 403, 429, 429])
    expect((await web.redeem(code)).status, 'the right one is never counted').toBe(201)
  })
})

describe('the proof for a session', () => {
  const greet = (web: WebAccess, body: object, host = web.host): ReturnType<typeof sendRawHead> =>
    sendRawHead(web.port, {
      method: 'POST',
      path: '/v1/web/hello',
      body: JSON.stringify(body),
      headers: [
        ['host', host],
        ['origin', `http://${host}`],
        ['content-type', 'application/json'],
      ],
    })
  const nonce = 'n'.repeat(43)

  test('is a MAC over the address of the request and the nonce, with the hash of the token as its key', async () => {
    const web = await WebAccess.open(daemon)
    const { token, session } = await web.startSession()
    const key = createHash('sha256').update(token).digest()
    for (const host of [web.host, `localhost:${web.port}`, `[::1]:${web.port}`]) {
      const reply = await greet(web, { session: session.id, nonce }, host)
      const mac = createHmac('sha256', key).update(helloText(host, nonce)).digest('base64url')
      expect([reply.status, reply.body]).toEqual([200, JSON.stringify({ version: 1, mac })])
    }
    expect((await greet(web, { session: session.id, nonce }, `evil.test:${web.port}`)).status).toBe(403)
    expect((await greet(web, { session: session.id, nonce: 'short' })).status).toBe(400)
  })

  test('is refused for an unknown session like any other request, the fourth time in a second with 429; a known one is never limited', async () => {
    const web = await WebAccess.open(daemon)
    const { session } = await web.startSession()
    const unknown = session.id === '0000' ? '0001' : '0000'
    const replies = []
    for (let count = 0; count < 4; count += 1) replies.push(await greet(web, { session: unknown, nonce }))
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 429])
    expect(replies[0]?.body).toContain('"the request is refused"')
    for (let count = 0; count < 30; count += 1) expect((await greet(web, { session: session.id, nonce })).status).toBe(200)
    expect((await web.request('x'.repeat(43), 'GET', '/v1/daemon')).status, 'wrong tokens have a count of their own').toBe(403)
    await daemon.client.delete(`/v1/web/sessions/${session.id}`)
    clock.wind(1_000)
    expect((await greet(web, { session: session.id, nonce })).status, 'a revoked one is unknown').toBe(403)
    await expect(daemon.client.post('/v1/web/hello', { session: session.id, nonce })).rejects.toMatchObject({ code: 'INVALID' })
  })
})

describe('a session', () => {
  test('is listed with its visitor, and ends with its open stream when it is revoked', async () => {
    const web = await WebAccess.open(daemon)
    const { token, session } = await web.startSession({ right: 'read', label: 'phone' })
    expect((await view()).sessions).toMatchObject([{ id: session.id, right: 'read', label: 'phone', address: '127.0.0.1' }])
    const stream = await fetch(`${web.origin}/v1/events?follow=1`, { headers: { authorization: `Bearer ${token}` } })
    expect(stream.status).toBe(200)
    expect(await daemon.client.delete(`/v1/web/sessions/${session.id}`)).toEqual({ version: 1, revoked: 1 })
    await expect(stream.text()).rejects.toThrow('terminated')
    expect(await web.request(token, 'GET', '/v1/daemon')).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } })
    await expect(daemon.client.delete(`/v1/web/sessions/${session.id}`)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('ends at its time, also with an open stream', async () => {
    const web = await WebAccess.open(daemon)
    const { token } = await web.startSession({ right: 'read', ttlMs: 2 * HOUR_MS })
    const stream = await fetch(`${web.origin}/v1/events?follow=1`, { headers: { authorization: `Bearer ${token}` } })
    clock.wind(2 * HOUR_MS)
    await expect(stream.text()).rejects.toThrow('terminated')
    expect((await view()).sessions).toEqual([])
  })

  test('with an open stream is not idle', async () => {
    const web = await WebAccess.open(daemon)
    const { token } = await web.startSession()
    const stream = await fetch(`${web.origin}/v1/events?follow=1`, { headers: { authorization: `Bearer ${token}` } })
    clock.wind(30 * HOUR_MS)
    expect((await view()).sessions).toHaveLength(1)
    await stream.body?.cancel()
  })
})

describe('the files of the page', () => {
  const HEADERS = {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }

  test('have the security headers; the document is never cached, and the others always', async () => {
    const web = await WebAccess.open(daemon)
    for (const path of ['/', '/p/0198c1a2', '/needs', '/?q=status:waiting']) {
      const document = await web.send({ path })
      expect(document.status, path).toBe(200)
      expect(Object.fromEntries(document.headers)).toMatchObject({ ...HEADERS, 'cache-control': 'no-store' })
      expect(document.headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
          "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'; trusted-types reeve-worker",
      )
      expect(document.body).not.toMatch(/<script>|<style|\sstyle=|\son\w+=/)
    }
    for (const name of readdirSync(join(ROOT, 'dist/web/assets')).filter((one) => !/\.(br|gz)$/.test(one))) {
      const plain = await (await fetch(`${web.origin}/assets/${name}`, { headers: { 'accept-encoding': 'identity' } })).bytes()
      for (const [encoding, end, decompress] of [
        ['br', 'br', brotliDecompressSync],
        ['gzip', 'gz', gunzipSync],
      ] as const) {
        const { headers } = await web.send({ path: `/assets/${name}`, headers: [['accept-encoding', `${encoding}, x`]] })
        expect(Object.fromEntries(headers)).toMatchObject({ ...HEADERS, 'cache-control': 'private, max-age=31536000, immutable' })
        expect(headers.get('content-encoding')).toBe(encoding)
        const compressed = readFileSync(join(ROOT, 'dist/web/assets', `${name}.${end}`))
        expect(headers.get('content-length')).toBe(String(compressed.length))
        expect(decompress(compressed).equals(plain), name).toBe(true)
      }
    }
  })

  test('are the only ones: no other name, no source, no compressed file by its own name', async () => {
    const web = await WebAccess.open(daemon)
    for (const path of ['/assets/', '/assets', '/assets/main.js', '/index.html', '/favicon.ico', '/assets/..%2findex.html', '/sw.js', '/x'])
      expect((await web.send({ path })).status, path).not.toBe(200)
    const [file] = readdirSync(join(ROOT, 'dist/web/assets')).filter((one) => one.endsWith('.br'))
    expect((await web.send({ path: `/assets/${file}` })).status).toBe(404)
  })

  test('are on ::1 as well, if the machine has it', async () => {
    const web = await WebAccess.open(daemon)
    const reply = await fetch(`http://[::1]:${web.port}/`).catch(() => null)
    if (reply) expect(reply.status).toBe(200)
    expect((await sendRawHead(web.port, { path: '/', headers: [['host', `localhost:${web.port}`]] })).status).toBe(200)
  })
})

test('answers and streams are compressed for a session that reads gzip, and never on the socket', async () => {
  const web = await WebAccess.open(daemon)
  const { token } = await web.startSession()
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawReply> =>
    new Promise((resolve, reject) => {
      const own = { authorization: `Bearer ${token}`, origin: web.origin, 'sec-fetch-site': 'same-origin', ...headers }
      get(`${web.origin}${path}`, { headers: own }, resolve).on('error', reject)
    })
  const GZIP = { 'accept-encoding': 'br, gzip' }
  const bodyOf = async (reply: RawReply): Promise<Buffer> => Buffer.concat((await reply.toArray()) as Buffer[])
  const whole = await ask('/v1/openapi.json', GZIP)
  expect(whole.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  const small = await bodyOf(whole)
  const plain = await bodyOf(await ask('/v1/openapi.json'))
  expect(gunzipSync(small).toString('utf8')).toBe(plain.toString('utf8'))
  expect(small.length).toBeLessThan(plain.length / 4)
  for (const headers of [{}, { 'accept-encoding': 'br' }, { 'accept-encoding': 'gzip;q=0' }])
    expect((await ask('/v1/openapi.json', headers)).headers).not.toHaveProperty('content-encoding')
  expect((await ask('/v1/places', GZIP)).headers, 'a short answer').not.toHaveProperty('content-encoding')
  const onSocket = await new Promise<RawReply>((resolve, reject) => {
    get({ socketPath: daemon.paths.socket, path: '/v1/openapi.json', headers: GZIP }, resolve).on('error', reject)
  })
  expect(onSocket.headers).not.toHaveProperty('content-encoding')

  const stream = await ask('/v1/rows?follow=1&shape=objects', GZIP)
  expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
  let text = ''
  const gunzip = stream.pipe(createGunzip()).on('data', (part: Buffer) => (text += part.toString('utf8')))
  await expect.poll(() => text).toContain('event: reset')
  const { uuid } = await daemon.spawnShell('sleep 600', { name: 'streamed' })
  await expect.poll(() => text).toContain('"name":"streamed"')
  stream.destroy()
  gunzip.destroy()
  await daemon.signal(uuid, 'SIGKILL')
})

test('a process of reeve gets no session', async () => {
  const program = `
    const { request } = require('node:http')
    const headers = { 'x-reeve-process': process.env.REEVE_PROC, 'content-type': 'application/json' }
    const sent = request({ socketPath: ${JSON.stringify(daemon.paths.socket)}, method: 'POST', path: '/v1/web/open', headers }, (response) => response.pipe(process.stdout))
    sent.end('{}')`
  const { uuid } = await daemon.spawn({ argv: [process.execPath, '-e', program] })
  await daemon.waitForEnd(uuid)
  expect(await daemon.readOutput(uuid)).toContain('PERMISSION')
})
