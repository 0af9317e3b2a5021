// The runs in Chromium: the graph of nodes with why each waits, their times, one node with its actions, and running a failed node again.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ComposeRuns, shellNode, waitForFileCommand } from '../../../support/compose/compose-runs.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults, runAxe } from '../../../support/web/accessibility-faults.ts'

describePage('the runs', {}, (world) => {
  const createFile = (name: string): void => writeFileSync(join(world.daemon.work, name), '')

  test('shows each node in its state, why it waits, and the run as a table', async () => {
    const page = await world.visit('/runs')
    await page.getByText('Nothing was run from a reeve.yaml yet.').waitFor()
    await new ComposeRuns(world.daemon).start(
      {
        plan: shellNode('true'),
        build: shellNode(waitForFileCommand('go'), { depends_on: ['plan'] }),
        docs: shellNode(waitForFileCommand('go'), { depends_on: ['plan'] }),
        test: shellNode('true', { depends_on: ['build', 'docs'] }),
      },
      { name: 'shop' },
    )
    await page.locator('tr[data-run="shop"]').waitFor()
    await page.getByRole('link', { name: 'shop' }).click()
    const node = (name: string, state: string) => page.locator(`.node[data-node="${name}"][data-state="${state}"]`)
    await node('plan', 'completed').waitFor()
    await node('build', 'running').waitFor()
    await node('test', 'waiting').filter({ hasText: 'waits for build, docs' }).waitFor()
    expect(await page.locator('.graph path.edge').count()).toBe(4)
    await node('docs', 'running').focus()
    await page.keyboard.press('Enter')
    await page.locator('.node-panel[data-node="docs"]', { hasText: 'result → test' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/runs\/[\w-]+\/node\/docs$/)
    await page.locator('.node.again[data-node="test"]').waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.locator('.node-panel').getByRole('button', { name: 'Pause' }).click()
    await page.locator('.node[data-node="docs"] .node-why', { hasText: 'paused' }).waitFor()
    await page.getByRole('button', { name: 'table' }).click()
    await page.locator('tr[data-node="docs"]', { hasText: 'held' }).waitFor()
    await page.getByRole('button', { name: 'time' }).click()
    await page.locator('.swim-lane[data-node="plan"] rect.worked').first().waitFor()
    await page.locator('.swim-lane[data-node="docs"] rect.held').first().waitFor()
    expect(await page.locator('.swim-lane').count()).toBe(4)
    expect(await runAxe(page)).toEqual([])
    await page.locator('.node-panel').getByRole('button', { name: 'Resume', exact: true }).click()
    createFile('go')
    await page.locator('.runs[data-status="completed"]').waitFor()
  })

  test('runs a failed node again, with what depends on it', async () => {
    const { uuid } = await new ComposeRuns(world.daemon).start(
      { check: shellNode('test -e fixed'), ship: shellNode('true', { depends_on: ['check'] }), other: shellNode('true') },
      { name: 'nightly' },
    )
    const page = await world.visit(`/runs/${uuid}`)
    await page.locator('.runs[data-status="failed"]').waitFor()
    await page.locator('.node[data-node="ship"]', { hasText: 'needs check' }).waitFor()
    await page.locator('[data-failed="check"] a').click()
    await page.getByText('Runs check again, then ship (shaded).').waitFor()
    expect(await page.locator('.node-panel .command-line code').textContent()).toBe('reeve compose resume --node check nightly')
    createFile('fixed')
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.locator('.node[data-node="ship"][data-state="completed"]').waitFor()
    await page.locator('.runs[data-status="completed"]').waitFor()
  })

  test('cannot steer with a link that only reads', async () => {
    const { uuid } = await new ComposeRuns(world.daemon).start({ check: shellNode('false') })
    const page = await world.visit(`/runs/${uuid}/node/check`, { right: 'read' })
    await page.locator('.node-panel[data-node="check"]').waitFor()
    expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0)
  })
})
