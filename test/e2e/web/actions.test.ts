// What a user does to a process on its page, in Chromium: answers, pauses, ends, forks, messages; and a session that may only read.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { STOP_GRACE_MS } from '../../../src/kernel/model/signals.ts'
import { describePage } from '../../support/web/describe-page.ts'

const ACP_AGENT = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
const call = (command: string): { tools: readonly object[] } => ({ tools: [{ name: 'bash', input: { command } }] })

/** Notes in the page whether the first button that allows was disabled when it came, and when it was enabled. */
const WATCH_FIRST_BUTTON = `
  globalThis.seen = {}
  new MutationObserver(() => {
    const button = document.querySelector('button[data-kind="allow_once"]')
    if (!button) return
    seen.disabledAtFirst ??= button.disabled
    seen.at ??= performance.now()
    if (!button.disabled) seen.readyAfterMs ??= performance.now() - seen.at
  }).observe(document, { childList: true, subtree: true, attributes: true })`

// A model from a file runs commands, so the page may name one only where the user has allowed commands.
const CONFIG = 'web: { allow: [commands] }\n'

describePage('an action of the page', { config: CONFIG }, (world) => {
  const spawnAsking = async (...commands: string[]): Promise<string> =>
    (await world.daemon.spawnScripted([...commands.map(call), { text: 'I heard: {{ lastResult }}' }], { permissions: 'ask' })).uuid
  const enabledOption = (page: Page, kind: string): ReturnType<Page['locator']> => page.locator(`button[data-kind="${kind}"]:enabled`)

  describe('on a question', () => {
    test('allows one call, and denies the next with a reason', async () => {
      const uuid = await spawnAsking('echo first > made', 'echo second > made')
      const page = await world.visit(`/p/${uuid}`)
      await page.locator('.question pre', { hasText: 'echo first' }).waitFor()
      await enabledOption(page, 'allow_once').click()
      await page.locator('.question pre', { hasText: 'echo second' }).waitFor()
      await page.getByLabel('Comment').fill('leave it alone')
      await enabledOption(page, 'reject_once').click()
      await page.locator('.status-word[data-status="completed"]').waitFor()
      expect(await page.locator('.question').count()).toBe(0)
      expect(await readFile(join(world.daemon.work, 'made'), 'utf8')).toBe('first\n')
      expect(JSON.stringify(await world.daemon.readHistory(uuid))).toContain('the user denied this call: leave it alone')
    })

    test('takes an answer back by a key before the agent has it', async () => {
      const uuid = await spawnAsking('echo first > taken-back')
      const page = await world.visit(`/p/${uuid}`)
      // The page asks for five seconds; a slow machine gets a minute.
      await page.route(`**/v1/processes/${uuid}/answer`, (route) =>
        route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), undoMs: 60_000 }) }),
      )
      await enabledOption(page, 'allow_once').click()
      await page.locator('.notice').getByRole('button', { name: 'Undo' }).waitFor()
      await page.keyboard.press('u')
      await world.daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.unanswered')
      await page.unroute(`**/v1/processes/${uuid}/answer`)
      await enabledOption(page, 'reject_once').click()
      await page.locator('.status-word[data-status="completed"]').waitFor()
      await expect(readFile(join(world.daemon.work, 'taken-back'), 'utf8')).rejects.toMatchObject({ code: 'ENOENT' })
    })

    test('answers with a text', async () => {
      await mkdir(join(world.daemon.work, '.reeve/agents'), { recursive: true })
      const command = [process.execPath, ACP_AGENT, `sessions=${world.daemon.work}`]
      const agentFile = join(world.daemon.work, '.reeve/agents/coder.md')
      await writeFile(agentFile, `---\ndriver: acp\nasks: true\ncommand: ${JSON.stringify(command)}\n---\n`)
      const intent = `elicit ${JSON.stringify({ licence: { type: 'string', title: 'Licence' } })}`
      const { uuid } = await world.daemon.spawn({ agent: 'coder', intent })
      const page = await world.visit(`/p/${uuid}`)
      await page.getByLabel('Answer').fill('the MIT licence')
      await page.locator('.question button[type="submit"]:enabled').click()
      await page.locator('.status-word[data-status="completed"]').waitFor()
      await page.locator('.step-detail .agent-text', { hasText: 'the MIT licence' }).waitFor()
    })

    test('answers no other question: if the question has changed, the answer is refused in the words of the daemon', async () => {
      const uuid = await spawnAsking('touch first', 'touch second')
      const page = await world.visit(`/p/${uuid}`)
      await page.locator('.question pre', { hasText: 'touch first' }).waitFor()
      // The click is on its way while another answer comes.
      await page.route(`**/v1/processes/${uuid}/answer`, async (route) => {
        await world.daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'deny' })
        await world.daemon.waitForView(uuid, ({ asks }) => asks.some(({ text }) => text.includes('touch second')))
        await route.continue()
      })
      await enabledOption(page, 'allow_once').click()
      await page.locator('[role="alert"]', { hasText: 'no longer asks this' }).waitFor()
      expect((await world.daemon.view(uuid)).asks).toMatchObject([{ text: expect.stringContaining('touch second') }])
      await world.expectProblem('status of 409')
      await world.daemon.signal(uuid, 'SIGKILL')
    })

    test('is not possible for the first 400 ms in which it is visible', async () => {
      const page = await world.openTab()
      await page.addInitScript({ content: WATCH_FIRST_BUTTON })
      const uuid = await spawnAsking('true')
      await page.goto(`${world.web.origin}/p/${uuid}#k=${(await world.web.createLink()).code}`)
      await enabledOption(page, 'allow_once').waitFor()
      const seen = await page.evaluate<{ disabledAtFirst: boolean; readyAfterMs: number }>('seen')
      expect(seen.disabledAtFirst).toBe(true)
      expect(seen.readyAfterMs).toBeGreaterThanOrEqual(400)
      await enabledOption(page, 'allow_once').click()
      await page.locator('.status-word[data-status="completed"]').waitFor()
    })
  })

  test('pauses a process with all below it, and releases the pause', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'parent' })
    const child = await world.daemon.spawnShell('sleep 600', { parent: uuid })
    const page = await world.visit(`/p/${uuid}`)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.locator('.status-word[data-status="suspended"]').waitFor()
    await world.daemon.waitForStatus(child.uuid, 'suspended')
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.locator('.status-word[data-status="working"]').waitFor()
    await world.daemon.waitForStatus(child.uuid, 'working')
  })

  test('ends nothing before the daemon has reported what is lost, and drops a report that comes too late', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'builder' })
    await world.daemon.spawnShell('sleep 600', { parent: uuid, name: 'helper' })
    const page = await world.visit(`/p/${uuid}`)
    const alone = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    await page.route('**/stakes?action=kill&subtree=0', async (route) => {
      await alone.promise
      // The page may have given this request up.
      await route.continue().catch(() => undefined)
      late.resolve()
    })
    await page.getByRole('button', { name: 'Kill …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Kill builder' })
    await dialog.getByText('The daemon looks at what would be lost.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Kill now' }).isDisabled()).toBe(true)
    // Keys do nothing in the first 400 ms of a dialog.
    const opened = await page.evaluate<number>('performance.now()')
    await expect.poll(() => page.evaluate<number>('performance.now()')).toBeGreaterThan(opened + 450)
    await page.keyboard.press('y')
    expect(await dialog.count()).toBe(1)
    await dialog.getByLabel('with the 1 process below it').check()
    await dialog.getByText('helper: ends too').waitFor()
    const answered = page.waitForResponse('**/stakes?action=kill&subtree=0')
    alone.resolve()
    await Promise.all([late.promise, answered])
    expect(await dialog.getByText('helper: ends too').count()).toBe(1)
    await page.keyboard.press('y')
    await page.locator('.status-word[data-status="stopped"]').waitFor()
  })

  test('ends a process only after it has shown what is lost, what is kept, and what happens to other processes', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('true'), call('sleep 600')], { name: 'builder' })
    await world.daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'tool.started' && step === 2)
    const child = await world.daemon.spawnShell('sleep 600', { parent: uuid, name: 'helper' })
    const page = await world.visit(`/p/${uuid}`)
    await page.getByRole('button', { name: 'Stop …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Stop builder' })
    await dialog.getByText(/^bash.*sleep 600/).waitFor()
    await dialog.getByText('the history to step 1').waitFor()
    await dialog.getByText('helper: goes on').waitFor()
    await dialog.locator('.command', { hasText: /^reeve stop builder$/ }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect((await world.daemon.view(uuid)).status).toBe('working')

    await page.getByRole('button', { name: 'Kill …' }).click()
    const kill = page.getByRole('dialog', { name: 'Kill builder' })
    await kill.getByLabel('with the 1 process below it').check()
    await kill.getByText('helper: ends too').waitFor()
    await kill.locator('.command', { hasText: /^reeve kill -s KILL --subtree builder$/ }).waitFor()
    await kill.getByRole('button', { name: 'Kill now' }).click()
    await page.locator('.status-word[data-status="stopped"]').waitFor()
    await world.daemon.waitForEnd(child.uuid)
    expect(await page.locator('.actions button').allTextContents()).toEqual(['Resume …'])
  })

  test('a stop gives the programs as much time as `reeve stop`', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'builder' })
    const page = await world.visit(`/p/${uuid}`)
    await page.getByRole('button', { name: 'Stop …' }).click()
    const sent = page.waitForRequest('**/signal')
    await page.getByRole('dialog', { name: 'Stop builder' }).getByRole('button', { name: 'Stop, with time to clean up' }).click()
    expect((await sent).postDataJSON()).toEqual({ signal: 'SIGTERM', leastGraceMs: STOP_GRACE_MS })
    await page.locator('.status-word[data-status="stopped"]').waitFor()
  })

  test('forks after a step, with a message and a model, and shows the fork', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('echo a'), call('echo b'), { text: 'the end' }], { name: 'origin' })
    await world.daemon.waitForEnd(uuid)
    const other = await world.daemon.writeScript([call('echo c'), { text: 'another end' }])
    const page = await world.visit(`/p/${uuid}/steps/1`)
    await page.getByRole('button', { name: 'Fork after this step' }).click()
    const dialog = page.getByRole('dialog', { name: 'Fork origin after step 1' })
    await dialog.getByLabel('Message').fill("it's better in Rust")
    // The message is a draft. A budget that is no number is said, and nothing is sent with it.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Fork after this step' }).click()
    expect(await dialog.getByLabel('Message').inputValue()).toBe("it's better in Rust")
    await dialog.getByLabel('Budget in USD').fill('5,00')
    await dialog.getByRole('alert').getByText('The budget is not a number above 0').waitFor()
    expect(await dialog.getByRole('button', { name: 'Fork' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Budget in USD').fill('')
    await dialog.getByLabel('Model').fill('nobody/nothing')
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Model').fill(other)
    expect(await dialog.locator('.command').textContent()).toBe(
      `reeve resume origin --fork --from-step 1 --model ${other} --message 'it'\\''s better in Rust'`,
    )
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.status-word[data-status="completed"]').waitFor()
    const forkUuid = new URL(page.url()).pathname.split('/')[2] ?? ''
    expect(forkUuid).not.toBe(uuid)
    expect(await world.daemon.view(forkUuid)).toMatchObject({ originUuid: uuid, originStep: 1, model: other })
    await page.getByRole('link', { name: 'reeve' }).click()
    await page.locator(`.row[data-uuid="${forkUuid}"] .kind[aria-label="fork after step 1"]`).waitFor()
    await world.expectProblem('status of 4')
  })

  test('sends a message; what was typed survives a reload', async () => {
    const { uuid } = await world.daemon.spawnScripted([{ text: 'ready' }, { text: 'I got: {{ message }}' }], {
      interactive: true,
      intent: 'begin',
    })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.getByLabel('Message').fill('take the short way')
    await page.reload()
    await page.waitForSelector('[data-link="open"]')
    expect(await page.getByLabel('Message').inputValue()).toBe('take the short way')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.step-detail .agent-text', { hasText: 'I got: take the short way' }).waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('')
    await page.reload()
    await page.waitForSelector('[data-link="open"]')
    expect(await page.getByLabel('Message').inputValue()).toBe('')
  })

  test('is not shown in a session that may only read', async () => {
    const uuid = await spawnAsking('touch made')
    const page = await world.visit(`/p/${uuid}`, { right: 'read' })
    await page.locator('.question pre', { hasText: 'touch made' }).waitFor()
    await page.getByText('read only').waitFor()
    expect(await page.locator('main :is(.actions, .question button, .fork, form)').count()).toBe(0)
    await page.goto(`${world.web.origin}/`)
    await page.locator('.needs li').waitFor()
    expect(await page.locator('.needs button').count()).toBe(0)
    await world.daemon.signal(uuid, 'SIGKILL')
  })
})
