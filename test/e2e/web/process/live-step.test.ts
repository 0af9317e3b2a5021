// The open step of a process in Chromium: the text of the model and the output of a tool while they are written.
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

const ACP_AGENT = resolve(import.meta.dirname, '../../../support/programs/acp-agent.ts')

describePage('the open step', { config: 'web: { allow: [commands] }\n' }, (world) => {
  test('shows the text so far, the pieces that follow, and then the whole text as Markdown', async () => {
    const { daemon } = world
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    const command = [process.execPath, ACP_AGENT, `sessions=${daemon.work}`]
    await writeFile(join(daemon.work, '.reeve/agents/coder.md'), `---\ndriver: acp\ncommand: ${JSON.stringify(command)}\n---\n`)
    const [first, second] = ['first', 'second'].map((name) => join(daemon.work, name))
    const intent = `say The *first* piece\nwait ${first}\nsay , then another one\nwait ${second}\nsay .`
    const { uuid } = await daemon.spawn({ agent: 'coder', intent })
    const page = await world.visit(`/p/${uuid}`)
    const text = page.locator('.step-detail .live-text .text')
    await text.filter({ hasText: 'The *first* piece' }).waitFor()
    await writeFile(first ?? '', '')
    await text.filter({ hasText: 'The *first* piece, then another one' }).waitFor()
    // A tab that comes later begins with the whole text so far.
    const other = await world.visit(`/p/${uuid}`)
    await other.locator('.live-text .text', { hasText: 'The *first* piece, then another one' }).waitFor()
    expect(await findAccessibilityFaults(page)).toEqual([])
    await writeFile(second ?? '', '')
    await page.locator('.live-text').waitFor({ state: 'detached' })
    await page.locator('.step-detail > .agent-text', { hasText: 'The first piece, then another one.' }).waitFor()
  })

  test('shows the output of a tool that runs', async () => {
    const gate = join(world.daemon.work, 'gate')
    const input = { command: `until test -e ${gate}; do echo it still works; sleep 0.2; done; echo the end` }
    const { uuid } = await world.daemon.spawnScripted([{ tools: [{ name: 'bash', input }] }, { text: 'end' }])
    const page = await world.visit(`/p/${uuid}/steps/1`)
    await page.locator('.step-detail .tool[open] .result.live', { hasText: 'it still works' }).waitFor()
    await writeFile(gate, '')
    await page.locator('.step-detail summary', { hasText: /done ·/ }).waitFor()
    expect(await page.locator('.result.live').count()).toBe(0)
    await page.locator('.step-detail summary').click()
    await page.locator('.step-detail .result', { hasText: 'the end' }).waitFor()
  })
})
