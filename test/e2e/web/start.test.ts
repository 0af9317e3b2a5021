// The page starts an agent in a directory where one has worked, with the chosen settings, by the command line that the page shows.
import { expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { describePage } from '../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../support/web/accessibility-faults.ts'

describePage('the page that starts agents', { config: 'web: { allow: [commands] }\n' }, (world) => {
  test('names the command that starts the first process, if none has worked yet', async () => {
    const page = await world.visit('/start')
    await page.getByText('none has worked yet').waitFor()
  })

  test('starts an agent with the entered settings, and opens its page', async () => {
    const { daemon } = world
    const model = await daemon.writeScript([{ text: 'I wait.' }])
    await daemon.spawnShell('true')
    const page = await world.visit('/start')
    await page.getByLabel('What it should do').fill('fix the test of the cart')
    expect(await page.getByLabel('Directory').inputValue()).toBe(daemon.work)
    await page.getByLabel('Name').fill('cart')
    await page.getByLabel('Model').fill(model)
    await page.getByLabel('Permissions').selectOption('ask')
    await page.getByLabel('Budget in USD').fill('2')
    expect(await page.locator('.command-line code').textContent()).toBe(
      `reeve run -d --cwd ${daemon.work} --name cart --model ${model} --permissions ask --budget-usd 2 'fix the test of the cart'`,
    )
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Start' }).click()
    await page.locator('.process').waitFor()
    const { process } = await daemon.client.get<{ process: ProcessView }>('/v1/processes/cart')
    expect(process).toMatchObject({ intent: 'fix the test of the cart', directory: daemon.work })
    expect(page.url()).toContain(`/p/${process.uuid}`)
  })

  test('offers to read the directories again when they could not be read', async () => {
    await world.daemon.spawnShell('true')
    const page = await world.openTab()
    await page.route('**/v1/places', (route) => route.abort(), { times: 1 })
    await page.goto(`${world.web.origin}/start#k=${(await world.web.createLink()).code}`)
    await page.getByRole('button', { name: 'Read again' }).click()
    expect(await page.getByLabel('Directory').inputValue()).toBe(world.daemon.work)
    await world.expectProblem('ERR_FAILED')
  })

  test('is refused to a session that may not start agents', async () => {
    const page = await world.visit('/start', { right: 'steer' })
    await page.getByText('This session may not start agents.').waitFor()
  })
})
