// The palette in Chromium: it opens pages and processes, and does what the current process can do, with the command line of each action.
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'

describePage('the palette', {}, (world) => {
  test('opens a process that is typed, and pauses it there', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'builder' })
    await world.daemon.spawnShell('sleep 600', { name: 'docs' })
    const page = await world.visit()
    await page.locator('.row').nth(1).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search processes, pages and actions' }).fill('buil')
    await page.locator('.choice', { hasText: 'builder' }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator(`.process[data-uuid="${uuid}"]`).waitFor()
    await page.getByRole('button', { name: 'Go to, or do' }).click()
    const pause = page.locator('.choice', { hasText: 'pause with all below' })
    expect(await pause.locator('.command-line').textContent()).toBe('reeve pause --subtree builder')
    await pause.click()
    await page.locator('.status-word[data-status="suspended"]').waitFor()
    await page.keyboard.press(':')
    await page.getByRole('combobox', { name: 'Search processes, pages and actions' }).fill('fleet')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.locator('.row').nth(1).waitFor()
  })
})
