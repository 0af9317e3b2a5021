// The first page in Chromium: the tree of processes with its keys, folds and filter, and the processes that need the user.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../support/web/describe-page.ts'

describePage('the fleet', {}, (world) => {
  const spawnSleep = async (name: string): Promise<string> => (await world.daemon.spawnShell('sleep 600', { name })).uuid
  const shownNames = (page: Page): Promise<string[]> => page.locator('.row .name a').allTextContents()

  test('has each process in the order of creation, and changes its mark at once', async () => {
    const page = await world.visit()
    await page.getByText('Nothing runs here yet.').waitFor()
    const first = await spawnSleep('first')
    const second = await spawnSleep('second')
    await page.locator(`[data-uuid="${second}"][data-status="working"]`).waitFor()
    expect(await shownNames(page)).toEqual(['first', 'second'])
    await world.daemon.pause(first)
    await page.locator(`[data-uuid="${first}"][data-status="suspended"] .mark[aria-label="held"]`).waitFor()
    await world.daemon.signal(second, 'SIGKILL')
    await page.locator(`[data-uuid="${second}"][data-status="stopped"]`).waitFor()
    expect(await shownNames(page)).toEqual(['first', 'second'])
  })

  test('moves its selection by keys, and opens a process with its log', async () => {
    const { uuid } = await world.daemon.spawnShell('echo from the program; sleep 600', { name: 'writer' })
    await spawnSleep('other')
    const page = await world.visit()
    await page.locator('.row').nth(1).waitFor()
    await page.locator('.tree').focus()
    await page.keyboard.press('End')
    expect(await page.locator('.row.selected .name a').textContent()).toBe('other')
    await page.keyboard.press('k')
    expect(await page.locator('.tree').getAttribute('aria-activedescendant')).toBe(`row-${uuid}`)
    await page.keyboard.press('Enter')
    await page.locator(`.process[data-uuid="${uuid}"]`).waitFor()
    await page.getByRole('link', { name: 'logs' }).click()
    await page.locator('.log.stdout', { hasText: 'from the program' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/p/${uuid}/logs`)
    await page.goBack()
    await page.goBack()
    await page.locator('.row').nth(1).waitFor()
  })

  test('has its filter in the address, and offers to drop each part of a filter that leaves nothing', async () => {
    await spawnSleep('build')
    await spawnSleep('docs')
    const page = await world.visit('/?q=name%3Abuild')
    await page.locator('.row').first().waitFor()
    expect(await shownNames(page)).toEqual(['build'])
    await page.locator('#filter').fill('is:held name:docs')
    await page.getByText('No process meets this filter.').waitFor()
    await page.getByRole('button', { name: 'without is:held' }).click()
    await page.locator('.row').first().waitFor()
    expect(await shownNames(page)).toEqual(['docs'])
    expect(new URL(page.url()).search).toBe('?q=name%3Adocs')
    await page.locator('#filter').fill('colour:red')
    await page.getByText('"colour" is not a condition').waitFor()
    expect(await shownNames(page)).toEqual(['build', 'docs'])
  })

  test('shows who needs the user, until the question is answered', async () => {
    const { uuid } = await world.daemon.spawnScripted([{ tools: [{ name: 'bash', input: { command: 'touch made' } }] }, { text: 'done' }], {
      name: 'asker',
      permissions: 'ask',
    })
    const page = await world.visit()
    await page.locator(`[data-need="${uuid}"] a`).click()
    await page.locator('.question pre', { hasText: /^touch made$/ }).waitFor()
    await page.locator('button[data-kind="allow_once"]:enabled').click()
    await page.locator('.status-word[data-status="completed"]').waitFor()
    expect(await page.locator('.question').count()).toBe(0)
    await page.getByRole('link', { name: 'reeve' }).click()
    await page.locator('.row').first().waitFor()
    // Its end was seen on its page.
    await page.locator('.needs').waitFor({ state: 'detached' })
  })

  test('draws only the visible rows of 300', async () => {
    for (let number = 0; number < 300; number += 1) await world.daemon.spawnShell('true', { name: `n${number}` })
    const page = await world.visit()
    await page.locator('.row').first().waitFor()
    expect(await page.locator('.tree').getAttribute('aria-rowcount')).toBe('300')
    expect(await page.locator('.row').count()).toBeLessThan(60)
    await page.locator('.tree').focus()
    await page.keyboard.press('End')
    await page.getByText('n299', { exact: true }).waitFor()
  })
})
