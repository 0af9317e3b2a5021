// A supervisor with its children, and the page of the machine, in Chromium.
import { expect, test } from 'vitest'
import { testEnv } from '../../../support/env.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'
import type { ProcessView } from '../../../../src/api/views/process.ts'

/** Each run adds a line to a file; the fourth stays. */
const FAILS_THREE_TIMES = 'echo >> runs; [ $(wc -l < runs) -gt 3 ] && exec sleep 600; exit 3'

describePage('supervisors and the machine', {}, (world) => {
  test('a supervisor shows its children, their restarts, and the policy', async () => {
    const { daemon } = world
    const page = await world.visit('/supervisors')
    await page.getByText('No supervisor is in the list.').waitFor()
    const { process } = await daemon.client.post<{ process: ProcessView }>('/v1/processes', {
      cwd: daemon.work,
      env: testEnv(daemon.work),
      name: 'team',
      supervisor: {
        strategy: 'rest_for_one',
        maxRestarts: 9,
        backoff: { initialMs: 1, maxMs: 1 },
        children: [
          { childId: 'server', argv: ['sleep', '600'], restart: 'always' },
          { childId: 'often', argv: ['sh', '-c', FAILS_THREE_TIMES], restart: 'always' },
        ],
      },
    })
    await page.getByRole('link', { name: 'team' }).click()
    await page.locator('tr[data-child="server"]', { hasText: 'working' }).waitFor()
    await page.getByText('at most 9 restarts').waitFor()
    const often = page.locator('tr[data-child="often"]', { hasText: '3 of 9' })
    await often.filter({ hasText: 'exit code 3' }).waitFor()
    expect(await often.locator('.mark-of-restart').count()).toBe(3)
    expect(await page.locator('[aria-label="Restarts"] tbody tr', { hasText: 'restarted' }).count()).toBe(3)
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    const [server = ''] = (await daemon.view(process.uuid)).children
    await page.locator('tr[data-child="server"] a').click()
    await page.locator(`.process[data-uuid="${server}"]`).waitFor()
  })

  test('the machine shows the daemon, its checks, agents and directories', async () => {
    const { daemon } = world
    await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
    const page = await world.visit('/machines')
    await page.locator('tr[data-name="node"]', { hasText: 'ok' }).waitFor()
    await page.locator('.figures', { hasText: /load\d.* of \d+ core.*free of/ }).waitFor()
    await page.locator(`tr[data-name="${daemon.work}"]`, { hasText: '0 living of 1' }).waitFor()
    await page.locator('[aria-label="Agents"] tr').nth(1).waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])

    // A hidden tab asks for nothing, and as soon as it is shown.
    let checks = 0
    page.on('request', (request) => (checks += Number(request.url().endsWith('/v1/doctor'))))
    await page.addInitScript(`Object.defineProperty(document, 'hidden', { get: () => !globalThis.isShown })`)
    await page.reload()
    await page.getByText('The daemon is being asked.').waitFor()
    await page.waitForSelector('[data-link="open"]')
    await page.evaluate('new Promise(requestAnimationFrame)')
    expect(checks).toBe(0)
    await page.evaluate(`globalThis.isShown = true; dispatchEvent(new Event('visibilitychange'))`)
    await page.locator('tr[data-name="node"]', { hasText: 'ok' }).waitFor()
    expect(checks).toBeGreaterThan(0)
  })
})
