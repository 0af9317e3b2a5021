// The cost page in Chromium: money by time and group, the budget of a day, the chart by keys and as a table, and the hours of a day.
import { readFile } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { startModelServer } from '../../../support/models/model-server.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

const server = await startModelServer(Array.from({ length: 12 }, () => ({ text: 'done', usage: { input: 100_000, output: 50_000 } })))
afterAll(() => server[Symbol.asyncDispose]())

const config = [
  `providers: [{ name: work, kind: openai-compatible, baseURL: "${server.url}/v1", models: { m: { maxOutputTokens: 60000 }, new: { maxOutputTokens: 60000 } } }]`,
  'prices: { "work/m": { input: 2, output: 4, window: 900000 } }',
  'budgets: { dailyUsd: 10 }\n',
].join('\n')

describePage('the cost', { config }, (world) => {
  const run = async (model: string, team: string): Promise<string> => {
    const { uuid } = await world.daemon.spawn({ model, intent: 'work', name: `${team}-1`, labels: { team } })
    await world.daemon.waitForEnd(uuid)
    return uuid
  }

  test('shows that nothing was spent, or the sums, with a mark for an unknown price', async () => {
    const page = await world.visit()
    await page.locator('nav.pages a', { hasText: 'Cost' }).click()
    await page.getByText('No model was called in this time.').waitFor()
    await run('work/m', 'web')
    await run('work/new', 'docs')
    const total = page.locator('.cost tfoot td').first()
    await total.filter({ hasText: '$0.40+' }).waitFor()
    expect(await page.locator('tr[data-key="work/new"] td').first().textContent()).toBe('?')
    expect(await page.locator('tr[data-key="work/m"] td').allTextContents()).toEqual(['$0.40', '1', '1', '100k', '50.0k', '0', '0', '0 %'])
    await page.locator('.figures [aria-label="dailyUsd: $0.40 / $10"]').waitFor()
    expect(await page.locator('.command-line code').textContent()).toBe('reeve usage --by day,model --since 30d')
  })

  test('keeps what it shows in its address, and splits by a label and the directory', async () => {
    await run('work/m', 'web')
    await run('work/m', 'docs')
    const page = await world.visit('/cost?since=7d')
    await page.locator('select[name="split"]').selectOption('label:team')
    await page.locator('tr[data-key="docs"]').waitFor()
    expect(new URL(page.url()).search).toBe('?since=7d&label=team&split=label')
    expect(await page.locator('.command-line code').textContent()).toBe('reeve usage --by day,label:team --since 7d')
    await page.locator('tr[data-key="web"] a').click()
    await page.locator('.row').waitFor()
    expect(await page.locator('.row .name a').allTextContents()).toEqual(['web-1'])
    await page.goBack()
    await page.locator('select[name="split"]').selectOption('project')
    await page.locator(`tr[data-key="${world.daemon.work}"]`).waitFor()
    await page.locator('input[name="under"]').fill('web-1')
    await page.keyboard.press('Enter')
    await page.locator('.cost tfoot td', { hasText: '$0.40' }).waitFor()
  })

  test('reads the chart by keys and as a table, opens the hours of a day, and saves the rows', async () => {
    await run('work/m', 'web')
    const page = await world.visit('/cost?since=7d')
    const chart = page.getByRole('slider', { name: 'Time' })
    await chart.focus()
    await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/^\d{4}-\d\d-\d\d: \$0\.40 · work\/m \$0\.40$/)
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await chart.focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/: \$0\.00$|: -$/)
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/^\d{4}-\d\d-\d\d \d\d:00: /)
    expect(await page.locator('[data-time]').count()).toBe(24)
    await page.locator('select[name="view"]').selectOption('table')
    await page.locator('.times td', { hasText: '$0.40' }).waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()])
    expect(await readFile(await saved.path(), 'utf8')).toMatch(/^"hour","model","processes".*\n".* \d\d:00","work\/m","1","1","100000"/)
    const [json] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as JSON' }).click()])
    expect(JSON.parse(await readFile(await json.path(), 'utf8'))).toMatchObject({ by: 'hour', split: 'model', rows: [{ part: 'work/m' }] })
  })
})
