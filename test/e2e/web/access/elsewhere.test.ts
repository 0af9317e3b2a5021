// The page from other machines: by TLS with a certificate of the user, and through a proxy that ends TLS, with a number as well. Real TLS
// sockets, with a certificate that openssl makes.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebOpenBody, WebOpenedView, WebStartedView, WebView } from '../../../../src/api/views/web.ts'
import { ManualClock } from '../../../support/clock.ts'
import { LocalDaemon } from '../../../support/daemon/local-daemon.ts'
import { CHROMIUM, openChromium, PAGE_WAIT_MS } from '../../../support/web/chromium.ts'
import { sendRawHead } from '../../../support/web/raw-requests.ts'

const HAS_OPENSSL = spawnSync('openssl', ['version']).status === 0
const DAY_MS = 86_400_000
const NAME = 'box.test'

let daemon: LocalDaemon
let clock: ManualClock

beforeEach(async () => {
  clock = new ManualClock()
  clock.jump(Date.now() - clock.now().wall)
  daemon = await LocalDaemon.start({ clock })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const open = (body: WebOpenBody): Promise<WebOpenedView> => daemon.client.post('/v1/web/open', body)
const view = (): Promise<WebView> => daemon.client.get('/v1/web')

/** Makes a certificate for the names. */
function makeCertificate(names: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(daemon.work, 'cert.pem'), join(daemon.work, 'key.pem')]
  const extensions = names === '' ? [] : ['-addext', `subjectAltName=${names}`]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync(
    'openssl',
    ['req', '-x509', ...curve, '-nodes', '-days', '2', '-subj', '/CN=box', ...extensions, '-keyout', key, '-out', cert],
    {
      stdio: 'ignore',
    },
  )
  chmodSync(key, 0o600)
  return { cert, key }
}

async function freePort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Sends a request by TLS, with a name as Host. */
function sendTls(
  port: number,
  {
    host,
    origin = `https://${host}`,
    path,
    body,
    token,
    ca,
  }: Readonly<Record<'host' | 'path', string>> & { origin?: string; body?: object; token?: string; ca: string },
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const request = httpsRequest(
    {
      host: '127.0.0.1',
      port,
      path,
      // A connection of an earlier daemon must not be taken again.
      agent: false,
      ca,
      servername: NAME,
      method: text === undefined ? 'GET' : 'POST',
      headers: {
        host,
        ...(text === undefined ? {} : { origin, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    },
    (response) => {
      response
        .toArray()
        .then((chunks) => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks as Buffer[]).toString() }), reject)
    },
  )
  request.on('error', reject)
  request.end(text)
  return promise
}

const tokenOf = ({ body }: Answer): string => (JSON.parse(body) as WebStartedView).token

describe.runIf(HAS_OPENSSL)('by TLS', () => {
  test('the page is open only at the names of the certificate, and its sessions work only by TLS', async () => {
    const { cert, key } = makeCertificate(`DNS:${NAME},IP:127.0.0.1`)
    const ca = await readFile(cert, 'utf8')
    const port = await freePort()
    const tls = { address: '127.0.0.1', port, cert, key }
    const { url, code, number, localPort } = await open({ tls })
    expect([url, number]).toEqual([`https://${NAME}:${port}/`, null])
    const host = `${NAME}:${port}`
    expect((await sendTls(port, { ca, host: `evil.test:${port}`, path: '/' })).status).toBe(403)
    expect((await sendTls(port, { ca, host: NAME, path: '/' })).status, 'without its port').toBe(403)
    expect((await sendTls(port, { ca, host, path: '/v1/web/session', body: { code }, origin: `http://${host}` })).status).toBe(403)
    const local = await open({})
    expect((await sendTls(port, { ca, host, path: '/v1/web/session', body: { code: local.code } })).status, 'a link of loopback').toBe(403)
    const token = tokenOf(await sendTls(port, { ca, host, path: '/v1/web/session', body: { code } }))
    expect((await sendTls(port, { ca, host, path: '/v1/daemon', token })).status).toBe(200)
    expect((await sendTls(port, { ca, host: `127.0.0.1:${port}`, path: '/v1/daemon', token })).status).toBe(200)
    const onLoopback = await sendRawHead(localPort, {
      path: '/v1/daemon',
      headers: [
        ['host', `127.0.0.1:${localPort}`],
        ['authorization', `Bearer ${token}`],
      ],
    })
    expect(onLoopback.status).toBe(403)
    expect(await view()).toMatchObject({ tls: `127.0.0.1 port ${port}`, sessions: [{ way: 'tls', remembered: false }] })
    await daemon.client.post('/v1/web/stop', {})
    await expect(sendTls(port, { ca, host, path: '/' })).rejects.toThrow('ECONNREFUSED')
  })

  test('a request without TLS gets no answer', async () => {
    const { cert, key } = makeCertificate(`DNS:${NAME}`)
    const port = await freePort()
    await open({ tls: { address: '127.0.0.1', port, cert, key } })
    const request = httpRequest({ host: '127.0.0.1', port, path: '/', headers: { host: `${NAME}:${port}` } })
    const outcome = await new Promise<string>((resolve) => {
      request.on('response', ({ statusCode }) => resolve(`status ${statusCode}`)).on('error', () => resolve('no answer'))
      request.end()
    })
    expect(outcome).toBe('no answer')
  })

  test('a remembered session outlives the daemon and 29 idle days, and ends after 30, or when it is revoked', async () => {
    const { cert, key } = makeCertificate(`DNS:${NAME}`)
    const ca = await readFile(cert, 'utf8')
    const port = await freePort()
    const host = `${NAME}:${port}`
    const start = async (): Promise<string> => {
      const { code } = await open({ tls: { address: '127.0.0.1', port, cert, key }, remember: true })
      return tokenOf(await sendTls(port, { ca, host, path: '/v1/web/session', body: { code } }))
    }
    const token = await start()
    const statusFor = async (token: string): Promise<number> => (await sendTls(port, { ca, host, path: '/v1/daemon', token })).status
    await daemon.restart()
    await expect.poll(() => statusFor(token).catch(() => 0), { timeout: 100_000 }).toBe(200)
    clock.wind(29 * DAY_MS)
    expect(await statusFor(token)).toBe(200)
    expect((await view()).sessions).toMatchObject([{ way: 'tls', remembered: true }])
    clock.wind(30 * DAY_MS)
    expect((await view()).sessions).toEqual([])
    // By that clock the certificate has expired.
    clock.jump(Date.now() - clock.now().wall)
    const other = await start()
    await daemon.client.delete('/v1/web/sessions')
    await daemon.restart()
    expect(await view()).toMatchObject({ url: null, sessions: [] })
    await expect(statusFor(other)).rejects.toThrow('ECONNREFUSED')
  })

  test.each<[string, (files: { cert: string; key: string }) => void, string]>([
    ['that is empty', ({ cert }) => writeFileSync(cert, ''), 'has no certificate'],
    ['whose key others can read', ({ key }) => chmodSync(key, 0o604), 'other users can read the key'],
    ['with a broken key', ({ key }) => writeFileSync(key, 'x'), 'cannot be used with'],
    ['that has expired', () => clock.jump(3 * DAY_MS), 'expired on'],
  ])('a certificate %s is refused', async (_, damage, text) => {
    const files = makeCertificate(`DNS:${NAME}`)
    damage(files)
    await expect(open({ tls: { address: '127.0.0.1', port: await freePort(), ...files } })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(text) as string,
    })
  })

  test('a certificate without names is refused', async () => {
    const files = makeCertificate('')
    await expect(open({ tls: { address: '127.0.0.1', port: await freePort(), ...files } })).rejects.toThrow('names no host')
  })
})

