// Measures the list of the page with 10,000 processes in Chromium: the time from the link to the rows, and the memory. Also the main
// thread's CPU time for a frame with three changed rows, for a frame while the list scrolls, and for a filter.
// Run: `npm run bench page-list`.
import type { CDPSession, Page } from 'playwright-core'
import { LocalDaemon } from '../test/support/daemon/local-daemon.ts'
import { CHROMIUM, openChromium } from '../test/support/web/chromium.ts'
import { changeRows, sendManyRows } from '../test/support/web/many-rows.ts'
import { WebAccess } from '../test/support/web/web-access.ts'
import { ROUNDS, median, timed } from './support/measure.ts'

const COUNT = 10_000
const FRAMES = 120

/** A script for the browser that does `work` in each of `FRAMES` frames. */
const inFrames = (work: string): string => `new Promise((done) => {
  let left = ${FRAMES}
  const frame = (at) => { ${work}; if (--left > 0) requestAnimationFrame(frame); else done() }
  requestAnimationFrame(frame)
})`

/** The CPU time of the main thread for some work, in ms. */
async function measureCpuMs(session: CDPSession, work: () => Promise<unknown>): Promise<number> {
  const busyMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  }
  const before = await busyMs()
  await work()
  return (await busyMs()) - before
}

async function measureFrameMs(page: Page, session: CDPSession, work: string): Promise<number> {
  return (await measureCpuMs(session, () => page.evaluate(inFrames(work)))) / FRAMES
}

async function measureRound(web: WebAccess, browser: Awaited<ReturnType<typeof openChromium>>): Promise<readonly number[]> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await sendManyRows(page, COUNT)
  const { code } = await web.createLink()
  const loadMs = await timed(async () => {
    await page.goto(`${web.origin}/#k=${code}`)
    await page.locator('.row').first().waitFor()
  })
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  await changeRows(page, 200)
  const changeMs = await measureFrameMs(page, session, 'sendChanges(3)')
  const scrollMs = await measureFrameMs(page, session, "document.querySelector('.tree').scrollTop += 120")
  const filterMs = await measureCpuMs(session, async () => {
    await page.locator('#filter').fill('name:n77')
    await page.getByText('n7799', { exact: true }).waitFor()
  })
  await page.locator('#filter').fill('')
  await session.send('HeapProfiler.collectGarbage')
  const heapMb = (await page.evaluate<number>('performance.memory.usedJSHeapSize')) / 1e6
  await context.close()
  return [loadMs, changeMs, scrollMs, filterMs, heapMb]
}

async function bench(): Promise<void> {
  if (CHROMIUM === null) return console.log('page-list: not measured, because there is no Chromium')
  await using daemon = await LocalDaemon.start()
  await using browser = await openChromium()
  const web = await WebAccess.open(daemon)
  const rounds: (readonly number[])[] = []
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureRound(web, browser))
  const bars = [
    ['link to rows, ms', 1_000],
    ['a frame with 3 changes, ms of CPU', 1],
    ['a frame that scrolls 120 px, ms of CPU', 8],
    ['a filter, until the rows are there, ms of CPU', 50],
    ['heap, MB', 60],
  ] as const
  for (const [at, [name, bar]] of bars.entries())
    console.log(`${name}: ${median(rounds.map((round) => round[at] ?? Number.NaN)).toFixed(2)} (bar ${bar})`)
}

await bench()
