// Crews from the page in Chromium: one is planned and started, its question is answered on its board, and it is told what to do by the
// commands that the page shows.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CrewView } from '../../../../src/api/views/crew.ts'
import { ROOT } from '../../../support/env.ts'
import { Repository } from '../../../support/git/repository.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults, runAxe } from '../../../support/web/accessibility-faults.ts'

const TIMEOUT_MS = 480_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

describePage('the crews', { config: 'web: { allow: [commands] }\n' }, (world) => {
  const crewOf = async (name: string): Promise<CrewView> => (await world.daemon.client.get<{ crew: CrewView }>(`/v1/crews/${name}`)).crew

  /** A repository in which a process has worked, so that the page may start more there. */
  async function makeRepository(): Promise<string> {
    const { daemon } = world
    const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
    repository.git('config', 'user.name', 'T')
    repository.git('config', 'user.email', 't@example.org')
    repository.commit({ 'readme.md': 'A repository.\n' })
    await daemon.spawnShell('true', { cwd: repository.dir })
    return repository.dir
  }

  test('one is planned, started, and told what to do', { timeout: TIMEOUT_MS }, async () => {
    const dir = await makeRepository()
    const page = await world.visit('/crews')
    await page.getByText('There is no crew.').waitFor()
    await page.getByRole('link', { name: 'Start a crew …' }).click()
    await page.locator('.plan.problem', { hasText: 'reeve crew up' }).waitFor()
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Name').fill('fix')
    await page.getByLabel('Workers').fill('1')
    await page.getByLabel('Model').fill(WORKER)
    await page.getByLabel('Who approves commits').selectOption('human')
    await page.getByRole('button', { name: 'Add a task' }).click()
    await page.getByLabel('What to do').fill('Write lexer.txt with tokens.')
    await page.getByLabel('Id').fill('lexer')
    await page.locator('.plan li', { hasText: 'lexer · Write lexer.txt' }).waitFor()
    expect(await page.locator('.command-line code').textContent()).toBe(
      `reeve crew up -d --cwd ${dir} --name fix --workers 1 --model ${WORKER} --gate human --tasks tasks.md`,
    )
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.locator('.lane .card', { hasText: 'lexer' }).waitFor()

    await page.getByRole('button', { name: 'Add a task …' }).click()
    await page.locator('dialog').getByLabel('What to do').fill('Which licence?')
    await page.locator('dialog').getByLabel('Id').fill('licence')
    await page.locator('dialog').getByLabel('a question for you').check()
    expect(await page.locator('dialog pre.command').textContent()).toBe("reeve crew add --id licence --human fix 'Which licence?'")
    expect(await runAxe(page)).toEqual([])
    await page.locator('dialog').getByRole('button', { name: 'Add a task', exact: true }).click()
    await page.locator('.card.asks[data-task="licence"]').waitFor()
    expect((await crewOf('fix')).tasks.map(({ id, kind }) => [id, kind])).toEqual([
      ['lexer', 'work'],
      ['licence', 'human'],
    ])
    await page.locator('.card[data-task="licence"]').click()
    await page.getByRole('button', { name: 'Cancel …' }).click()
    await page.locator('dialog').getByLabel('Reason').fill('it has one')
    await page.locator('dialog').getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.locator('.crew-task[data-state="cancelled"]').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.locator('.crew-task[data-state="waiting"]').waitFor()
    await page.getByRole('link', { name: 'All tasks' }).click()
    await page.locator('.card.asks[data-task="lexer"]').waitFor({ timeout: TIMEOUT_MS })
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.locator('nav.pages a', { hasText: 'Crews' }).click()
    await page.locator('tr[data-crew="fix"]', { hasText: '0 of 2' }).waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])
    // The browser reports each plan that the daemon refused.
    world.allowProblem('status of 400')
  })
})

describePage('the crews without the right to start commands', {}, (world) => {
  test('name the setting that allows them', async () => {
    await world.daemon.spawnShell('true')
    const page = await world.visit('/crews/start')
    await page.locator('.plan.problem', { hasText: 'web: { allow: [commands] }' }).waitFor()
    world.allowProblem('status of 403')
  })
})
