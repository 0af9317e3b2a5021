// The daemon is killed under the page. The page turns grey, keeps its token to itself, and continues without a click when the daemon is
// back. Another program at the port gets no token. What the user has closed or revoked stays so.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runCli } from '../../../support/daemon/cli.ts'
import { DaemonHome } from '../../../support/daemon/daemon-home.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { CHROMIUM, openChromium, PAGE_WAIT_MS } from '../../../support/web/chromium.ts'
import { WebAccess } from '../../../support/web/web-access.ts'

const STALE_MS = 5_000

let home: DaemonHome
let web: WebAccess

const webFile = (): string => join(home.paths.state, 'web.json')
const readKept = async (): Promise<string> => (existsSync(webFile()) ? readFile(webFile(), 'utf8') : '')

beforeEach(async () => {
  home = await DaemonHome.create()
  await home.start()
  web = await WebAccess.openAtAnyPort(home)
})
afterEach(async () => {
  await runCli(home.path, ['daemon', 'stop', '--now'])
  await home[Symbol.asyncDispose]()
})

describe.runIf(CHROMIUM !== null)('the page', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    context = await browser.newContext()
    context.setDefaultTimeout(PAGE_WAIT_MS)
    page = await context.newPage()
    const { url, code } = await web.createLink()
    await page.goto(`${url}#k=${code}`)
    await page.waitForSelector('[data-link="open"]')
    await waitUntil(async () => (await readKept()).includes('"id"'), 'the open page is recorded')
  })
  afterEach(() => context.close())

  const storedToken = (): Promise<string | null> => page.evaluate("localStorage.getItem('reeve.session')")

  test('turns grey when the daemon is killed, and continues when a command has started the daemon again', async () => {
    await home.spawn({ argv: ['sleep', '600'], name: 'before' })
    await page.locator('.name a', { hasText: 'before' }).waitFor()
    const stored = await storedToken()
    const killedAt = performance.now()
    await home.kill()
    await page.waitForSelector('main.stale')
    expect(performance.now() - killedAt).toBeLessThan(STALE_MS)
    await page.getByText('the page goes on by itself').waitFor()
    expect(await storedToken(), 'no token is in the storage while nobody answers').toBeNull()
    const { code, stdout } = await runCli(home.path, ['run', '-d', '--name', 'after', '--', 'sleep', '600'])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\S/)])
    await page.locator('.name a', { hasText: 'after' }).waitFor()
    await page.waitForSelector('main:not(.stale)')
    expect(await storedToken()).toBe(stored)
    await page.locator('[data-status="interrupted"]').first().waitFor()
    expect((await runCli(home.path, ['web', '--sessions', '--json'])).stdout).toContain(`"url": "${web.origin}/"`)
  })

  test('sends its token to no other program at the port, reports that program, and continues when it has gone', async () => {
    const { token } = JSON.parse((await storedToken()) ?? '{}') as { token: string }
    await home.kill()
    const seen: string[] = []
    const fake = await takePort(web.port, seen)
    await page.waitForSelector('[data-link="foreign"]')
    await page.getByText(`Another program answers at ${web.host}`).waitFor()
    expect(await storedToken()).toBeNull()
    await waitUntil(() => seen.filter((request) => request.includes('/v1/web/hello')).length > 2, 'the page has asked several times')
    expect(seen.join('\n')).not.toContain(token)
    expect(seen.join('\n').toLowerCase()).not.toContain('authorization')
    await new Promise((resolve) => {
      fake.close(resolve)
      fake.closeAllConnections()
    })
    await home.start()
    await page.waitForSelector('[data-link="open"]')
    expect(await storedToken()).toContain(token)
  })

  test('asks again when a program at the port takes its request and never answers', async () => {
    await home.kill()
    const seen: string[] = []
    const silent = createServer((request) => void seen.push(`${request.method} ${request.url}`))
    await new Promise<void>((resolve) => silent.listen(web.port, '127.0.0.1', resolve))
    await waitUntil(() => seen.filter((one) => one === 'POST /v1/web/hello').length > 1, 'the page has asked twice')
    await new Promise((resolve) => {
      silent.close(resolve)
      silent.closeAllConnections()
    })
    await home.start()
    await page.waitForSelector('[data-link="open"]')
  })

  test('does not send its token through a program that relays all requests to the daemon', async () => {
    const seen: string[] = []
    const relay = await startRelay(web.port, seen)
    const { code } = await web.createLink()
    const other = await context.newPage()
    await other.goto(`http://${relay.host}/#k=${code}`)
    await other.waitForSelector('[data-link="foreign"]')
    expect(seen.join('\n')).toContain('/v1/web/hello')
    expect(seen.join('\n')).not.toContain('authorization')
    await relay.close()
  })

  test('ends if its session was revoked; the next daemon does not know it either', async () => {
    await runCli(home.path, ['web', '--revoke'])
    await page.waitForSelector('[data-no-session="ended"]')
    expect(await readKept()).toBe('')
    await home.kill()
    await home.start()
    expect(await home.client.get('/v1/web')).toMatchObject({ url: null, sessions: [] })
  })

  test('continues after `reeve daemon restart`, but not after `reeve daemon stop`', async () => {
    expect(await runCli(home.path, ['daemon', 'restart', '--now'])).toMatchObject({ code: 0 })
    await waitUntil(async () => (await readKept()).includes('"id"'), 'the page is open again')
    await page.waitForSelector('[data-link="open"]')
    expect(await runCli(home.path, ['daemon', 'stop', '--now'])).toMatchObject({ code: 0 })
    await page.waitForSelector('[data-link="lost"]')
    expect(existsSync(webFile())).toBe(false)
    await home.start()
    expect(await home.client.get('/v1/web')).toMatchObject({ url: null, sessions: [] })
  })

  test('stays lost if another program has the port at the start: the daemon opens no other one by itself', async () => {
    await home.kill()
    const fake = await takePort(web.port, [])
    await home.start()
    await waitUntil(() => home.readLog().includes(`another program has the port ${web.port}`), 'the log has it')
    expect(await home.client.get('/v1/web')).toMatchObject({ url: null, sessions: [] })
    const other = await WebAccess.open(home)
    expect(other.port).not.toBe(web.port)
    fake.closeAllConnections()
    fake.close()
  })
})

test('a session without an open page is forgotten with the daemon', async () => {
  const { token } = await web.startSession()
  expect(await web.request(token, 'GET', '/v1/daemon')).toMatchObject({ status: 200 })
  await home.kill()
  await home.start()
  expect(await home.client.get('/v1/web')).toMatchObject({ url: null, sessions: [] })
  expect(await readKept()).toBe('')
})

/** Takes the port as a program of somebody else would, and collects the requests. It answers each as if it were right. */
async function takePort(port: number, seen: string[]): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${request.rawHeaders.join(' ')} ${Buffer.concat(chunks).toString()}`)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ version: 1, mac: 'A'.repeat(43) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}

/** Passes each request on to the daemon, as if it came from its own address. */
async function startRelay(port: number, seen: string[]): Promise<{ readonly host: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${Object.keys(request.headers).join(' ')}`)
    const headers = { ...request.headers, host: `127.0.0.1:${port}` }
    if (headers.origin) headers.origin = `http://127.0.0.1:${port}`
    const onward = httpRequest({ host: '127.0.0.1', port, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
