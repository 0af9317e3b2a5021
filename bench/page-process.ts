// Measures the page of a process of 5,000 steps in Chromium: opening it, zooming its time axis, scrolling its list, and showing one step.
// Also measures a diff of 20,000 lines in both layouts. All figures are CPU time of the page's main thread, because other work of the
// machine would add to wall time. Run: `npm run bench page-process`.
import { join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import { Repository } from '../test/support/git/repository.ts'
import { LocalDaemon } from '../test/support/daemon/local-daemon.ts'
import { LONG_UUID, writeLongHistory } from '../test/support/store/long-history.ts'
import { CHROMIUM, openChromium } from '../test/support/web/chromium.ts'
import { WebAccess } from '../test/support/web/web-access.ts'
import { ROUNDS, budgetRow, printTable, type Row } from './support/measure.ts'

const STEPS = 5_000
const FRAMES = 60
const [OPEN_MS, ZOOM_MS, SCROLL_MS, STEP_MS] = [300, 4, 8, 30]
const DIFF_LINES = 20_000
const [DIFF_OPEN_MS, DIFF_SCROLL_MS] = [500, 6]
const FRAME = 'new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))'

class PageBench {
  readonly #page: Page
  readonly #session: CDPSession

  constructor(page: Page, session: CDPSession) {
    this.#page = page
    this.#session = session
  }

  /** The CPU time of the page's main thread during `work`, in ms. */
  async measureCpuMs(work: () => Promise<unknown>): Promise<number> {
    const before = await this.#taskMs()
    await work()
    return (await this.#taskMs()) - before
  }

  /** Opens the process from the list, until its newest step is shown. Returns the CPU time. */
  async open(): Promise<number> {
    await this.#page.getByRole('link', { name: 'reeve', exact: true }).click()
    const link = this.#page.locator(`.row[data-uuid="${LONG_UUID}"] .name a`)
    await link.waitFor()
    return this.measureCpuMs(async () => {
      await link.click()
      await this.#page.locator(`.step-detail[data-step="${STEPS}"] .tool`).waitFor()
      await this.#page.locator('.axis canvas').waitFor()
      await this.#page.evaluate(FRAME)
    })
  }

  /** Turns the wheel over an element. Returns the CPU time of a frame. */
  async wheel(selector: string, deltaY: (frame: number) => number): Promise<number> {
    const box = await this.#page.locator(selector).boundingBox()
    if (!box) throw new Error(`${selector} has no box`)
    await this.#page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    const ms = await this.measureCpuMs(async () => {
      for (let frame = 0; frame < FRAMES; frame += 1) {
        await this.#page.mouse.wheel(0, deltaY(frame))
        await this.#page.evaluate(FRAME)
      }
    })
    return ms / FRAMES
  }

  async showStep(key: string, step: number): Promise<number> {
    return this.measureCpuMs(async () => {
      await this.#page.keyboard.press(key)
      await this.#page.locator(`.step-detail[data-step="${step}"] .tool`).waitFor()
      await this.#page.evaluate(FRAME)
    })
  }

  /** Opens the changed files from the steps, until the diff is shown. Returns the CPU time. */
  async openDiff(uuid: string): Promise<number> {
    await this.#page.locator('.tabs a', { hasText: 'steps' }).click()
    await this.#page.locator('.diff').waitFor({ state: 'detached' })
    return this.measureCpuMs(async () => {
      await this.#page.locator(`.tabs a[href="/p/${uuid}/files"]`).click()
      await this.#page.locator('.diff-line').first().waitFor()
      await this.#page.evaluate(FRAME)
    })
  }

  async #taskMs(): Promise<number> {
    const { metrics } = await this.#session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1_000
  }
}

/** Starts a command that changes all lines of a file in a worktree, and waits for its end. */
async function spawnWithDiff(daemon: LocalDaemon): Promise<{ readonly uuid: string }> {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'numbers.txt': Array.from({ length: DIFF_LINES / 2 }, (_, index) => `old ${index}\n`).join('') })
  const { uuid } = await daemon.spawnShell(`seq 1 ${DIFF_LINES / 2} > numbers.txt`, { worktree: true, cwd: repository.dir })
  await daemon.waitForEnd(uuid)
  return { uuid }
}

async function bench(): Promise<readonly Row[]> {
  await using daemon = await LocalDaemon.start({ prepare: (stateDir) => writeLongHistory(stateDir, STEPS) })
  await using browser = await openChromium()
  const web = await WebAccess.open(daemon)
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage()
  await page.goto(`${web.origin}/#k=${(await web.createLink()).code}`)
  await page.waitForSelector('[data-link="open"]')
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const process = new PageBench(page, session)
  const [opened, zoomed, scrolled, shown]: [number[], number[], number[], number[]] = [[], [], [], []]
  for (let round = 0; round < ROUNDS; round += 1) opened.push(await process.open())
  for (let round = 0; round < ROUNDS; round += 1) {
    zoomed.push(await process.wheel('.axis', (frame) => (frame < FRAMES / 2 ? -120 : 120)))
    scrolled.push(await process.wheel('.list', (frame) => (frame < FRAMES / 2 ? -400 : 400)))
  }
  for (let round = 1; round <= ROUNDS; round += 1) shown.push(await process.showStep('[', STEPS - round))
  const { uuid } = await spawnWithDiff(daemon)
  await page.goto(`${web.origin}/p/${uuid}/files`)
  await page.locator('.diff-line').first().waitFor()
  const [diffOpened, diffScrolled, splitScrolled]: [number[], number[], number[]] = [[], [], []]
  const scrollDiff = (): Promise<number> => process.wheel('.diff', (frame) => (frame < FRAMES / 2 ? 300 : -300))
  for (let round = 0; round < ROUNDS; round += 1) {
    diffOpened.push(await process.openDiff(uuid))
    diffScrolled.push(await scrollDiff())
  }
  await page.getByRole('button', { name: 'split' }).click()
  for (let round = 0; round < ROUNDS; round += 1) splitScrolled.push(await scrollDiff())
  return [
    budgetRow('5,000 steps: from the list to the newest step', opened, OPEN_MS),
    budgetRow('the same: a frame while the time axis is zoomed', zoomed, ZOOM_MS),
    budgetRow('the same: a frame while the list is scrolled', scrolled, SCROLL_MS),
    budgetRow('the same: another step', shown, STEP_MS),
    budgetRow('a diff of 20,000 lines: from the steps to the diff', diffOpened, DIFF_OPEN_MS),
    budgetRow('the same: a frame while it is scrolled', diffScrolled, DIFF_SCROLL_MS),
    budgetRow('the same, side by side', splitScrolled, DIFF_SCROLL_MS),
  ]
}

if (CHROMIUM === null) console.log('page-process: not measured, because there is no Chromium')
else printTable('the page of a process', await bench())
