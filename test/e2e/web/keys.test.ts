// The keys of the page in Chromium: a question is answered by the kind of its option, an action applies to all tagged processes, the peek
// stays open while the selection moves, and fields keep their keys.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'

describePage('a key', {}, (world) => {
  const spawnSleep = async (name: string): Promise<string> => (await world.daemon.spawnShell('sleep 600', { name })).uuid
  const spawnAsking = async (name: string): Promise<string> => {
    const script = [{ text: `I make ${name}.`, tools: [{ name: 'bash', input: { command: `touch ${name}` } }] }, { text: 'done' }]
    const { uuid } = await world.daemon.spawnScripted(script, { name, permissions: 'ask' })
    await world.daemon.waitForStatus(uuid, 'waiting')
    return uuid
  }
  const press = async (page: Page, ...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const statusOf = (page: Page, uuid: string, status: string): Promise<void> =>
    page.locator(`.row[data-uuid="${uuid}"][data-status="${status}"]`).waitFor()

  test('answers the question of the peek, which stays open while the selection moves', async () => {
    const first = await spawnAsking('one')
    const second = await spawnAsking('two')
    const page = await world.visit()
    await page.locator('.row').nth(1).waitFor()
    await press(page, 'j', 'Space')
    const peek = page.locator('.peek-panel')
    await peek.locator('.question pre', { hasText: /^touch one$/ }).waitFor()
    await press(page, 'j')
    await peek.locator('.question pre', { hasText: /^touch two$/ }).waitFor()
    await peek.locator('button[data-kind="reject_once"]:enabled').waitFor()
    await press(page, 'd')
    await statusOf(page, second, 'completed')
    await press(page, 'k')
    await peek.locator('button[data-kind="allow_once"]:enabled').waitFor()
    await press(page, 'a')
    await statusOf(page, first, 'completed')
    await press(page, 'Escape')
    await peek.waitFor({ state: 'detached' })
  })

  test('answers no question that is not shown, or has just appeared', async () => {
    const uuid = await spawnAsking('one')
    const page = await world.visit()
    await page.locator('[data-need] button:enabled').first().waitFor()
    await press(page, 'j', 'a')
    await page.evaluate(`
      new MutationObserver((_, observer) => {
        if (!document.querySelector('.peek-panel button[data-kind="allow_once"]')) return
        observer.disconnect()
        dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }))
        document.body.dataset.pressed = 'yes'
      }).observe(document, { childList: true, subtree: true })`)
    await press(page, 'Space')
    await page.locator('body[data-pressed]').waitFor()
    await page.locator('.peek-panel button[data-kind="allow_once"]:enabled').waitFor()
    expect((await world.daemon.view(uuid)).asks.length).toBe(1)
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('goes to a need by its number, and answers it there', async () => {
    const uuid = await spawnAsking('one')
    const page = await world.visit()
    await page.locator(`[data-need="${uuid}"] button[data-kind="allow_once"]:enabled`).waitFor()
    await press(page, '1', 'a')
    await statusOf(page, uuid, 'completed')
  })

  test('pauses all tagged processes, and stops them after a question', async () => {
    const uuids = [await spawnSleep('one'), await spawnSleep('two'), await spawnSleep('three')]
    const page = await world.visit()
    await page.locator('.row').nth(2).waitFor()
    await press(page, 'j', 'x', 'j', 'x', 'p')
    for (const uuid of uuids.slice(0, 2)) await statusOf(page, uuid, 'suspended')
    await statusOf(page, uuids[2] ?? '', 'working')
    await press(page, 'K')
    const dialog = page.locator('dialog[open]')
    await dialog.getByText('Kill 2 processes').waitFor()
    await dialog.getByText('reeve kill -s KILL one two').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).press('K')
    expect(await dialog.count()).toBe(1)
    await expect.poll(async () => (await press(page, 'y'), dialog.count())).toBe(0)
    for (const uuid of uuids.slice(0, 2)) await statusOf(page, uuid, 'stopped')
    await statusOf(page, uuids[2] ?? '', 'working')
  })

  test('does nothing to a row that the list hides, and a fold selects the folded row', async () => {
    const parent = await spawnSleep('parent')
    const child = (await world.daemon.spawnShell('sleep 600', { parent, name: 'child' })).uuid
    const page = await world.visit()
    await page.locator('.row').nth(1).waitFor()
    await press(page, 'j', 'j')
    await page.locator(`.row.selected[data-uuid="${child}"]`).waitFor()
    await press(page, '-')
    await page.locator(`.row.selected[data-uuid="${parent}"]`).waitFor()
    await press(page, '*', 'j', 'x')
    await page.locator('.tagged-bar', { hasText: '1 tagged' }).waitFor()
    await page.locator('#filter').fill('-child -parent')
    await page.locator('.tagged-bar', { hasText: '1 of them hidden' }).waitFor()
    // Escape leaves the field, then clears the tags.
    await press(page, 'Escape', 'p', 'Escape', 'p', 's')
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await page.locator('#filter').fill('')
    await press(page, 'Escape')
    await page.locator(`.row.selected[data-uuid="${child}"]`).waitFor()
    await press(page, 'p')
    await statusOf(page, child, 'suspended')
    expect((await world.daemon.view(parent)).status).toBe('working')
  })

  test('acts once while it is held down, except keys that move the selection', async () => {
    const uuids = [await spawnSleep('one'), await spawnSleep('two'), await spawnSleep('three')]
    const page = await world.visit()
    await page.locator('.row').nth(2).waitFor()
    for (const key of ['j', 'j', 'x', 'x', 'x']) await page.keyboard.down(key)
    await page.locator(`.row.selected.tagged[data-uuid="${uuids[1]}"]`).waitFor()
    await page.locator('.tagged-bar', { hasText: '1 tagged' }).waitFor()
    for (const key of ['j', 'x']) await page.keyboard.up(key)
  })

  test('keeps a typed message for its receiver', async () => {
    const script = [{ tools: [{ name: 'bash', input: { command: 'sleep 600' } }] }]
    for (const name of ['one', 'two']) await world.daemon.spawnScripted(script, { name })
    const page = await world.visit()
    await page.locator('.row').nth(1).waitFor()
    const field = page.getByRole('dialog').getByLabel('Message')
    const write = async (...keys: string[]): Promise<void> => {
      await press(page, ...keys)
      await field.waitFor()
    }
    const closeDialog = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Close' }).click()
      await field.waitFor({ state: 'detached' })
    }
    await write('j', 'm')
    await field.fill('for one')
    await closeDialog()
    await write('j', 'm')
    expect(await field.inputValue()).toBe('')
    await closeDialog()
    await write('k', 'm')
    expect(await field.inputValue()).toBe('for one')
    await closeDialog()
  })

  test('forks only one process, after its last whole step', async () => {
    for (const name of ['one', 'two']) await world.daemon.waitForEnd((await world.daemon.spawnScripted([{ text: 'done' }], { name })).uuid)
    const page = await world.visit()
    await page.locator('.row[data-status="completed"]').nth(1).waitFor()
    await press(page, 'j', 'x', 'j', 'x', 'f')
    await page.getByText('this takes one process, and 2 are tagged').waitFor()
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await press(page, 'x', 'f')
    await page.getByRole('dialog', { name: 'Fork one after step 1' }).waitFor()
  })

  test('does nothing while a field has the focus, and after the keys were switched off', async () => {
    await spawnSleep('one')
    const page = await world.visit()
    await page.locator('.row').first().waitFor()
    await press(page, '/', 'x', 'j')
    expect(await page.locator('#filter').inputValue()).toBe('xj')
    await page.locator('#filter').fill('')
    await press(page, 'Escape', 'j')
    await page.locator('.row.selected').waitFor()
    await press(page, '?')
    await page.locator('dialog[open]').getByText('tag the row').waitFor()
    await page.getByLabel('keys without Ctrl work').uncheck()
    await press(page, 'Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await press(page, 'x')
    expect(await page.locator('.tagged-bar').count()).toBe(0)
    await page.evaluate('localStorage.removeItem("reeve.keys")')
  })

  test('opens a page by its letter, and sorts the rows, which then keep their places; the address has the order', async () => {
    const first = await spawnSleep('b')
    await spawnSleep('a')
    const page = await world.visit('/settings')
    await press(page, 'g', 'f')
    await page.locator('.row').nth(1).waitFor()
    await press(page, 't', 't', 't', 't')
    expect(new URL(page.url()).search).toBe('?sort=name')
    expect(await page.locator('.row .name a').allTextContents()).toEqual(['a', 'b'])
    await world.daemon.client.post(`/v1/processes/${first}/rename`, { name: '0a' })
    await page.getByText('0a', { exact: true }).waitFor()
    expect(await page.locator('.row .name a').allTextContents()).toEqual(['a', '0a'])
    await page.getByRole('button', { name: 'order again' }).click()
    await expect.poll(() => page.locator('.row .name a').allTextContents()).toEqual(['0a', 'a'])
  })

  test('forks a process that is ready after its last step', async () => {
    const { uuid } = await world.daemon.spawnScripted([{ text: 'one' }], { name: 'talk', interactive: true, intent: 'begin' })
    await world.daemon.waitUntilReady(uuid)
    const page = await world.visit()
    await page.locator(`.row[data-uuid="${uuid}"][data-status="ready"]`).waitFor()
    await press(page, 'j', 'f')
    await page.locator('dialog[open]').getByText('Fork talk after step 1').waitFor()
    await press(page, 'Escape')
    await world.daemon.signal(uuid, 'SIGKILL')
  })
})
