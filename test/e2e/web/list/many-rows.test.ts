// The list with 10,000 processes in Chromium: only the visible rows are in the document, and no process costs a request. Frames are
// measured by `npm run bench page-list`.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { changeRows, sendManyRows } from '../../../support/web/many-rows.ts'

const COUNT = 10_000
/** the most elements of the document, whatever is scrolled, folded or filtered */
const MAX_ELEMENTS = 2_200
/** the messages of half an hour: ten a second */
const MESSAGES = 18_000
const WARM_UP = 1_000

/**
 * Sends messages with three changed rows each, as fast as the page takes them. Returns the bytes of its heap that are in use afterwards.
 */
async function heapAfter(page: Page, messages: number): Promise<number> {
  await page.evaluate(`(async () => {
    for (let sent = 0; sent < ${messages}; sent += 1) {
      sendChanges(3)
      if (sent % 20 === 0) await new Promise((resolve) => requestAnimationFrame(resolve))
    }
  })()`)
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
}

describePage('10,000 processes', {}, (world) => {
  test('cost neither elements nor requests', async () => {
    const page = await world.openTab()
    const requests: string[] = []
    page.on('request', (request) => request.url().includes('/v1/') && requests.push(new URL(request.url()).pathname))
    await sendManyRows(page, COUNT)
    const { code } = await world.web.createLink()
    await page.goto(`${world.web.origin}/#k=${code}`)
    await page.locator('.row').first().waitFor()
    const countElements = (): Promise<number> => page.evaluate<number>("document.querySelectorAll('*').length")
    const tree = page.locator('.tree')
    expect(await tree.getAttribute('aria-rowcount')).toBe(String(COUNT))
    expect(await countElements()).toBeLessThan(MAX_ELEMENTS)
    await page.keyboard.press('G')
    await page.getByText('n9999', { exact: true }).waitFor()
    await changeRows(page, 200)
    expect(await countElements()).toBeLessThan(MAX_ELEMENTS)
    await page.keyboard.press('-')
    await expect.poll(() => tree.getAttribute('aria-rowcount')).toBe('100')
    await page.keyboard.press('*')
    await page.locator('#filter').fill('name:n77')
    await page.getByText('n7799', { exact: true }).waitFor()
    expect(await countElements()).toBeLessThan(MAX_ELEMENTS)
    expect(requests.filter((path) => path.startsWith('/v1/processes'))).toEqual([])
    expect(requests.length).toBeLessThan(5)
  })

  test('keep the memory of the page flat through half an hour of changes', async () => {
    const page = await world.openTab()
    await sendManyRows(page, COUNT)
    const { code } = await world.web.createLink()
    await page.goto(`${world.web.origin}/#k=${code}`)
    await page.locator('.row').first().waitFor()
    const before = await heapAfter(page, WARM_UP)
    expect((await heapAfter(page, MESSAGES)) / before).toBeLessThan(1.1)
  })
})
