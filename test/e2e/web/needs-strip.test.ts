// What waits for the user, above the list in Chromium: it is answered in place, and does not move under the pointer.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'

describePage('the strip of needs', {}, (world) => {
  const spawnAsking = async (name: string): Promise<string> => {
    const script = [{ text: `I make ${name}.`, tools: [{ name: 'bash', input: { command: `touch ${name}` } }] }, { text: 'done' }]
    const { uuid } = await world.daemon.spawnScripted(script, { name, permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    return uuid
  }

  test('answers a question in place; Space shows what it is about; the title counts the needs', async () => {
    const uuid = await spawnAsking('one')
    const page = await world.visit()
    const need = page.locator(`[data-need="${uuid}"]`)
    await need.locator('.why code', { hasText: /^touch one$/ }).waitFor()
    expect(await page.title()).toBe('(1) reeve')
    await need.locator('a').focus()
    await page.keyboard.press('Space')
    await need.locator('.peek', { hasText: 'I make one.' }).waitFor()
    await page.keyboard.press('Space')
    await need.locator('.peek').waitFor({ state: 'detached' })
    await need.locator('button[data-kind="allow_once"]:enabled').click()
    await need.waitFor({ state: 'detached' })
    await world.daemon.waitForEnd(uuid)
    expect(existsSync(join(world.daemon.work, 'one'))).toBe(true)
  })

  test('answers a change only below the change: the button, and the key of an answer, show it first', async () => {
    writeFileSync(join(world.daemon.work, 'price.js'), 'one\n')
    const edit = { name: 'edit', input: { path: 'price.js', old_text: 'one', new_text: 'two' } }
    const { uuid } = await world.daemon.spawnScripted([{ tools: [edit] }, { tools: [edit] }, { text: 'done' }], { permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    const page = await world.visit()
    const need = page.locator(`[data-need="${uuid}"]`)
    await need.locator('button[data-look]').waitFor()
    expect(await need.locator('button[data-kind]').count()).toBe(0)
    await need.locator('a').focus()
    await page.keyboard.press('a')
    await need.locator('.peek', { hasText: 'two' }).waitFor()
    await need.locator('button[data-kind="allow_once"]:enabled').waitFor()
    expect((await world.daemon.view(uuid)).status).toBe('waiting')
    await page.keyboard.press('a')
    await expect.poll(() => readFileSync(join(world.daemon.work, 'price.js'), 'utf8'), { timeout: 100_000 }).toBe('two\n')
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('keeps its order while the pointer is in it, and announces what is new', async () => {
    const first = await spawnAsking('one')
    const page = await world.visit()
    await page.locator(`[data-need="${first}"] button:enabled`).first().hover()
    const second = await spawnAsking('two')
    await page.locator('.needs .chip', { hasText: '+1 new' }).waitFor()
    expect(await page.locator(`[data-need="${second}"]`).count()).toBe(0)
    await page.mouse.move(5, 800)
    await page.locator(`[data-need="${second}"]`).waitFor()
    for (const uuid of [first, second]) await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('shows new needs when all needs under the pointer are answered', async () => {
    const first = await spawnAsking('one')
    const page = await world.visit()
    const allowFirst = page.locator(`[data-need="${first}"] button[data-kind="allow_once"]:enabled`)
    await allowFirst.hover()
    const second = await spawnAsking('two')
    await page.locator('.needs .chip', { hasText: '+1 new' }).waitFor()
    await allowFirst.click()
    const allowSecond = page.locator(`[data-need="${second}"] button[data-kind="allow_once"]:enabled`)
    await allowSecond.waitFor()
    await allowSecond.click()
    await page.locator('.needs').waitFor({ state: 'detached' })
    const third = await spawnAsking('three')
    await page.locator(`[data-need="${third}"]`).waitFor()
    expect(await page.locator('.needs .chip').count()).toBe(0)
    await world.daemon.signal(third, 'SIGKILL')
  })
})
