// Texts of an agent that attack the page: as its text, its names and notes, the names and inputs of tools, results, file names, diffs, log
// lines and questions. No request leaves the origin, nothing asks or runs, the policy of the page has nothing to report, and the text is
// there.
import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { visibleText } from '../../../../src/faces/visible-text.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, endFacts, specOf, uuidOf } from '../../../support/store/facts.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { describePage } from '../../../support/web/describe-page.ts'
import { HOSTILE_TEXTS, LONG_LINE } from '../../../support/web/hostile-texts.ts'

const UUID = uuidOf(200)
const ATTACK = HOSTILE_TEXTS[2] ?? ''
const BIDI = 'safe\u202Egnp.exe'
/** the kinds of nodes that the page makes of a text */
const ALLOWED = 'P, PRE, CODE, STRONG, EM, A, SPAN, BLOCKQUOTE, HR, DIV, BUTTON'

/** One step for each text: it is the text, the name and the input of a tool, and its result. */
function stepOf(step: number, text: string): FactBody[] {
  const [callId, name] = [`call_${step}`, text.slice(0, 60).toWellFormed()]
  return [
    { type: 'model.started', step, attempt: 1, model: 'anthropic/claude' },
    {
      type: 'model.finished',
      step,
      finish: 'tool-calls',
      durationMs: 10,
      message: [
        { type: 'reasoning', text },
        { type: 'text', text },
        { type: 'tool-call', callId, name, input: { path: text, [text.slice(0, 40).toWellFormed()]: text } },
      ],
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    },
    { type: 'tool.started', step, callId, name, effect: 'read' },
    { type: 'tool.finished', step, callId, name, outcome: 'error', content: text, durationMs: 1 },
    { type: 'process.note', text: text.slice(0, 500).toWellFormed() },
  ]
}

async function writeHostileHistory(stateDir: string): Promise<void> {
  await using store = await openSqliteStore({ dir: stateDir })
  const commits = new CommitMaker()
  commits.timeOf = () => Date.now()
  const spec = specOf({ intent: `${ATTACK} ${BIDI}`, agent: 'coder', model: `script:${ATTACK}`, cwd: '/' })
  await store.commit(commits.spawn(UUID, spec))
  const texts = [...HOSTILE_TEXTS, LONG_LINE]
  for (const [index, text] of texts.entries()) await store.commit(commits.write(UUID, ...stepOf(index + 1, text)))
  await store.commit(commits.write(UUID, ...endFacts()))
}

