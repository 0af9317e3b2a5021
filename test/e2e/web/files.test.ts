// The files of a process in Chromium: what it changed, between chosen steps, with the diff of each file.
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Repository } from '../../support/crew/repository.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { PageWorld } from '../../support/web/open-page.ts'

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
    await page.getByRole('button', { name: /^a\.txt/ }).waitFor()
    expect(await page.locator('.file .path').allTextContents()).toEqual(['a.txt', 'new <b>.txt'])
    expect([await diffOf(page, 'removed'), await diffOf(page, 'added')]).toEqual([['two'], ['TWO']])
    await page.getByText('changed by step 1').waitFor()
    await page.getByRole('button', { name: /^new/ }).click()
    await page.locator('[data-path="new <b>.txt"]').waitFor()
    expect(await diffOf(page, 'added')).toEqual(['new'])
    await page.getByLabel('to', { exact: true }).selectOption('1')
    await page.locator('.file').first().waitFor()
    await page.locator('[data-path="a.txt"]').waitFor()
    expect(await page.locator('.file .path').allTextContents()).toEqual(['a.txt'])
    expect(new URL(page.url()).searchParams.get('to')).toBe('1')
  })

  test('of a process without a worktree are those that its agent reported', async () => {
    const { uuid } = await world.daemon.spawnScripted([writeStep('said.txt', 'said\n'), { text: 'done' }])
    await world.daemon.waitForEnd(uuid)
    const page = await world.visit(`/p/${uuid}/files`)
    await page.getByText('As its agent reported').waitFor()
    expect(await diffOf(page, 'added')).toEqual(['said'])
  })
})
