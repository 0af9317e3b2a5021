// The page as people with any screen and any abilities have it: axe-core finds nothing on any page, light and dark, from 1440 to 320 px,
// and nothing must be scrolled sideways.
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'
import { findAccessibilityFaults, runAxe } from '../../support/web/accessibility-faults.ts'

/** far more than some hundred runs of axe take on a slow machine */
const LIMIT_MS = 600_000

describePage('every page', {}, (world) => {
  test('has a list with keys, a palette and needs that everyone can use', { timeout: LIMIT_MS }, async () => {
    const script = [{ text: 'I look.', tools: [{ name: 'bash', input: { command: 'touch made' } }] }]
    const { uuid } = await world.daemon.spawnScripted(script, { name: 'asker', permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    const page = await world.visit()
    const faults: Record<string, string[]> = {}
    const look = async (name: string, selector: string): Promise<void> => {
      await page.locator(selector).first().waitFor()
      faults[name] = await findAccessibilityFaults(page)
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    await page.locator('.row').waitFor()
    for (const key of ['j', 'x', 'Space']) await page.keyboard.press(key)
    await look('peek', '.peek-panel button:enabled')
    for (const key of ['Escape', 'Escape', '?']) await page.keyboard.press(key)
    await look('keys', 'dialog .key-list')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await look('palette', 'dialog .choice')
    await page.keyboard.press('Escape')
    await page.locator('.pages a', { hasText: 'Needs' }).click()
    await look('needs', '.need-cards button:enabled')
    await page.locator('[data-need] a').first().click()
    await look('one need', '.need-page button:enabled')
    expect(faults).toEqual({ peek: [], keys: [], palette: [], needs: [], 'one need': [] })
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('can be used by everyone, in both themes and at all widths', { timeout: LIMIT_MS }, async () => {
    const { daemon } = world
    const asking = await daemon.spawnScripted([{ text: 'I look.', tools: [{ name: 'bash', input: { command: 'touch made' } }] }], {
      name: 'asker',
      permissions: 'ask',
    })
    const failing = [{ text: 'I try.', tools: [{ name: 'bash', input: { command: 'exit 3' } }] }, { text: 'It broke.' }]
    const ended = await daemon.spawnScripted(failing, { name: 'ended' })
    await daemon.spawnShell('echo out; sleep 600', { name: 'shell' })
    await daemon.waitForStatus(asking.uuid, 'waiting')
    await daemon.waitForEnd(ended.uuid)
    const page = await world.visit()
    const faults: Record<string, string[]> = {}
    const look = async (name: string, selector: string): Promise<void> => {
      await page.locator(selector).first().waitFor()
      faults[name] = await findAccessibilityFaults(page)
    }
    const follow = async (name: string): Promise<void> => {
      await page.locator(`.row[data-uuid] .name a`, { hasText: name }).click()
    }
    const goHome = (): Promise<void> => page.getByRole('link', { name: 'reeve' }).click()

    await look('fleet', '.needs button:enabled')
    await page.locator('#filter').fill('nothing:here is:held')
    await look('no match', '.empty')
    await page.locator('#filter').fill('')
    await follow('asker')
    await look('question', '.question button:enabled')
    await page.getByRole('button', { name: 'Stop …' }).click()
    await look('end', 'dialog .stakes')
    await page.keyboard.press('Escape')
    await goHome()
    await follow('ended')
    await page.locator('.step-row[data-step="1"]').click()
    await look('steps', '.tool.failed')
    await page.locator('.fork').click()
    await look('fork', 'dialog .fork-form')
    await page.keyboard.press('Escape')
    // The links after the tabs lead to other pages.
    for (const tab of ['steps', 'files', 'logs', 'context', 'signals', 'limits', 'events']) {
      await page.locator('.tabs a', { hasText: tab }).click()
      await look(tab, `.tabs a[aria-current]`)
    }
    await daemon.client.delete('/v1/web/sessions')
    await look('no session', '[data-no-session]')
    expect(faults).toEqual(Object.fromEntries(Object.keys(faults).map((name) => [name, []])))
    expect(Object.keys(faults).length).toBeGreaterThanOrEqual(9)
    world.allowProblem('status of 4')

    await page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    expect(await runAxe(page), 'axe reports a picture without a text').toEqual([expect.stringMatching(/^image-alt/)])
  })
})