describe('through a proxy', () => {
  const send = (port: number, body: object, origin = `https://${NAME}`): ReturnType<typeof sendRawHead> =>
    sendRawHead(port, {
      method: 'POST',
      path: '/v1/web/session',
      body: JSON.stringify(body),
      headers: [
        ['host', NAME],
        ['origin', origin],
        ['content-type', 'application/json'],
      ],
    })

  test('a link needs the number of the terminal and the name of the proxy with https; the user is notified of the session', async () => {
    const notices: string[] = []
    const hook = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => notices.push(chunk.toString()))
      request.on('end', () => response.end())
    })
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
    await daemon[Symbol.asyncDispose]()
    daemon = await LocalDaemon.start({
      config: `notifications: { webhook: { url: 'http://127.0.0.1:${(hook.address() as AddressInfo).port}/' } }\n`,
    })
    const { url, code, number, localPort } = await open({ proxyHost: NAME })
    expect([url, number]).toEqual([`https://${NAME}/`, expect.stringMatching(/^\d{6}$/)])
    expect((await send(localPort, { code })).status).toBe(403)
    expect((await send(localPort, { code, number }, `http://${NAME}`)).status).toBe(403)
    const started = await send(localPort, { code, number })
    expect(started.status).toBe(201)
    expect((await send(localPort, { code, number })).status, 'a second use').toBe(403)
    expect(await view()).toMatchObject({ proxyHosts: [NAME], sessions: [{ way: 'proxy' }], reusedLinks: 1 })
    await expect.poll(() => notices.join(''), { timeout: 100_000 }).toContain('"event":"session"')
    expect(notices.join('')).toMatch(/a browser has a new session of the page, through a proxy: [0-9a-f]{4}/)
    await new Promise((resolve) => hook.close(resolve))
  })

  test.each([
    [{ proxyHost: '10.0.0.1' }, 'INVALID'],
    [{ proxyHost: 'localhost' }, 'INVALID'],
    [{ proxyHost: 'Box.Example' }, 'INVALID'],
    [{ proxyHost: 'box.example/x' }, 'INVALID'],
    [{ proxyHost: '*.example' }, 'INVALID'],
    [{ remember: true }, 'INVALID'],
    [{ tls: { address: '0.0.0.0', port: 7443, cert: '/none/c.pem', key: '/none/k.pem' } }, 'INVALID'],
    [{ tls: { address: '0.0.0.0', port: 7443 } as never }, 'INVALID'],
    [{ tls: { address: 'box.example', port: 7443, cert: '/c', key: '/k' } }, 'INVALID'],
  ])('%j is refused', async (body, code) => {
    await expect(open(body as WebOpenBody)).rejects.toMatchObject({ code })
  })

  test.runIf(CHROMIUM !== null && HAS_OPENSSL)(
    'a browser asks for the number, and shows the page, also if the code of its worker fails to load once',
    async () => {
      // The stream of the page needs signs of life, which the hand-wound clock does not send.
      await daemon[Symbol.asyncDispose]()
      daemon = await LocalDaemon.start()
      const { cert, key } = makeCertificate(`DNS:${NAME}`)
      const { localPort } = await open({})
      let workerLoads = 0
      const proxy = createTlsServer({ cert: await readFile(cert), key: await readFile(key) }, (request, response) => {
        if (/^\/assets\/worker\b/.test(request.url ?? '') && ++workerLoads === 1) {
          response.destroy()
          return
        }
        const onward = httpRequest(
          { host: '127.0.0.1', port: localPort, agent: false, method: request.method, path: request.url, headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 502, answer.headers)
            answer.pipe(response)
          },
        )
        onward.on('error', () => response.destroy())
        request.pipe(onward)
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      const host = `${NAME}:${(proxy.address() as AddressInfo).port}`
      const { url, code, number } = await open({ proxyHost: host })
      await using browser = await openChromium([`--host-resolver-rules=MAP ${NAME} 127.0.0.1`])
      const page = await browser.newPage({ ignoreHTTPSErrors: true, viewport: { width: 390, height: 844 } })
      page.setDefaultTimeout(PAGE_WAIT_MS)
      await page.goto(`${url}#n=${code}`)
      await page.getByLabel('The number that the terminal shows').fill(number === '000000' ? '000001' : '000000')
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByText('The number is wrong').waitFor()
      await page.getByLabel('The number that the terminal shows').fill(number ?? '')
      await page.getByRole('button', { name: 'Open' }).click()
      await page.waitForSelector('[data-link="open"]', { timeout: 100_000 })
      expect(new URL(page.url()).host).toBe(host)
      expect(workerLoads).toBe(2)
      proxy.closeAllConnections()
      proxy.close()
    },
  )
})
