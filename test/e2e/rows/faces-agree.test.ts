// `reeve ps --json -a`, the rows, their stream, the needs of the user, the screen of `reeve top` and the list of the page agree at random
// moments of a busy home. The daemon restarts meanwhile, also after a kill.
import { expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'
import { expectAgreement, expectScreenAgrees, expectTopAgrees, readMoment, RowReader } from '../../support/faces/agreement.ts'
import { BusyHome } from '../../support/faces/busy-home.ts'
import { ShownPage } from '../../support/faces/shown-page.ts'
import { makeSeededPick } from '../../support/kernel/random-inputs.ts'
import { SEED } from '../../support/seed.ts'
import { CHROMIUM } from '../../support/web/chromium.ts'

/** `REEVE_MOMENTS=1000` compares more, which takes some 30 minutes. */
const MOMENTS = Number(process.env['REEVE_MOMENTS'] ?? deep(60, 200))
/** the number of moments between two starts of a crew */
const CREW_EVERY = 30
/** the number of moments between two restarts of the daemon */
const RESTART_EVERY = 20
/** the moment from which on the page is compared, too: drawing it costs more than all else */
const PAGE_FROM = process.env['REEVE_MOMENTS'] === undefined ? (2 / 3) * MOMENTS : 0
/** the number of moments between two that a terminal draws */
const SCREEN_EVERY = 10

test('at random moments, processes, rows, their stream and needs agree', { timeout: Math.max(1_800_000, 5_000 * MOMENTS) }, async () => {
  const pick = makeSeededPick(SEED)
  await using home = await DaemonHome.create()
  await home.start()
  const busy = new BusyHome(home, pick)
  await using recent = new RowReader(home.path, 'recent')
  await using all = new RowReader(home.path, 'all')
  await using stack = new AsyncDisposableStack()
  let page: ShownPage | null = null
  let starts = 1
  let compared = 0
  let usd = 0
  const seen = { statuses: new Set<string>(), kinds: new Set<string>() }
  for (let moment = 1; moment <= MOMENTS; moment += 1) {
    if (moment % CREW_EVERY === 5) await busy.startCrew()
    if (moment % RESTART_EVERY === 0) {
      if (pick(2) === 0) await home.client.post('/v1/daemon/stop', { drainMs: 100 })
      await home.kill()
      await home.start()
      starts += 1
    }
    for (let act = pick(4); act >= 0; act -= 1) await busy.act()
    const [scope, reader] = pick(2) === 0 ? (['recent', recent] as const) : (['all', all] as const)
    await reader.waitForResets(starts)
    if (moment >= PAGE_FROM && CHROMIUM !== null) page ??= stack.use(await ShownPage.open(home))
    const found = await readMoment(home.client, scope)
    if (found === null) continue
    try {
      expectAgreement(found)
      const streamed = await reader.stateAt(found.rows.cursor)
      expect(streamed).toEqual({ rows: found.rows.rows, needs: found.rows.needs })
      expectTopAgrees(streamed.rows, found)
      if (moment % SCREEN_EVERY === 0) await expectScreenAgrees(streamed, found)
      if (scope === 'recent') await page?.expectAgrees(found)
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED}, moment ${moment}: ${(error as Error).message}`, { cause: error })
    }
    compared += 1
    usd += found.rows.rows.reduce((sum, { cost }) => sum + (cost.usd ?? 0), 0)
    for (const { status } of found.processes) seen.statuses.add(status)
    for (const { kind } of found.needs.needs) seen.kinds.add(kind)
  }
  expect(compared).toBeGreaterThan(0.9 * MOMENTS)
  expect([...seen.statuses]).toEqual(expect.arrayContaining(['working', 'suspended', 'waiting', 'ready', 'failed', 'completed', 'stopped']))
  expect(usd).toBeGreaterThan(1)
  // The page draws once a frame, so that some positions are never seen alone.
  if (page) expect(page.compared).toBeGreaterThan((MOMENTS - PAGE_FROM) / 10)
  expect(seen.kinds.size).toBeGreaterThan(3)
})
