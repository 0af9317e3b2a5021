// The log of a process in Chromium: following and reading back, search, earlier lines, and the log of a tree.
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage } from '../../../support/web/describe-page.ts'
import { findAccessibilityFaults } from '../../../support/web/accessibility-faults.ts'

const isAtEnd = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(
    '(({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight > scrollHeight - 40)(document.querySelector(".logs"))',
  )

describePage('the log', {}, (world) => {
  test('follows new lines until its reader scrolls up, counts those that come then, and goes back to the end', async () => {
    const input = join(world.daemon.work, 'input')
    await writeFile(input, Array.from({ length: 300 }, (_, index) => `line ${index}\n`).join(''))
    const { uuid } = await world.daemon.spawnShell(`tail -n +1 -f ${input}`)
    const page = await world.visit(`/p/${uuid}/logs`)
    await page.locator('.log', { hasText: 'line 299' }).waitFor()
    await expect.poll(() => isAtEnd(page)).toBe(true)
    await appendFile(input, 'line 300\n')
    await page.locator('.log', { hasText: 'line 300' }).waitFor()
    await expect.poll(() => isAtEnd(page)).toBe(true)
    expect(await page.locator('.new-lines').count()).toBe(0)

    await page.evaluate('document.querySelector(".logs").scrollTop = 0')
    await page.getByRole('button', { name: 'To the end' }).waitFor()
    await appendFile(input, 'line 301\nline 302\n')
    await page.getByRole('button', { name: '2 new lines' }).waitFor()
    expect(await page.evaluate('document.querySelector(".logs").scrollTop')).toBe(0)
    await page.getByRole('button', { name: '2 new lines' }).click()
    await expect.poll(() => isAtEnd(page)).toBe(true)
    expect(await page.locator('.new-lines').count()).toBe(0)
    await world.daemon.signal(uuid, 'SIGKILL')
  })

  test('is searched by a text, from the newest line, also in the earlier lines that were asked for', async () => {
    const { uuid } = await world.daemon.spawnShell(
      'echo "first needle"; seq 1 1500; printf "a \\033[31mNee\\033[0mdle in two colours\\n"; seq 1 20; echo "last needle"',
    )
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/logs`)
    await page.locator('.log', { hasText: 'last needle' }).waitFor()
    await page.locator('.logs').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('needle')
    await page.locator('[role="status"]', { hasText: '2 lines of those below' }).waitFor()
    expect(await page.locator('.log mark').allTextContents()).toEqual(['Nee', 'dle', 'needle'])
    await page.keyboard.press('Enter')
    await page.locator('.log.current', { hasText: 'last needle' }).waitFor()
    await page.keyboard.press('Shift+Enter')
    await page.locator('.log.current', { hasText: 'in two colours' }).waitFor()
    await page.locator('[role="status"]', { hasText: '1 of 2 lines' }).waitFor()
    expect(new URL(page.url()).search).toBe('?find=needle')

    await page.locator('.log', { hasText: 'first needle' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Earlier lines' }).click()
    await page.locator('.log', { hasText: 'first needle' }).waitFor()
    await page.getByRole('button', { name: 'Match before' }).click()
    await page.locator('.log.current', { hasText: 'first needle' }).waitFor()
    await page.locator('[role="status"]').getByText('1 of 3 lines', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Earlier lines' }).count()).toBe(0)
  })

  test('of a tree has the lines of all below, each with the name of its process', async () => {
    const gate = join(world.daemon.work, 'gate')
    const parent = await world.daemon.spawnShell('echo from the parent; sleep 600', { name: 'parent' })
    const child = await world.daemon.spawnShell(`echo from the child; until test -e ${gate}; do sleep 0.1; done; echo more`, {
      name: 'child',
      parent: parent.uuid,
    })
    const page = await world.visit(`/p/${parent.uuid}/logs`)
    await page.locator('.log', { hasText: 'from the parent' }).waitFor()
    expect(await page.locator('.log', { hasText: 'from the child' }).count()).toBe(0)
    await page.getByLabel('with all below it').check()
    await page.locator(`.log[data-uuid="${child.uuid}"]`, { hasText: 'from the child' }).waitFor()
    await writeFile(gate, '')
    await page.locator(`.log[data-uuid="${child.uuid}"]`, { hasText: 'more' }).waitFor()
    expect(await page.locator(`.log[data-uuid="${child.uuid}"] .name`).first().textContent()).toBe('child')
    expect(new URL(page.url()).search).toBe('?tree=1')
    expect(await findAccessibilityFaults(page)).toEqual([])
    await world.daemon.signal(parent.uuid, 'SIGKILL')
  })
})
