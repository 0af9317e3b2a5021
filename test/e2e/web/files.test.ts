// The files of a process in Chromium: what it changed, between chosen steps, with the diff of each file.
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Repository } from '../../support/git/repository.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { findAccessibilityFaults } from '../../support/web/accessibility-faults.ts'
import { PageWorld } from '../../support/web/page-world.ts'

const writeStep = (path: string, content: string): object => ({ text: '', tools: [{ name: 'write', input: { path, content } }] })
const diffOf = async (page: Page, kind: 'added' | 'removed'): Promise<string[]> =>
  page.locator(`.diff-line.${kind} .code`).allTextContents()

describe.runIf(CHROMIUM !== null)('the files of a process', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  let world: PageWorld

  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    world = await PageWorld.start(browser)
  })
  afterEach(async () => {
    await world[Symbol.asyncDispose]()
    expect(world.daemon.errors).toEqual([])
    expect(world.problems).toEqual([])
  })

  test('are those of its worktree, with the diff between any two of its steps', async () => {
    const repository = Repository.make(join(world.daemon.work, 'repo'), world.daemon.work)
    repository.commit({ 'a.txt': 'one\ntwo\n' })
    const { uuid } = await world.daemon.spawnScripted(
      [writeStep('a.txt', 'one\nTWO\n'), writeStep('new <b>.txt', 'new\n'), { text: 'done' }],
      {
        worktree: true,
        name: 'docs',
        cwd: repository.dir,
      },
    )
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/files`)
    await page.getByRole('treeitem', { name: /^a\.txt/ }).waitFor()
    expect(await page.locator('.file-line .path').allTextContents()).toEqual(['a.txt', 'new <b>.txt'])
    expect([await diffOf(page, 'removed'), await diffOf(page, 'added')]).toEqual([['two'], ['TWO']])
    await page.getByText('changed by step 1').waitFor()
    await page.getByRole('treeitem', { name: /^new/ }).click()
    await page.locator('[data-path="new <b>.txt"]').waitFor()
    expect(await diffOf(page, 'added')).toEqual(['new'])
    await page.getByLabel('to', { exact: true }).selectOption('1')
    await page.locator('[data-path="a.txt"]').waitFor()
    expect(await page.locator('.file-line .path').allTextContents()).toEqual(['a.txt'])
    expect(new URL(page.url()).searchParams.get('to')).toBe('1')
  })

  test('are a tree that is moved through by keys, with diffs side by side where that was chosen', async () => {
    const repository = Repository.make(join(world.daemon.work, 'repo'), world.daemon.work)
    repository.commit({ 'src/deep/a.txt': 'one\ntwo\n', 'src/b.txt': 'b\n', 'z.txt': 'z\n' })
    const { uuid } = await world.daemon.spawnShell('echo TWO > src/deep/a.txt; echo B > src/b.txt; seq 1 20000 > z.txt', {
      worktree: true,
      cwd: repository.dir,
    })
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/files`)
    const names = (): Promise<string[]> => page.locator('.file-line .path').allTextContents()
    await page.locator('.file-line.folder').first().waitFor()
    expect(await names()).toEqual(['src/', 'deep/', 'a.txt', 'b.txt', 'z.txt'])
    expect(await page.locator('.file-line.folder .number').first().textContent()).toBe('2 files +2 −3')
    const tree = page.getByRole('tree', { name: 'Changed files' })
    const press = (key: string): Promise<void> => tree.press(key)
    await page.locator('[data-path="src/deep/a.txt"]').waitFor()
    await press('ArrowLeft')
    await press('ArrowLeft')
    expect(await names()).toEqual(['src/', 'deep/', 'b.txt', 'z.txt'])
    await press('ArrowLeft')
    await press('ArrowLeft')
    expect(await names()).toEqual(['src/', 'z.txt'])
    await press('ArrowDown')
    await page.locator('[data-path="z.txt"]').waitFor()
    await page.locator('.diff-line').first().waitFor()
    // Of 20,000 lines only the visible ones are drawn.
    expect(await page.locator('.diff-line').count()).toBeLessThan(80)
    await page.evaluate('document.querySelector(".diff").scrollTop = 1e9')
    await page.locator('.diff-line .code', { hasText: /^20000$/ }).waitFor()
    expect(await page.locator('.diff-line').count()).toBeLessThan(80)

    await page.getByRole('button', { name: 'split' }).click()
    await page.locator('.file-line.folder').click()
    await page.getByRole('treeitem', { name: /^b\.txt/ }).click()
    await page.locator('.side.removed').waitFor()
    expect(await page.locator('.diff-line.split .code').allTextContents()).toEqual(['@@ -1 +1 @@', 'b', 'B'])
    // Both sides have the same room.
    const [left, right] = await page.evaluate<number[]>('[...document.querySelectorAll(".side")].map((side) => side.clientWidth)')
    expect(Math.abs((left ?? 0) - (right ?? 0))).toBeLessThan(3)
    expect(await findAccessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.reload()
    await page.locator('.side.removed').waitFor()
    await page.setViewportSize({ width: 900, height: 800 })
    await page.locator('.diff-line.removed').waitFor()
    expect(await page.locator('.side, [aria-label="Layout of diffs"]').count()).toBe(0)
  })

  test('of a process without a worktree are those that its agent reported', async () => {
    const { uuid } = await world.daemon.spawnScripted([writeStep('said.txt', 'said\n'), { text: 'done' }])
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/files`)
    await page.getByText('As its agent reported').waitFor()
    expect(await diffOf(page, 'added')).toEqual(['said'])
  })
})
