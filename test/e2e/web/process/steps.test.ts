// The steps of a process in Chromium: 5,000 of them in a list that draws only what is visible, with filters, keys, the time axis, one step
// whole, the process as of a step, and the line at which a fork begins. No test here measures time: bench/page-process.ts does.
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { LONG_UUID, writeLongHistory } from '../../../support/store/long-history.ts'

const STEPS = 5_000
const call = (command: string): { tools: readonly object[] } => ({ tools: [{ name: 'bash', input: { command } }] })

const selected = (page: Page, step: number): Locator => page.locator(`.step-row.selected[data-step="${step}"]`)
const detail = (page: Page, step: number): Locator => page.locator(`.step-detail[data-step="${step}"]`)

describePage('5,000 steps', { prepare: (stateDir) => writeLongHistory(stateDir, STEPS) }, (world) => {
  test('are read at once, and only the visible ones are drawn', async () => {
    const page = await world.openTab()
    const reads: string[] = []
    page.on('request', (request) => /\/steps/.test(request.url()) && reads.push(new URL(request.url()).search))
    await page.goto(`${world.web.origin}/p/${LONG_UUID}#k=${(await world.web.createLink()).code}`)
    await selected(page, STEPS).waitFor()
    await detail(page, STEPS).locator('.tool').waitFor()
    // All columns, what is new after them, and the selected step in full.
    expect(reads.filter((query) => query.includes('brief')).length).toBeLessThanOrEqual(2)
    expect(reads.filter((query) => query.startsWith('?at'))).toEqual([`?at=${STEPS}`])
    expect(await page.locator('.step-row').count()).toBeLessThan(60)
    expect(await page.locator('*').count()).toBeLessThan(900)
    await page.close()
  })

  test('are gone through by keys: steps, pages, changed files, and both ends', async () => {
    const page = await world.visit(`/p/${LONG_UUID}/steps/2500`)
    await selected(page, 2500).waitFor()
    await page.locator('.list').focus()
    const press = async (key: string, step: number): Promise<void> => {
      await page.keyboard.press(key)
      await selected(page, step).waitFor()
      await detail(page, step).waitFor()
    }
    await press(']', 2501)
    await press('[', 2500)
    await press('{', 2480)
    await press('}', 2500)
    await press('Home', 1)
    await press('End', STEPS)
    await press('k', 4996)
    await press('Enter', 4996)
    await press('j', 4997)
    expect(new URL(page.url()).pathname).toBe(`/p/${LONG_UUID}/steps/4997`)
    await page.goBack()
    // Going from step to step adds nothing to the way back.
    expect(page.url()).not.toContain('/steps/')
    await page.close()
  })

  test('are filtered by kind and by text, and the address has the filter', async () => {
    const page = await world.visit(`/p/${LONG_UUID}`)
    await page.getByRole('button', { name: 'failed' }).click()
    await page.locator('.step-row .tools', { hasText: 'failed' }).first().waitFor()
    await page.locator('.step-row[data-step="4957"]').waitFor()
    expect(new Set(await page.locator('.step-row .tools').allTextContents())).toEqual(new Set(['read_file failed']))
    expect(new URL(page.url()).search).toBe('?only=failed')
    await page.getByRole('button', { name: 'failed' }).click()
    await page.getByLabel('Find in the steps').fill('Step 4005:')
    await page.locator('.step-row[data-step="4005"]').waitFor()
    expect(await page.locator('.step-row').count()).toBe(1)
    await page.getByLabel('Find in the steps').fill('no such text')
    await page.getByRole('button', { name: 'No step matches: show all' }).click()
    await selected(page, STEPS).waitFor()
    await page.close()
  })

  test('are on an axis of active time: keys and clicks select, and the night in which it was held is folded', async () => {
    const page = await world.visit(`/p/${LONG_UUID}/steps/2500`)
    const axis = page.getByRole('slider', { name: 'Step on the time axis' })
    await axis.waitFor()
    expect(await axis.getAttribute('aria-valuemax')).toBe(String(STEPS))
    await axis.focus()
    await page.keyboard.press('ArrowRight')
    await selected(page, 2501).waitFor()
    expect(await axis.getAttribute('aria-valuetext')).toMatch(/^step 2501, /)
    await page.keyboard.press('+')
    await page.keyboard.press('0')
    const box = await axis.boundingBox()
    if (!box) throw new Error('the axis has no box')
    const valueAt = async (share: number): Promise<number> => {
      const before = await axis.getAttribute('aria-valuenow')
      await page.mouse.click(box.x + box.width * share, box.y + box.height / 2)
      await page.locator(`[role="slider"].axis:not([aria-valuenow="${before}"])`).waitFor()
      return Number(await axis.getAttribute('aria-valuenow'))
    }
    // The fold is in the middle and is narrow: a quarter of the axis is a quarter of the steps.
    const quarter = await valueAt(0.25)
    expect(quarter).toBeGreaterThan(1_150)
    expect(quarter).toBeLessThan(1_350)
    await page.getByLabel('clock').check()
    const byClock = await valueAt(0.25)
    expect(byClock).toBeGreaterThan(quarter + 200)
    await page.close()
  })
})