/** Notes each request to another origin, dialog, report of the policy, and tab that the page opens. */
function watch(page: Page, origin: string): string[] {
  const found: string[] = []
  page.on('request', (request) => {
    const { origin: to, protocol } = new URL(request.url())
    if (to !== origin && protocol !== 'blob:') found.push(`request ${request.url()}`)
  })
  page.on('dialog', (dialog) => {
    found.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('popup', () => found.push('a tab was opened'))
  page.on('framenavigated', (frame) => new URL(frame.url()).origin === origin || found.push(`navigated to ${frame.url()}`))
  return found
}

const COUNT_REPORTS = `globalThis.reports = []; addEventListener('securitypolicyviolation', (event) => reports.push(event.violatedDirective + ' ' + event.blockedURI))`

/** The nodes and links of the shown step that no text may become. */
const FIND_STRANGE = `[...document.querySelectorAll('.step-detail .agent-text *, .step-detail pre *')].filter((node) => !'${ALLOWED}'.split(', ').includes(node.tagName) || (node.tagName === 'A' && !/^(https?|mailto):$/.test(node.protocol)) || [...node.attributes].some(({ name }) => name.startsWith('on'))).map((node) => node.outerHTML.slice(0, 200))`

describePage('hostile text', { prepare: writeHostileHistory }, (world) => {
  test('of 200 kinds is shown as text in each step', { timeout: 300_000 }, async () => {
    expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(200)
    const page = await world.openTab()
    const found = watch(page, world.web.origin)
    await page.addInitScript({ content: COUNT_REPORTS })
    await page.goto(`${world.web.origin}/p/${UUID}/steps/1#k=${(await world.web.createLink()).code}`)
    for (const [index, text] of HOSTILE_TEXTS.entries()) {
      const detail = page.locator(`.step-detail[data-step="${index + 1}"]`)
      const result = detail.locator('.result')
      await result.waitFor()
      // Without the sequences of colours and the marks that are drawn, which have no text of their own.
      const words = (shown: string): string => visibleText(shown.replaceAll(/\x1b\[[0-9;:]*m/g, '')).trim()
      expect((await result.textContent())?.trim(), `result ${index + 1}`).toBe(words(text))
      expect(await page.evaluate(FIND_STRANGE), `text ${index + 1}`).toEqual([])
      if (index + 1 < HOSTILE_TEXTS.length) await page.keyboard.press(']')
    }
    expect(await page.evaluate('reports')).toEqual([])
    expect(found).toEqual([])
  })

  test('is shown as text on all tabs, and a line of 1 MB in part', { timeout: 120_000 }, async () => {
    const page = await world.openTab()
    const found = watch(page, world.web.origin)
    await page.addInitScript({ content: COUNT_REPORTS })
    const last = HOSTILE_TEXTS.length + 1
    await page.goto(`${world.web.origin}/p/${UUID}/steps/${last}#k=${(await world.web.createLink()).code}`)
    await page.locator('.step-detail .agent-text', { hasText: 'start of a long line' }).last().waitFor()
    await page.locator('.step-detail > p.buttons button', { hasText: 'Show more' }).waitFor()
    expect(await page.locator('.process-head h2').textContent()).toContain(ATTACK)
    expect(await page.locator('.process-head h2').textContent()).not.toContain('\u202E')
    for (const tab of ['files', 'logs', 'context', 'signals', 'limits', 'events']) {
      await page.locator('.tabs a', { hasText: tab }).click()
      await page.locator('.tabs a[aria-current]', { hasText: tab }).waitFor()
      await page.locator('.process .quiet', { hasText: 'being' }).waitFor({ state: 'detached' })
    }
    await page.getByRole('link', { name: 'reeve', exact: true }).click()
    await page.locator(`.row[data-uuid="${UUID}"]`).waitFor()
    expect(await page.locator('img, iframe, object, embed, video, audio, script:not([src*="/assets/"])').count()).toBe(0)
    expect(await page.evaluate('reports')).toEqual([])
    expect(found).toEqual([])
  })

  test('in the names of files and their diffs is shown as text', async () => {
    const repository = join(world.daemon.work, 'repository')
    await mkdir(repository)
    const git = (...args: string[]): unknown => execFileSync('git', ['-C', repository, ...args], { stdio: 'ignore' })
    git('init', '-q')
    git('-c', 'user.name=a', '-c', 'user.email=a@a.test', 'commit', '-q', '--allow-empty', '-m', 'start')
    const names = [`<img src=x onerror=alert(1)>`, BIDI, '"quoted" & <b>.txt']
    const writes = names.map((path) => ({ tools: [{ name: 'write', input: { path, content: `${ATTACK}\n${BIDI}\n` } }] }))
    const { uuid } = await world.daemon.spawnScripted([...writes, { text: 'done' }], { cwd: repository, worktree: true, name: 'files' })
    await world.daemon.waitForEnd(uuid)
    const page = await world.openTab()
    const found = watch(page, world.web.origin)
    await page.addInitScript({ content: COUNT_REPORTS })
    await page.goto(`${world.web.origin}/p/${uuid}/files#k=${(await world.web.createLink()).code}`)
    const open = new Set<unknown>()
    page.on('request', (request) => /\/v1\/.*(files|diff)/.test(request.url()) && open.add(request))
    page.on('requestfinished', (request) => open.delete(request))
    page.on('requestfailed', (request) => open.delete(request))
    await page.locator('.file .path').nth(2).waitFor()
    const shown = await page.locator('.file .path').allTextContents()
    expect(shown.toSorted()).toEqual(names.map((name) => visibleText(name)).toSorted())
    for (let index = 0; index < names.length; index += 1) {
      await page.locator('.file').nth(index).click()
      await page.locator('.diff-line .code', { hasText: ATTACK }).waitFor()
      expect(await page.locator('.diff-line .code').allTextContents()).toContain(visibleText(BIDI))
    }
    // The daemon stops after this test, and a comparison of files would fail then.
    await expect.poll(() => open.size).toBe(0)
    expect(await page.evaluate('reports')).toEqual([])
    expect(found).toEqual([])
  })
})
