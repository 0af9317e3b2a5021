// The page on a phone, by touch: what needs the user is the first page, a question has its evidence and two buttons, all targets are large
// enough for a finger, and the button of what cannot be undone must be held.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { PAGE_WAIT_MS } from '../../support/web/chromium.ts'
import { describePage } from '../../support/web/describe-page.ts'

/** The visible targets that are smaller than 44 px in one direction. */
const FIND_SMALL_TARGETS = `[...document.querySelectorAll('button, input:not([type="checkbox"]), select, summary, nav a, .row, [data-need] > a')]
  .filter((element) => element.checkVisibility())
  .filter((element) => { const { width, height } = element.getBoundingClientRect(); return width < 44 || height < 44 })
  .map((element) => element.outerHTML.slice(0, 100))`

describePage('a phone', {}, (world) => {
  const spawnAsking = async (name: string): Promise<string> => {
    const script = [{ text: `I make ${name}.`, tools: [{ name: 'bash', input: { command: `touch ${name}` } }] }, { text: 'done' }]
    const { uuid } = await world.daemon.spawnScripted(script, { name, permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    return uuid
  }
  const visitByPhone = async (): Promise<Page> => {
    const context = await world.browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    const page = await context.newPage()
    page.setDefaultTimeout(PAGE_WAIT_MS)
    const { code } = await world.web.createLink()
    await page.goto(`${world.web.origin}/#k=${code}`)
    await page.waitForSelector('[data-link="open"]')
    return page
  }
  const findSmallTargets = (page: Page): Promise<string[]> => page.evaluate<string[]>(FIND_SMALL_TARGETS)

  test('begins with what needs the user, and answers it by touch', async () => {
    const first = await spawnAsking('one')
    const second = await spawnAsking('two')
    const page = await visitByPhone()
    await page.locator('.need-cards button:enabled').first().waitFor()
    expect(new URL(page.url()).pathname).toBe('/needs')
    expect(await findSmallTargets(page)).toEqual([])
    await page.locator(`[data-need="${first}"] > a`).tap()
    await page.locator('.need-page pre', { hasText: /^touch one$/ }).waitFor()
    expect(await page.locator('.need-page .question button').count()).toBe(2)
    expect(await findSmallTargets(page)).toEqual([])
    await page.locator('.need-page button[data-kind="allow_once"]:enabled').tap()
    await page.locator('.need-page pre', { hasText: /^touch two$/ }).waitFor()
    await page.locator('.need-page button[data-kind="reject_once"]:enabled').tap()
    await page.getByText('Nothing needs you.').waitFor()
    for (const uuid of [first, second]) await world.daemon.waitForEnd(uuid)
    expect([existsSync(join(world.daemon.work, 'one')), existsSync(join(world.daemon.work, 'two'))]).toEqual([true, false])
    await page.context().close()
  })

  test('opens a process from the list, and ends it only while the button is held', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'builder' })
    const page = await visitByPhone()
    await page.locator('.pages.bottom a', { hasText: 'Fleet' }).tap()
    await page.locator(`.row[data-uuid="${uuid}"]`).waitFor()
    expect(await findSmallTargets(page)).toEqual([])
    await page.locator(`.row[data-uuid="${uuid}"] .why`).tap()
    await page.getByRole('button', { name: 'Kill …' }).tap()
    const button = page.getByRole('button', { name: 'Kill now' })
    await button.tap()
    expect((await world.daemon.view(uuid)).status).toBe('working')
    await button.dispatchEvent('pointerdown', { pointerType: 'touch' })
    await page.locator('.status-word[data-status="stopped"]').waitFor()
    await page.context().close()
  })
})
