// What helps a process that does not go on, in Chromium: an ended one is resumed with a message, a hold has its buttons where it is listed,
// a need is put off, and a pause is taken back.
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'

describePage('a process that does not go on', {}, (world) => {
  test('is resumed after its end, with a message and with more of a limit', async () => {
    const script = [{ text: 'one' }, { text: 'I got: {{ message }}' }]
    const { uuid } = await world.daemon.spawnScripted(script, { name: 'docs', limits: { maxSteps: 5 } })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.locator('.status-word[data-status="completed"]').waitFor()
    await page.keyboard.press('R')
    const dialog = page.getByRole('dialog', { name: 'Resume docs' })
    await dialog.getByText('It goes on after step 1, with a new PID.').waitFor()
    await dialog.getByLabel('Message').fill('go on')
    await dialog.getByLabel('Limit', { exact: true }).selectOption('maxSteps')
    await dialog.getByLabel('Added to 5: steps').fill('3')
    expect(await dialog.locator('.command').textContent()).toBe("reeve resume --max-steps +3 --message 'go on' docs")
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.step-detail .agent-text', { hasText: 'I got: go on' }).waitFor()
    expect((await world.daemon.view(uuid)).limits).toMatchObject({ maxSteps: 8 })
  })

  test('runs again from its beginning, if it has no session, and the daemon refuses what it cannot do', async () => {
    const { uuid, pid } = await world.daemon.spawnShell('echo run >> runs; exit 3', { name: 'build' })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.getByRole('button', { name: 'Resume …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resume build' })
    const rerun = dialog.getByLabel('run it again from its beginning')
    await dialog.locator('.command', { hasText: /^reeve resume --rerun build$/ }).waitFor()
    await rerun.uncheck()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await dialog.getByRole('alert').getByText('--rerun runs it again').waitFor()
    await rerun.check()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await dialog.waitFor({ state: 'detached' })
    await world.daemon.waitForView(uuid, (view) => view.pid !== pid && view.status === 'failed')
    await world.expectProblem('status of 409')
  })

  test('has the buttons that help where it is listed, is put off, and shown again', async () => {
    const call = { tools: [{ name: 'bash', input: { command: 'true' } }], usage: { input: 100, output: 10 } }
    const { uuid } = await world.daemon.spawnScripted([call, { text: 'two' }], {
      name: 'port',
      limits: { budgetTokens: 50 },
    })
    const child = await world.daemon.spawnShell('sleep 600', { name: 'other' })
    await world.daemon.waitForStatus(uuid, 'suspended')
    const page = await world.visit()
    const need = page.locator(`[data-need="${uuid}"]`)
    await need.getByRole('link', { name: 'Change its limit …' }).waitFor()
    await need.getByRole('button', { name: 'Put off …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Put off what port needs' })
    await dialog.locator('.command', { hasText: /^reeve needs --snooze 1h port$/ }).waitFor()
    await dialog.getByRole('button', { name: 'Put it off' }).click()
    await need.waitFor({ state: 'detached' })
    await page.locator('.notice').getByRole('button', { name: 'Undo' }).click()
    await need.waitFor()

    await page.locator(`.row[data-uuid="${child.uuid}"]`).click()
    await page.keyboard.press('p')
    await page.locator(`.row[data-uuid="${child.uuid}"][data-status="suspended"]`).waitFor()
    await page.locator('.notice', { hasText: 'paused other' }).getByRole('button', { name: 'Undo' }).click()
    await page.locator(`.row[data-uuid="${child.uuid}"][data-status="working"]`).waitFor()
  })
})
