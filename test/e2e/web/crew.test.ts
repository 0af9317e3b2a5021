// The board of a crew in Chromium: tasks by state, members, one task with its thread and its change, the approval of its commit, and
// the report.
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ROOT } from '../../support/env.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { Repository } from '../../support/git/repository.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { findAccessibilityFaults } from '../../support/web/accessibility-faults.ts'
import { PageWorld } from '../../support/web/page-world.ts'

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

describe.runIf(CHROMIUM !== null)('the board of a crew', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  let world: PageWorld

  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    world = await PageWorld.start(browser)
  })
  afterEach(async () => {
    await world[Symbol.asyncDispose]()
    expect(world.daemon.errors).toEqual([])
    expect(world.problems).toEqual([])
  })

  test('shows a task in its lane, with its change and thread; an approval on the page merges it', { timeout: TIMEOUT_MS }, async () => {
    const { daemon } = world
    const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
    repository.git('config', 'user.name', 'T')
    repository.git('config', 'user.email', 't@example.org')
    repository.commit({ 'tasks.md': '## lexer: The lexer\nreviews: false\nWrite lexer.txt with tokens.\n' })
    const args = ['crew', 'up', '-d', '--name', 'fix', '--workers', '1', '--gate', 'human', '--tasks', 'tasks.md', '--model', WORKER]
    expect(await runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })).toMatchObject({ code: 0 })
    const { uuid } = await daemon.view('fix')
    const page = await world.visit(`/p/${uuid}`)
    const card = page.locator('.lane[data-lane="commit"] .card.asks')
    await card.waitFor({ timeout: TIMEOUT_MS })
    await card.click()
    await page.locator('.crew-task[data-state="waiting"] .diff-line.added').first().waitFor()
    await page.locator('.attempt[data-attempt="1"] .thread li').nth(1).waitFor()
    const order = await page.evaluate<number>(
      `document.querySelector('.task-change').compareDocumentPosition(document.querySelector('.question'))`,
    )
    expect(order, 'the question stands below the change').toBe(4)
    await page
      .locator('button', { hasText: /approve/i })
      .and(page.locator(':enabled'))
      .click()
    await page.locator('.crew-task[data-state="done"]').waitFor({ timeout: TIMEOUT_MS })
    await page.getByRole('link', { name: 'All tasks' }).click()
    await page.locator('.lane[data-lane="done"] .card', { hasText: 'merged' }).waitFor()
    await page.getByRole('button', { name: 'report' }).click()
    const report = page.locator('.crew-report')
    await report.getByText(/1 of 1 task done · 1 commit/).waitFor()
    await report.locator('tr[data-name="lexer"]', { hasText: /worker-1.*[0-9a-f]{7}/ }).waitFor()
    await report.locator('[aria-label="Members"] tr[data-name="worker-1"]').waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])
  })
})
