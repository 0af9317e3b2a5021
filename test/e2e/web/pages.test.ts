// The frame of the page in Chromium: the links to all pages, in the head of a wide screen and at the bottom of a phone, and a page whose
// code does not come.
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'

describePage('the frame', {}, (world) => {
  test('links to each page, marks the current one, and has its title', async () => {
    const page = await world.visit('/p')
    await page.getByText('There is no such page.').waitFor()
    await page.locator('nav.pages a', { hasText: 'Fleet' }).click()
    await page.getByText('Nothing runs here yet.').waitFor()
    expect(await page.locator('nav.pages a[aria-current]').allTextContents()).toEqual(['Fleet'])
    expect(await page.title()).toBe('reeve')
  })

  test('has its links at the bottom of a phone', async () => {
    const page = await world.visit()
    await page.setViewportSize({ width: 390, height: 844 })
    const bar = page.locator('nav.pages.bottom')
    await bar.waitFor()
    const box = await bar.boundingBox()
    expect(Math.round((box?.y ?? 0) + (box?.height ?? 0))).toBe(844)
    for (const link of await bar.locator('> *').all()) expect((await link.boundingBox())?.height).toBeGreaterThanOrEqual(44)
  })

  test('offers to try again when the code of a page cannot be loaded', async () => {
    const page = await world.openTab()
    let isMissing = true
    await page.route('**/assets/process-*.js', (route) => (isMissing ? route.abort() : route.continue()))
    const { uuid } = await world.daemon.spawnShell('sleep 600')
    const { code } = await world.web.createLink()
    await page.goto(`${world.web.origin}/p/${uuid}#k=${code}`)
    await page.getByText('The daemon did not send the page').waitFor()
    isMissing = false
    // A click would look for the button again if the page is left at once.
    await page.getByRole('button', { name: 'Load this tab again' }).dispatchEvent('click')
    await page.locator(`.process[data-uuid="${uuid}"]`).waitFor()
    world.allowProblem('ERR_FAILED')
  })
})
