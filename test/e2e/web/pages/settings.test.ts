// The settings in Chromium: looks, keys and notifications of this browser, and the sessions of the page with the means to end them.
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

describePage('the settings', {}, (world) => {
  test('keep the looks and the keys of this browser', async () => {
    const page = await world.visit('/settings')
    const readBackground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await readBackground()
    await page.getByLabel('dark').check()
    expect(await readBackground()).not.toBe(light)
    await page.getByLabel('keys without Ctrl work').uncheck()
    await page.reload()
    await page.locator('.settings').waitFor()
    expect(await readBackground()).not.toBe(light)
    expect(await page.getByLabel('keys without Ctrl work').isChecked()).toBe(false)
    await page.getByLabel('as the system').check()
    expect(await readBackground()).toBe(light)
    expect(await findAccessibilityFaults(page)).toEqual([])
  })

  test('list the sessions, and end one, all others, or this one', async () => {
    const other = await world.web.startSession({ right: 'read', label: 'phone' })
    await world.web.startSession({ label: 'laptop' })
    const page = await world.visit('/settings')
    await page.locator('tr[data-session]', { hasText: 'phone' }).getByText('read', { exact: true }).waitFor()
    expect(await page.locator('tr[data-session]').count()).toBe(3)
    await page.locator('tr[data-session]', { hasText: 'phone' }).getByRole('button', { name: 'End' }).click()
    await expect.poll(() => page.locator('tr[data-session]').count()).toBe(2)
    expect(await world.web.request(other.token, 'GET', '/v1/daemon')).toMatchObject({ status: 403 })
    await page.getByRole('button', { name: 'End all others' }).click()
    await expect.poll(() => page.locator('tr[data-session]').count()).toBe(1)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.locator('[data-no-session]').waitFor()
    // The browser reports the requests of the session that has ended.
    world.allowProblem('status of 403')
  })

  test('show a session with less rights only itself', async () => {
    await world.web.startSession({ label: 'laptop' })
    const page = await world.visit('/settings', { right: 'steer', label: 'phone' })
    await page.locator('tr[data-session]', { hasText: 'phone' }).waitFor()
    expect(await page.locator('tr[data-session]').allTextContents()).toHaveLength(1)
    expect(await page.getByRole('button', { name: 'End' }).count()).toBe(0)
  })

  test('notify the user of a new need while the tab is hidden, once that is switched on', async () => {
    const page = await world.openTab()
    await page.addInitScript(`
      globalThis.shownNotices = []
      globalThis.Notification = class { static requestPermission = async () => 'granted'; constructor(title, { body }) { shownNotices.push(title + ' | ' + body) } addEventListener() {} }
    `)
    await page.goto(`${world.web.origin}/settings#k=${(await world.web.createLink()).code}`)
    await page.getByLabel('notify me').check()
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true })`)
    const script = [{ text: 'I look.', tools: [{ name: 'bash', input: { command: 'touch made' } }] }]
    const { uuid } = await world.daemon.spawnScripted(script, { name: 'asker', permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    await expect.poll(() => page.evaluate('shownNotices')).toEqual(['reeve: asker | asks: bash: touch made'])
    await world.daemon.signal(uuid, 'SIGKILL')
  })
})