describePage('a process as of a step', {}, (world) => {
  test('shows the steps up to it, and nothing can be done but forking', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('echo a'), call('echo b'), call('sleep 600')], { name: 'worker' })
    await world.daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'tool.started' && step === 3)
    const page = await world.visit(`/p/${uuid}/steps/2`)
    await selected(page, 2).waitFor()
    await page.getByRole('button', { name: 'Stop …' }).waitFor()
    await page.locator('.list').focus()
    await page.keyboard.press('z')
    await page.locator('.replay-bar', { hasText: 'as it was after step 2 of 3' }).waitFor()
    expect(new URL(page.url()).search).toBe('?as=2')
    expect(await page.locator('.step-row').count()).toBe(2)
    expect(await page.getByRole('button', { name: 'Stop …' }).count()).toBe(0)
    expect(await page.getByLabel('Message').count()).toBe(0)
    await page.keyboard.press('[')
    await page.locator('.replay-bar', { hasText: 'after step 1 of 3' }).waitFor()
    expect(await page.locator('.step-row').count()).toBe(1)
    await page.reload()
    await page.locator('.replay-bar', { hasText: 'after step 1 of 3' }).waitFor()
    await page.locator('.tabs a', { hasText: 'files' }).click()
    expect(new URL(page.url()).search).toBe('?as=1')
    await page.locator('.replay-bar button', { hasText: 'Fork here' }).click()
    await page.getByRole('dialog', { name: 'Fork worker after step 1' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('button', { name: 'Stop …' }).waitFor()
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('is forked at the line between two steps, by the pointer and by key', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('echo a'), call('echo b'), { text: 'end' }], { name: 'worker' })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.locator('.step-row[data-step="2"]').hover()
    await page.locator('.step-row[data-step="2"] .fork-label', { hasText: 'fork after step 2' }).click()
    const dialog = page.getByRole('dialog', { name: 'Fork worker after step 2' })
    await dialog.getByText('The fork keeps steps 1 to 2.').waitFor()
    await dialog.getByRole('slider').fill('1')
    await page.getByRole('dialog', { name: 'Fork worker after step 1' }).waitFor()
    await page.getByLabel('Effort').selectOption('high')
    await page.getByLabel('Name').fill('other')
    await page.getByLabel('Budget in USD').fill('2.5')
    expect(await page.locator('dialog .command').textContent()).toBe(
      'reeve resume worker --fork --from-step 1 --effort high --name other --budget-usd 2.5',
    )
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.locator('.list').focus()
    // Keys do nothing for a moment after a dialog opened.
    const pressFork = async (): Promise<number> => {
      await page.keyboard.press('f')
      return page.locator('dialog').count()
    }
    await expect.poll(pressFork).toBe(1)
    await page.getByRole('dialog', { name: 'Fork worker after step 3' }).waitFor()
  })

  test('has no fork line in a session that may not start agents, and none for a command', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('echo a'), { text: 'end' }], { name: 'worker' })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/steps/1`, { right: 'steer' })
    await detail(page, 1).locator('.tool').waitFor()
    await page.locator('.step-row[data-step="1"]').hover()
    expect(await page.locator('.fork-line, .fork').count()).toBe(0)
    await page.locator('.list').focus()
    await page.keyboard.press('f')
    await page.keyboard.press('z')
    await page.locator('.replay-bar').waitFor()
    expect(await page.locator('dialog, .replay-bar button:has-text("Fork")').count()).toBe(0)
  })
})
