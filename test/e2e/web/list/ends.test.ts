// Ended processes in the list, in Chromium: an end that was not seen has a mark and a filter, and what ended over 24 hours ago is shown on
// request. A process that others pay for shows their budgets.
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../../src/daemon/loop/clock.ts'
import { describePage } from '../../../support/web/describe-page.ts'

const DAY_MS = 86_400_000
let agoMs = 0
/** A clock that can be set back. */
const CLOCK: Clock = {
  ...systemClock,
  now: () => {
    const { wall, mono } = systemClock.now()
    return { wall: wall - agoMs, mono }
  },
}

describePage('the list', { clock: CLOCK }, (world) => {
  test('has the ends that were not seen, and on request the older ones, each with its page', async () => {
    agoMs = 2 * DAY_MS
    const old = await world.daemon.spawnShell('exit 3', { name: 'long-ago' })
    await world.daemon.waitForEnd(old.uuid)
    const older = await world.daemon.spawnShell('true', { name: 'removed-soon' })
    await world.daemon.waitForEnd(older.uuid)
    agoMs = 0
    const other = await world.daemon.spawnShell('exit 3', { name: 'broken' })
    await world.daemon.waitForEnd(other.uuid)
    await world.daemon.spawnShell('sleep 600', { name: 'sleeper' })
    const page = await world.visit()
    const row = (uuid: string): ReturnType<typeof page.locator> => page.locator(`.row[data-uuid="${uuid}"]`)
    await row(other.uuid).getByText('not seen').waitFor()
    await page.getByRole('button', { name: '1 ended, not seen' }).click()
    await page.getByText('sleeper').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: '1 ended, not seen' }).click()
    await page.getByRole('button', { name: 'mark all as seen' }).click()
    await row(other.uuid).getByText('not seen').waitFor({ state: 'detached' })

    expect(await row(old.uuid).count()).toBe(0)
    await page.getByRole('button', { name: 'show older' }).click()
    await row(old.uuid).waitFor()
    // An old end is no need.
    expect(await page.locator('.needs').count()).toBe(0)
    await page.reload()
    await row(old.uuid).waitFor()
    await page.locator('#filter').fill('name:long')
    await row(other.uuid).waitFor({ state: 'detached' })
    await page.locator('#filter').fill('')
    // A removed process leaves the older ones, too.
    await row(older.uuid).waitFor()
    await world.daemon.client.delete(`/v1/processes/${older.uuid}`)
    await row(older.uuid).waitFor({ state: 'detached' })
    expect(await row(old.uuid).count()).toBe(1)
    await page.getByRole('button', { name: 'hide what ended over 24 hours ago' }).click()
    await row(old.uuid).waitFor({ state: 'detached' })
    await page.goto(`${world.web.origin}/p/${old.uuid}`)
    await page.locator('.status-word[data-status="failed"]').waitFor()
    await page.getByRole('button', { name: 'Resume …' }).waitFor()
  })

  test('shows on the page of a child the budget of the tree that pays for it', async () => {
    const parent = await world.daemon.spawnScripted([{ text: 'ready' }], {
      name: 'boss',
      interactive: true,
      intent: 'begin',
      limits: { budgetUsd: 3 },
    })
    const { uuid } = await world.daemon.spawnScripted([{ text: 'ready' }], {
      name: 'worker',
      interactive: true,
      intent: 'begin',
      parent: parent.uuid,
    })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page
      .locator('.figures', { hasText: 'limit of boss' })
      .getByRole('link', { name: /budgetUsd: \$0 \/ \$3/ })
      .click()
    await page.locator(`.process[data-uuid="${parent.uuid}"]`).waitFor()
    await page.goto(`${world.web.origin}/p/${uuid}/limits`)
    await page.getByRole('list', { name: 'Budgets above' }).getByRole('link', { name: 'boss' }).waitFor()
  })
})
