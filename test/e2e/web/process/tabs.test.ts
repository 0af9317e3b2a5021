// The tabs of a process in Chromium: its context, signals, limits and events; and that what was typed stays.

import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'

const call = (command: string): { tools: readonly object[] } => ({ tools: [{ name: 'bash', input: { command } }] })

describePage('a tab of a process', {}, (world) => {
  test('shows the context by block, and leads to the step of each', async () => {
    const { uuid } = await world.daemon.spawnScripted([{ text: 'I look.', ...call('echo all is well') }, { text: 'done' }], {
      intent: 'look',
    })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/context`)
    await page.locator('.context-row', { hasText: 'message' }).first().waitFor()
    await page.locator('.context-row', { hasText: 'results of tools' }).locator('a').click()
    await page.locator('.step-detail[data-step="1"]').waitFor()
  })

  test('shows the signals as they come', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'sleeper' })
    const page = await world.visit(`/p/${uuid}/signals`)
    await page.getByText('reeve kill -s INT sleeper').waitFor()
    await world.daemon.signal(uuid, 'SIGKILL')
    await page.locator('.process-tab tbody th', { hasText: 'SIGKILL' }).waitFor()
  })

  test('shows the limits, and adds to one, with the command line that does the same', async () => {
    const parent = await world.daemon.spawnScripted([{ text: 'ready' }], {
      name: 'parent',
      interactive: true,
      intent: 'begin',
      limits: { budgetUsd: 3 },
    })
    const { uuid } = await world.daemon.spawnScripted([{ text: 'ready' }], {
      name: 'worker',
      interactive: true,
      intent: 'begin',
      parent: parent.uuid,
      limits: { maxSteps: 40, timeoutMs: 600_000 },
    })
    await world.daemon.waitUntilReady(uuid)
    await world.daemon.pause(uuid)
    const page = await world.visit(`/p/${uuid}/limits`)
    await page.locator('[data-limit="maxSteps"]', { hasText: '1 of 40' }).waitFor()
    await page.locator('[data-limit="budgetUsd"] a', { hasText: 'parent' }).waitFor()
    expect(await page.locator('[data-limit="budgetUsd"] form').count()).toBe(0)
    const field = page.getByLabel('Add to active time, in minutes')
    await field.fill('5')
    expect(await page.locator('[data-limit="timeoutMs"] code').textContent()).toBe('reeve resume worker --timeout +5m')
    await field.press('Enter')
    await page.locator('[data-limit="timeoutMs"]', { hasText: 'of 15m 00s' }).waitFor()
    expect((await world.daemon.view(uuid)).limits).toMatchObject({ timeoutMs: 900_000 })
    // It continues with the new limit, and its limits cannot be changed while it runs.
    await page.getByText('Pause it to change them.').waitFor()
    await world.daemon.pause(uuid)
    await page.getByText('A change of a limit resumes it').waitFor()
    await page.getByLabel('How steps changes').selectOption('set')
    await page.getByLabel('Set steps').fill('20')
    expect(await page.locator('[data-limit="maxSteps"] code').textContent()).toBe('reeve resume worker --max-steps 20')
    await page.getByLabel('Set steps').press('Enter')
    await page.locator('[data-limit="maxSteps"]', { hasText: '1 of 20' }).waitFor()
    await world.daemon.pause(uuid)
    await page.getByText('A change of a limit resumes it').waitFor()
    await page.getByLabel('New limit').selectOption('tool calls')
    await page.getByLabel('Set tool calls').fill('7')
    await page.getByLabel('Set tool calls').press('Enter')
    await page.locator('[data-limit="maxToolCalls"]', { hasText: '0 of 7' }).waitFor()
    expect((await world.daemon.view(uuid)).limits).toMatchObject({ maxSteps: 20, maxToolCalls: 7 })
  })

  test('without limits says so, and how to set one', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'free' })
    const page = await world.visit(`/p/${uuid}/limits`)
    await page.getByText('reeve resume free --budget-usd 5').waitFor()
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('shows the events of the chosen classes, new ones too, and one whole', async () => {
    const { uuid } = await world.daemon.spawnScripted([call('echo all is well'), { text: 'ready' }, { text: 'again' }], {
      interactive: true,
      intent: 'begin',
    })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit(`/p/${uuid}/events`)
    await page.locator('.event-row', { hasText: 'process.spawned' }).waitFor()
    await page.getByRole('button', { name: 'tools', exact: true }).click()
    await page.locator('.event-row', { hasText: 'process.spawned' }).waitFor({ state: 'detached' })
    expect(await page.locator('.event-row > span:nth-child(2)').allTextContents()).toEqual(['tool.started', 'tool.finished'])
    await page.locator('.event-row', { hasText: 'tool.finished' }).click()
    await page.locator('.event-detail', { hasText: 'all is well' }).waitFor()
    await page.getByRole('button', { name: 'messages', exact: true }).click()
    await world.daemon.send(uuid, 'go on')
    await page.locator('.event-row', { hasText: 'go on' }).waitFor()
    expect(new URL(page.url()).search).toBe('?class=tools,messages'.replace(',', '%2C'))
  })

  test('follows new events only while its reader is at the end of the list', async () => {
    const replies = Array.from({ length: 12 }, (_, index) => ({ text: `reply ${index}` }))
    const { uuid } = await world.daemon.spawnScripted(replies, { interactive: true, intent: 'begin' })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit(`/p/${uuid}/events`)
    const count = async (): Promise<number> =>
      page.evaluate<number>('Number.parseInt(document.querySelector(".events .window").style.height) / 24')
    const sendAndWait = async (text: string): Promise<void> => {
      const before = await count()
      await world.daemon.send(uuid, text)
      await expect.poll(count).toBeGreaterThan(before)
      await world.daemon.waitUntilReady(uuid)
    }
    await page.locator('.event-row').first().waitFor()
    for (const text of ['one', 'two', 'three', 'four', 'five', 'six', 'seven']) await sendAndWait(text)
    await page.locator('.event-row', { hasText: 'seven' }).first().waitFor()
    await page.evaluate('document.querySelector(".events").scrollTop = 0')
    await page.locator('.event-row', { hasText: 'process.spawned' }).waitFor()
    await sendAndWait('eight')
    expect(await page.evaluate('document.querySelector(".events").scrollTop')).toBe(0)
  })

  test('is reached by the keys for the next and the previous tab', async () => {
    const { uuid } = await world.daemon.spawnShell('sleep 600', { name: 'free' })
    const page = await world.visit(`/p/${uuid}/signals`)
    const press = async (key: string, tab: string): Promise<void> => {
      await page.keyboard.press(key)
      await page.locator('.tabs a[aria-current]', { hasText: tab }).waitFor()
    }
    await press(']', 'limits')
    await press(']', 'events')
    await press('[', 'limits')
    await press('[', 'signals')
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('keeps a message that was not sent over a reload, at each place, until it is sent', async () => {
    const { uuid } = await world.daemon.spawnScripted([{ text: 'ready' }, { text: 'again' }], { interactive: true, intent: 'begin' })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit(`/p/${uuid}`)
    await page.getByLabel('Message').fill('look at the cart')
    await page.reload()
    await page.locator(`[data-link="open"]`).waitFor()
    await page.locator('input[aria-label="Message"]').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('look at the cart')
    await page.goto(`${world.web.origin}/`)
    await page.locator(`.row[data-uuid="${uuid}"] .why`).click()
    await page.keyboard.press('m')
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('Message').inputValue()).toBe('look at the cart')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await world.daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.queue')
    await page.goto(`${world.web.origin}/p/${uuid}`)
    await page.locator('input[aria-label="Message"]').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('')
  })
})
