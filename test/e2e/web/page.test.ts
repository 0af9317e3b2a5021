// The page in Chromium, from a real daemon: it takes the code out of the address, shows the processes, reports how old its last byte is,
// breaks no rule of its security policy, and serves twelve tabs by one stream.
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { WebView } from '../../../src/api/views/web.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { CHROMIUM, openChromium, PAGE_WAIT_MS } from '../../support/web/chromium.ts'
import { WebAccess } from '../../support/web/web-access.ts'

describe.runIf(CHROMIUM !== null)('the page', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  let context: BrowserContext
  let daemon: LocalDaemon
  let web: WebAccess
  /** what the browser reports as wrong */
  let problems: string[]

  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    daemon = await LocalDaemon.start()
    web = await WebAccess.open(daemon)
    context = await browser.newContext()
    problems = []
  })
  afterEach(async () => {
    await context.close()
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })

  async function openPage(): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(PAGE_WAIT_MS)
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(String(error)))
    return page
  }

  async function visit(page: Page): Promise<void> {
    const { url, code } = await web.createLink()
    await page.goto(`${url}#k=${code}`)
    await page.waitForSelector('[data-link="open"]')
  }

  test('takes the code out of the address, keeps its token, and shows the processes as they come and go', async () => {
    const page = await openPage()
    await visit(page)
    expect(page.url()).toBe(`${web.origin}/`)
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
    await page.getByText('Nothing runs here yet.').waitFor()
    const { uuid } = await daemon.spawnShell('sleep 600 # <b>bold</b>')
    await page.locator(`[data-uuid="${uuid}"]`).waitFor()
    expect(await page.locator(`[data-uuid="${uuid}"] .name a`).textContent()).toContain('<b>bold</b>')
    await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGKILL' })
    await page.locator(`[data-uuid="${uuid}"][data-status="stopped"]`).waitFor()
    await page.reload()
    await page.waitForSelector('[data-link="open"]')
    expect(await page.locator('.freshness').textContent()).toMatch(/^heard from the daemon \d+ s ago$/)
    expect(problems).toEqual([])
  })

  test('shows why there is no session, with the command for a new one', async () => {
    const page = await openPage()
    await page.goto(web.origin)
    await page.waitForSelector('[data-no-session="none"]')
    const { url, code } = await web.createLink()
    await web.redeem(code)
    await page.goto(`${url}settings#k=${code}`)
    await page.waitForSelector('[data-no-session="used"]')
    expect(page.url()).toBe(`${url}settings`)
    await visit(page)
    await daemon.client.delete('/v1/web/sessions')
    await page.waitForSelector('[data-no-session="ended"]')
    expect(await page.evaluate('localStorage.length')).toBe(0)
  })

  test('reports that the daemon does not answer, and how old its last byte is', async () => {
    const page = await openPage()
    await visit(page)
    await daemon.stop()
    await page.waitForSelector('[data-link="lost"]')
    expect(await page.locator('.freshness.stale').textContent()).toMatch(/^no answer for \d+ s$/)
    await daemon.start()
  })

  test('cannot turn a text into HTML or a worker', async () => {
    const page = await openPage()
    await visit(page)
    const attempts = [
      "document.body.innerHTML = '<b>x</b>'",
      "new Worker('/assets/x.js')",
      "trustedTypes.createPolicy('x', {})",
      "trustedTypes.createPolicy('reeve-worker', {})",
    ]
    const attempt = (code: string): Promise<unknown> =>
      page.evaluate(`(() => { try { ${code}; return 'done' } catch (error) { return error.name } })()`)
    expect(await Promise.all(attempts.map(attempt))).toEqual(attempts.map(() => 'TypeError'))
  })

  test('shows events without a frame, as in a tab that has just been hidden', async () => {
    const page = await openPage()
    await page.addInitScript({
      content: 'const draw = requestAnimationFrame; requestAnimationFrame = (f) => (globalThis.noFrames ? 0 : draw(f))',
    })
    await visit(page)
    await page.getByText('Nothing runs here yet.').waitFor()
    await page.evaluate('globalThis.noFrames = true')
    const { uuid } = await daemon.spawnShell('sleep 600')
    await page.locator(`[data-uuid="${uuid}"]`).waitFor()
    await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGKILL' })
    expect(problems).toEqual([])
  })

  test('keeps each session apart: a narrow one neither narrows the tabs of another, nor ends them', async () => {
    const [inner, outer] = [await daemon.spawnShell('sleep 600'), await daemon.spawnShell('sleep 600')]
    const full = await openPage()
    await visit(full)
    await full.locator(`[data-uuid="${outer.uuid}"]`).waitFor()
    const narrow = await openPage()
    const { url, code } = await web.createLink({ only: inner.uuid })
    await narrow.goto(`${url}#k=${code}`)
    await narrow.locator(`[data-uuid="${inner.uuid}"]`).waitFor()
    expect(await narrow.locator(`[data-uuid="${outer.uuid}"]`).count()).toBe(0)
    const later = await daemon.spawnShell('sleep 600')
    await full.locator(`[data-uuid="${later.uuid}"]`).waitFor()
    expect(await full.locator('.row').count()).toBe(3)
    const { sessions } = await daemon.client.get<WebView>('/v1/web')
    const narrowId = sessions.find(({ only }) => only !== null)?.id
    await daemon.client.delete(`/v1/web/sessions/${narrowId}`)
    await narrow.waitForSelector('[data-no-session="ended"]')
    expect(await full.locator('[data-link="open"]').count()).toBe(1)
    for (const { uuid } of [inner, outer, later]) await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGKILL' })
    await full.locator(`[data-uuid="${later.uuid}"][data-status="stopped"]`).waitFor()
  })

  test('shows the processes in a browser without shared workers, where each tab has its own stream', async () => {
    await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'SharedWorker'))
    const page = await openPage()
    await visit(page)
    const { uuid } = await daemon.spawnShell('sleep 600', { name: 'sleeper' })
    await page.locator('.row', { hasText: 'sleeper' }).waitFor()
    const other = await openPage()
    await visit(other)
    await other.locator('.row', { hasText: 'sleeper' }).waitFor()
    await daemon.signal(uuid, 'SIGKILL')
    for (const tab of [page, other]) await tab.locator('.row', { hasText: 'sleeper' }).locator('.mark').waitFor()
    expect(problems).toEqual([])
  })

  test('serves twelve tabs by one stream', async () => {
    const first = await openPage()
    await visit(first)
    const tabs = [first]
    for (let count = 1; count < 12; count += 1) {
      const page = await openPage()
      await page.goto(web.origin)
      await page.waitForSelector('[data-link="open"]')
      tabs.push(page)
    }
    const { uuid } = await daemon.spawnShell('sleep 600')
    await Promise.all(tabs.map((page) => page.locator(`[data-uuid="${uuid}"]`).waitFor()))
    await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGKILL' })
    expect(problems).toEqual([])
  })
})
