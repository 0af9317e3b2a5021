// The list with 10,000 processes in Chromium: only the visible rows are in the document, and no process costs a request. Frames are measured
// by `npm run bench web`.
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { changeRows, sendManyRows } from '../../../support/web/many-rows.ts'

const COUNT = 10_000
/** the most elements of the document, whatever is scrolled, folded or filtered */
const MAX_ELEMENTS = 2_200

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
})
