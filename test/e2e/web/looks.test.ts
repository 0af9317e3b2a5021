// The page as people with any screen and any abilities have it: axe-core finds nothing on any page, light and dark, from 1440 to 320 px,
// and nothing must be scrolled sideways.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const WIDTHS = [1440, 768, 390, 320] as const
const RUN_AXE = `axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`
const FIND_SMALL_TEXTS = `[...document.querySelectorAll('body *')]
  .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
  .filter((element) => Number.parseFloat(getComputedStyle(element).fontSize) < 12)
  .map((element) => element.outerHTML.slice(0, 120))`
const EXCESS_WIDTH = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describePage('every page', {}, (world) => {
  /** What is wrong with a page, in each theme and width. */
  async function findFaults(page: Page): Promise<string[]> {
    const faults: string[] = []
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of WIDTHS) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        const found = [...(await page.evaluate<string[]>(RUN_AXE)), ...(await page.evaluate<string[]>(FIND_SMALL_TEXTS))]
        const excess = await page.evaluate<number>(EXCESS_WIDTH)
        faults.push(...found.map((fault) => `${colorScheme} ${width}: ${fault}`))
        if (excess > 0) faults.push(`${colorScheme} ${width}: ${excess} px too wide`)
      }
    return faults
  }

  test('can be used by everyone, in both themes and at all widths', async () => {
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
    await page.evaluate(AXE)
    const faults: Record<string, string[]> = {}
    const look = async (name: string, selector: string): Promise<void> => {
      await page.locator(selector).first().waitFor()
      faults[name] = await findFaults(page)
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
    for (const tab of await page.locator('.tabs a').allTextContents()) {
      await page.locator('.tabs a', { hasText: tab }).click()
      await look(tab, `.tabs a[aria-current]`)
    }
    await daemon.client.delete('/v1/web/sessions')
    await look('no session', '[data-no-session]')
    expect(faults).toEqual(Object.fromEntries(Object.keys(faults).map((name) => [name, []])))
    expect(Object.keys(faults).length).toBeGreaterThanOrEqual(9)
    world.problems.splice(0)

    await page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    expect(await page.evaluate(RUN_AXE), 'axe reports a picture without a text').toEqual([expect.stringMatching(/^image-alt/)])
  })
})
