// The forks of a process and two of them side by side, in Chromium: lanes, settings that differ, own steps, and files.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

const writeStep = (path: string, content: string): object => ({
  text: `I write ${path}.`,
  tools: [{ name: 'write', input: { path, content } }],
})

describePage('forks', {}, (world) => {
  const forkOf = async (ref: string, fromStep: number, more: object): Promise<string> => {
    const { process } = await world.daemon.client.post<{ process: { uuid: string } }>(`/v1/processes/${ref}/resume`, {
      fork: true,
      fromStep,
      ...more,
    })
    await world.daemon.waitForEnd(process.uuid)
    return process.uuid
  }

  test('stand below their origin, and are compared step by step and file by file', async () => {
    const { daemon } = world
    const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
    repository.commit({ 'a.txt': 'one\n' })
    const steps = [writeStep('a.txt', 'ONE\n'), writeStep('b.txt', 'first\n'), { text: 'The end of port.' }]
    const { uuid } = await daemon.spawnScripted(steps, { worktree: true, name: 'port', cwd: repository.dir })
    await daemon.waitForEnd(uuid)
    const other = await daemon.writeScript([writeStep('a.txt', 'ONE\n'), writeStep('b.txt', 'second\n'), { text: 'The end of nocache.' }])
    const nocache = await forkOf('port', 1, { name: 'nocache', model: other, withFiles: true })
    await forkOf('nocache', 1, { name: 'mini', withFiles: true, limits: { maxSteps: 50 } })

    const page = await world.visit(`/p/${uuid}`)
    await page.getByRole('link', { name: 'forks' }).click()
    await page.locator('.lane-of-fork').nth(2).waitFor()
    expect(await page.locator('.lane-of-fork > a').allTextContents()).toEqual(['port', 'nocache', 'mini'])
    expect(await page.locator('.lane-of-fork.own').getAttribute('data-uuid')).toBe(uuid)
    expect(await page.locator('.command-line code').textContent()).toBe('reeve lineage port')
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'mark mini to compare it' }).click()
    await page.getByRole('link', { name: 'compare port with mini' }).waitFor()
    await page.getByRole('button', { name: 'marked' }).click()
    await page.getByRole('link', { name: 'compare with its origin' }).first().click()

    await page.getByText('Steps 1 to 1 are the same.').waitFor()
    expect(new URL(page.url()).pathname).toBe(`/compare/${uuid}/${nocache}`)
    expect(await page.locator('tr[data-field]').evaluateAll((rows) => rows.map((row) => row.dataset['field']))).toContain('model')
    expect(await page.locator('.head blockquote').allTextContents()).toEqual(['The end of port.', 'The end of nocache.'])
    expect(await page.locator('.side-by-side li').first().locator('.one-step').allTextContents()).toEqual([
      expect.stringContaining('I write b.txt.'),
      expect.stringContaining('I write b.txt.'),
    ])
    await page.getByRole('button', { name: 'files' }).click()
    await page.locator('.diff-line.removed .code', { hasText: 'first' }).waitFor()
    await page.locator('.diff-line.added .code', { hasText: 'second' }).waitFor()
    expect(await page.locator('.command-line code').textContent()).toBe('reeve diff --from port@now nocache')
    expect(await findAccessibilityFaults(page)).toEqual([])
  })

  test('report what cannot be compared', async () => {
    const { uuid } = await world.daemon.spawnShell('true', { name: 'alone' })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/lineage`)
    await page.getByText('It has no forks, and is not a fork.').waitFor()
    const missing = uuid.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
    const second = await world.visit(`/compare/${uuid}/${missing}`)
    await second.locator('.compare .problem', { hasText: 'no process' }).waitFor()
    world.allowProblem('status of 404')
  })
})
