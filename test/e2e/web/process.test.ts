// The page of one process in Chromium: its steps with one step in full, its logs, and the page while the daemon is gone.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { PageWorld } from '../../support/web/page-world.ts'
import { WebAccess } from '../../support/web/web-access.ts'

const call = (command: string): { tools: readonly object[] } => ({ tools: [{ name: 'bash', input: { command } }] })

let browser: Awaited<ReturnType<typeof openChromium>>
beforeAll(async () => {
  if (CHROMIUM !== null) browser = await openChromium()
})
afterAll(() => browser?.[Symbol.asyncDispose]())

describe.runIf(CHROMIUM !== null)('the page of a process', () => {
  let world: PageWorld

  beforeEach(async () => {
    world = await PageWorld.start(browser)
  })
  afterEach(async () => {
    await world[Symbol.asyncDispose]()
    expect(world.daemon.errors).toEqual([])
    expect(world.problems).toEqual([])
  })

  test('lists the steps, and shows the selected one whole: a failed call is open and red', async () => {
    const script = [{ text: 'I look first.', ...call('echo all is well') }, call('echo it broke >&2; exit 3'), { text: 'It is done.' }]
    const { uuid } = await world.daemon.spawnScripted(script)
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.locator('.step-row').nth(2).waitFor()
    expect(await page.locator('.step-row .text').allTextContents()).toEqual(['I look first.', '', 'It is done.'])
    expect(await page.locator('.step-row .tools').allTextContents()).toEqual(['bash', 'bash failed', ''])
    await page.locator('.step-detail[data-step="3"]').waitFor()

    await page.locator('.step-row[data-step="2"]').click()
    const failed = page.locator('.step-detail[data-step="2"] .tool.failed[open]')
    await failed.locator('.result', { hasText: 'it broke' }).waitFor()
    expect(await failed.locator('summary').textContent()).toContain('failed, exit code 3')
    const colour = (selector: string): Promise<unknown> => page.evaluate(`getComputedStyle(document.querySelector('${selector}')).color`)
    expect(await colour('.tool.failed summary')).not.toBe(await colour('.step-detail h3'))
    expect(new URL(page.url()).pathname).toBe(`/p/${uuid}/steps/2`)

    await page.locator('.list').focus()
    await page.keyboard.press('k')
    const first = page.locator('.step-detail[data-step="1"]')
    await first.locator('.agent-text', { hasText: 'I look first.' }).waitFor()
    expect(await first.locator('.tool').getAttribute('open')).toBeNull()
    await first.locator('summary').click()
    await first.locator('.result', { hasText: 'all is well' }).waitFor()

    await page.getByRole('button', { name: 'failed' }).click()
    expect(await page.locator('.step-row').count()).toBe(1)
  })

  test('shows a step as finished that was open when it was first read', async () => {
    const gate = join(world.daemon.work, 'gate')
    const { uuid } = await world.daemon.spawnScripted([call(`until test -e ${gate}; do sleep 0.1; done; echo through`), { text: 'end' }])
    const page = await world.visit(`/p/${uuid}/steps/1`)
    await page.locator('.step-detail[data-step="1"] summary', { hasText: 'runs' }).waitFor()
    expect(await page.locator('.step-row .tools').first().textContent()).toBe('bash …')
    await writeFile(gate, '')
    await page.locator('.step-detail[data-step="1"] summary', { hasText: 'done' }).waitFor()
    await page.locator('.step-row[data-step="2"]').waitFor()
    expect(await page.locator('.step-row .tools').first().textContent()).toBe('bash')
    await page.locator('.step-detail summary').click()
    await page.locator('.step-detail .result', { hasText: 'through' }).waitFor()
  })

  test('follows the log', async () => {
    const gate = join(world.daemon.work, 'gate')
    const { uuid } = await world.daemon.spawnShell(`echo one; until test -e ${gate}; do sleep 0.1; done; echo two >&2; sleep 600`)
    const page = await world.visit(`/p/${uuid}/logs`)
    await page.locator('.log.stdout', { hasText: 'one' }).waitFor()
    await writeFile(gate, '')
    await page.locator('.log.stderr', { hasText: 'two' }).waitFor()
    await world.daemon.signal(uuid, 'SIGKILL')
    await page.locator('.status-word[data-status="stopped"]').waitFor()
  })

  test('of a process that is not in the list names the command that finds it', async () => {
    const page = await world.visit('/p/0198a000-0000-7000-8000-000000000000')
    await page.getByText('This process is not in the list').waitFor()
    await page.getByText('reeve ps --all').waitFor()
    // The browser reports the refused request.
    await world.expectProblem('status of 404')
  })
})

describe.runIf(CHROMIUM !== null)('a daemon', () => {
  let home: DaemonHome
  let web: WebAccess
  let page: Page
  let uuid: string

  beforeEach(async () => {
    home = await DaemonHome.create()
    await home.start()
    web = await WebAccess.openAtAnyPort(home)
    uuid = (await home.spawn({ argv: ['sh', '-c', 'sleep 600'], name: 'sleeper' })).uuid
    page = await (await browser.newContext()).newPage()
    await page.goto(`${web.origin}/#k=${(await web.createLink()).code}`)
    await page.locator(`main:not(.stale) [data-uuid="${uuid}"][data-status="working"]`).waitFor()
  })
  afterEach(async () => {
    await page.context().close()
    await home[Symbol.asyncDispose]()
  })

  test('that hangs turns the page grey, until it answers again', async () => {
    const frozen = home.freezeFor(12_000)
    await page.locator('main.stale').waitFor()
    // The page calls itself stale after 5 s, and a busy machine may be late. By then its connection may be lost, too.
    expect(await page.locator('.freshness').textContent()).toMatch(/^(?:heard from the daemon|no answer for) (?:[5-9]|1\d) s(?: ago)?$/)
    await frozen
    await page.locator('main:not(.stale) .row').waitFor()
    await home.signal(uuid, { signal: 'SIGKILL' })
    await page.locator(`[data-uuid="${uuid}"][data-status="stopped"]`).waitFor()
  })

  test('that is killed turns the page grey at once, with the rows as they were and the command for a new page', async () => {
    await home.kill()
    await page.locator('main.stale').waitFor()
    expect(await page.locator('.freshness').textContent()).toMatch(/^no answer for \d s$/)
    await page.locator('.stale-bar', { hasText: 'reeve web' }).waitFor()
    const elapsed = await page.locator(`[data-uuid="${uuid}"] .number`).first().textContent()
    const heardAt = (await page.locator('.freshness').textContent()) ?? ''
    await page.locator('.freshness', { hasNotText: heardAt }).waitFor()
    expect(await page.locator('[data-uuid] .number').first().textContent()).toBe(elapsed)
  })
})
