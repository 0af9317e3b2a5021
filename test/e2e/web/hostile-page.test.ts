// A hostile page in the same browser: the server of an agent on another port of this machine, and a site by a rebound name. While the user
// has a session, they try every way to the daemon that a page has. Nothing arrives, and nothing can be read.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { WebAccess } from '../../support/web/web-access.ts'

const REBOUND = 'rebound.test'

describe.runIf(CHROMIUM !== null)('a hostile page', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  let context: BrowserContext
  let daemon: LocalDaemon
  let web: WebAccess
  let hostile: Server
  let hostilePort: number
  let user: Page

  beforeAll(async () => {
    daemon = await LocalDaemon.start()
    web = await WebAccess.open(daemon)
    hostile = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>hostile</title>'),
    )
    hostile.listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    hostilePort = (hostile.address() as AddressInfo).port
    // The name leads to the daemon's address, as after DNS rebinding; its page was loaded before from the attacker's port.
    browser = await openChromium([`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`])
    context = await browser.newContext()
    user = await context.newPage()
    const { url, code } = await web.createLink()
    await user.goto(`${url}#k=${code}`)
    await user.waitForSelector('[data-link="open"]')
    const { uuid } = await daemon.spawnScripted([{ text: 'I wait.' }], { interactive: true, name: 'victim' })
    await daemon.waitUntilReady(uuid)
  }, 300_000)
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    hostile.closeAllConnections()
    hostile.close()
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })

  const readCursor = async (): Promise<number> => (await daemon.client.get<DaemonView>('/v1/daemon')).cursor

  /** Runs code in the page; resolves to what it returns, or to `refused` for an error. */
  const attempt = (page: Page, code: string): Promise<unknown> =>
    page.evaluate(`(async () => { try { return await (async () => { ${code} })() } catch (error) { return 'refused' } })()`)

  /** Each way to the address `target`. The last line of each returns what the page could learn. */
  function attacksOn(target: string): Readonly<Record<string, string>> {
    const steer = `'${target}/v1/processes/victim/signal'`
    const body = `JSON.stringify({ signal: 'SIGTERM' })`
    return {
      'fetch of the list': `return await (await fetch('${target}/v1/processes')).text()`,
      'fetch with credentials': `return await (await fetch('${target}/v1/processes', { credentials: 'include' })).text()`,
      'fetch without CORS': `return (await fetch('${target}/v1/processes', { mode: 'no-cors' })).type`,
      'POST as text': `return (await fetch(${steer}, { method: 'POST', mode: 'no-cors', body: ${body}, headers: { 'content-type': 'text/plain' } })).type`,
      'POST as JSON': `return await (await fetch(${steer}, { method: 'POST', body: ${body}, headers: { 'content-type': 'application/json' } })).text()`,
      'POST with a guessed token': `return await (await fetch(${steer}, { method: 'POST', body: ${body}, headers: { 'content-type': 'application/json', authorization: 'Bearer ' + 'x'.repeat(43) } })).text()`,
      beacon: `return navigator.sendBeacon(${steer}, new Blob([${body}], { type: 'text/plain' })) ? 'sent' : 'refused'`,
      image: `return await new Promise((resolve) => { const image = new Image(); image.onload = () => resolve('loaded'); image.onerror = () => resolve('refused'); image.src = '${target}/v1/processes' })`,
      script: `return await new Promise((resolve) => { const script = document.createElement('script'); script.onload = () => resolve('loaded'); script.onerror = () => resolve('refused'); script.src = '${target}/v1/processes'; document.head.append(script) })`,
      style: `return await new Promise((resolve) => { const link = document.createElement('link'); link.rel = 'stylesheet'; link.onload = () => resolve('loaded'); link.onerror = () => resolve('refused'); link.href = '${target}/'; document.head.append(link) })`,
      worker: `return await new Promise((resolve) => { const worker = new Worker('${target}/'); worker.onerror = () => resolve('refused'); worker.onmessage = () => resolve('loaded') })`,
      'shared worker': `return await new Promise((resolve) => { const worker = new SharedWorker('${target}/'); worker.onerror = () => resolve('refused') })`,
      'event source': `return await new Promise((resolve) => { const source = new EventSource('${target}/v1/events?follow=1'); source.onopen = () => resolve('open'); source.onerror = () => { source.close(); resolve('refused') } })`,
      'web socket': `return await new Promise((resolve) => { const socket = new WebSocket('${target.replace('http', 'ws')}/v1/events'); socket.onopen = () => resolve('open'); socket.onerror = () => resolve('refused') })`,
      frame: `return await new Promise((resolve) => { const frame = document.createElement('iframe'); frame.onload = () => { try { resolve(frame.contentDocument?.body.textContent ? 'read' : 'refused') } catch { resolve('refused') } }; frame.src = '${target}/'; document.body.append(frame) })`,
      form: `return await new Promise((resolve) => { const frame = document.createElement('iframe'); frame.name = 'target'; document.body.append(frame); const form = document.createElement('form'); form.method = 'POST'; form.enctype = 'text/plain'; form.target = 'target'; form.action = ${steer}; const input = document.createElement('input'); input.name = '{"signal":"SIGTERM","x":"'; input.value = '"}'; form.append(input); document.body.append(form); frame.onload = () => { try { resolve(frame.contentDocument?.body.textContent ? 'read' : 'refused') } catch { resolve('refused') } }; form.submit() })`,
      storage: `return localStorage.length === 0 && document.cookie === '' ? 'refused' : 'read'`,
    }
  }

  const WHERE = {
    'on another port': () => ({ page: `http://127.0.0.1:${hostilePort}/`, target: web.origin }),
    'on another port of localhost': () => ({ page: `http://localhost:${hostilePort}/`, target: `http://localhost:${web.port}` }),
    'with a rebound name': () => ({ page: `http://${REBOUND}:${hostilePort}/`, target: `http://${REBOUND}:${web.port}` }),
    'with a rebound name, against the address': () => ({ page: `http://${REBOUND}:${hostilePort}/`, target: web.origin }),
  }

  test.each(Object.entries(WHERE))(
    '%s reads nothing and changes nothing',
    async (_, where) => {
      const { page: address, target } = where()
      const before = await readCursor()
      const page = await context.newPage()
      await page.goto(address)
      const results: Record<string, unknown> = {}
      for (const [name, code] of Object.entries(attacksOn(target))) results[name] = await attempt(page, code)
      // An opaque answer has no status and no content; a beacon was sent, and is refused by the daemon.
      const harmless = ['refused', 'opaque', 'sent']
      expect(Object.entries(results).filter(([, result]) => !harmless.includes(String(result)))).toEqual([])
      expect(await readCursor()).toBe(before)
      await page.close()
    },
    120_000,
  )

  test('reaches a server that checks nothing by most of these ways', async () => {
    const arrived = new Set<string>()
    await using naive = createServer((request, response) => {
      arrived.add(`${request.method} ${request.url}`)
      const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*', 'content-type': 'text/plain' }
      response.writeHead(200, headers).end('{}')
    })
    naive.listen(0, '127.0.0.1')
    await once(naive, 'listening')
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${hostilePort}/`)
    const target = `http://127.0.0.1:${(naive.address() as AddressInfo).port}`
    const attacks = Object.entries(attacksOn(target)).filter(([name]) =>
      ['fetch of the list', 'POST as text', 'POST as JSON', 'form', 'frame'].includes(name),
    )
    const results = await Promise.all(attacks.map(async ([name, code]) => [name, await attempt(page, code)]))
    expect(Object.fromEntries(results)).toMatchObject({ 'fetch of the list': '{}', 'POST as text': 'opaque', 'POST as JSON': '{}' })
    expect([...arrived].toSorted()).toEqual([
      'GET /',
      'GET /v1/processes',
      'OPTIONS /v1/processes/victim/signal',
      'POST /v1/processes/victim/signal',
    ])
    await page.close()
    naive.closeAllConnections()
  })

  test('cannot hold a window of the page', async () => {
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${hostilePort}/`)
    const opened = context.waitForEvent('page')
    await page.evaluate(`window.other = window.open('${web.origin}/', 'other')`)
    const other = await opened
    await other.waitForSelector('[data-link="open"]')
    await expect.poll(() => page.evaluate('window.other.closed')).toBe(true)
    expect(await other.evaluate('window.opener')).toBeNull()
    expect(await attempt(page, `return window.other.document.body.textContent`)).toBe('refused')
    await other.close()
    await page.close()
  })

  test('gets no document of the daemon by a rebound name', async () => {
    const page = await context.newPage()
    const response = await page.goto(`http://${REBOUND}:${web.port}/`)
    expect(response?.status()).toBe(403)
    await page.close()
  })

  test('a link in a file opens the page, as `reeve web` needs it', async () => {
    const dir = join(daemon.work, 'file')
    await mkdir(dir)
    const { url, code } = await web.createLink()
    await writeFile(join(dir, 'open.html'), `<!doctype html><meta http-equiv="refresh" content="0;url=${url}#k=${code}">`)
    const page = await (await browser.newContext()).newPage()
    await page.goto(`file://${dir}/open.html`)
    await page.waitForSelector('[data-link="open"]')
    expect(page.url()).toBe(url)
    await page.reload()
    await page.waitForSelector('[data-link="open"]')
    await page.context().close()
  })

  test("has not changed the user's own page", async () => {
    await user.waitForSelector('[data-link="open"]')
    await user.getByText('victim').first().waitFor()
  })
})
