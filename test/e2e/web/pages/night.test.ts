// The night page in Chromium: who worked, waited and was held, what ended and asked, and the choice of a time and of a tree.
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

describePage('the night', {}, (world) => {
  test('shows what happened, as lanes and as a list, of all and of one process', async () => {
    const { daemon } = world
    const empty = await world.visit('/night?since=1h')
    await empty.getByText('Nothing happened in this time.').waitFor()
    await daemon.waitForEnd((await daemon.spawnShell('exit 3', { name: 'broken' })).uuid)
    await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'fine' })).uuid)
    const held = await daemon.spawnShell('sleep 600', { name: 'held' })
    await daemon.pause(held.uuid)
    await daemon.waitForStatus(held.uuid, 'suspended')
    const asks = [{ text: 'I push.', tools: [{ name: 'bash', input: { command: 'git push' } }] }]
    const asker = await daemon.spawnScripted(asks, { name: 'asker', permissions: 'ask' })
    await daemon.waitForStatus(asker.uuid, 'waiting')

    const page = await world.visit('/night?since=1h')
    await page.locator('.summary', { hasText: /1 completed.*1 failed.*1 held.*1 asked/ }).waitFor()
    await page.locator('.summary a', { hasText: 'need you now' }).waitFor()
    expect(await page.locator('tr[data-kind="failed"] td').last().textContent()).toMatch(/^failed: .*3/)
    await page.locator('tr[data-kind="held"]', { hasText: 'paused by' }).waitFor()
    await page.locator(`.swim-lane[data-uuid="${asker.uuid}"] rect.asked`).waitFor()
    await page.locator(`.swim-lane[data-uuid="${held.uuid}"] rect.held`).waitFor()
    await page.locator('tr[data-kind="asked"]').getByRole('link', { name: 'still open' }).waitFor()
    expect(await page.locator('.lane-ticks span').count()).toBeGreaterThan(1)
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.locator('.summary [data-count="failed"]').click()
    await expect.poll(() => page.locator('tr[data-kind]').count(), { timeout: 100_000 }).toBe(1)
    expect(new URL(page.url()).searchParams.get('kind')).toBe('failed')
    await page.locator('.summary [data-count="failed"]').click()
    await page.locator('select[name="under"]').selectOption(held.uuid)
    await page.locator('.summary', { hasText: /^1 held/ }).waitFor()
    expect(await page.locator('.swim-lane').count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('under')).toBe(held.uuid)
    await page.locator('.swim-lane a').click()
    await page.locator(`.process[data-uuid="${held.uuid}"]`).waitFor()
  })

  test('begins when the page was last hidden for a minute or more, also in an open tab', async () => {
    const page = await world.visit('/night')
    const since = page.locator('select[name="since"]')
    expect(await since.inputValue()).toBe('8h')
    await page.evaluate(`
      localStorage.setItem('reeve.hidden', Date.now() - 30_000)
      dispatchEvent(new Event('visibilitychange'))`)
    expect(await since.inputValue()).toBe('8h')
    await page.evaluate(`
      localStorage.setItem('reeve.hidden', Date.now() - 90_000)
      dispatchEvent(new Event('visibilitychange'))`)
    await since.locator('option', { hasText: 'since you left' }).waitFor({ state: 'attached' })
    expect(await since.inputValue()).toBe('left')
    await page.getByText('Nothing happened in this time.').waitFor()
  })
})
