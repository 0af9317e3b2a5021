// At random moments of a busy home, the page in Chromium agrees with the rows of the daemon, and reports no error. faces-agree.test.ts
// compares it with all other faces, also over restarts of the daemon.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deep } from '../../support/deep.ts'
import { expectAgreement, readMoment } from '../../support/faces/agreement.ts'
import { BusyHome } from '../../support/faces/busy-home.ts'
import { ShownPage } from '../../support/faces/shown-page.ts'
import { makeSeededPick } from '../../support/kernel/random-inputs.ts'
import { SEED } from '../../support/seed.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { PageWorld } from '../../support/web/page-world.ts'

const MOMENTS = deep(10, 60)

describe.runIf(CHROMIUM !== null)('the page', () => {
  let browser: Awaited<ReturnType<typeof openChromium>>
  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  test('agrees with the rows, the processes and the needs at random moments', { timeout: 900_000 }, async () => {
    await using world = await PageWorld.start(browser, {}, { width: 1440, height: 4_000 })
    const pick = makeSeededPick(SEED)
    const busy = new BusyHome(world.daemon, pick)
    const page = await ShownPage.attach(await world.visit())
    for (let moment = 1; moment <= MOMENTS; moment += 1) {
      for (let act = 2 + pick(4); act >= 0; act -= 1) await busy.act()
      // A moment counts if the page drew it alone.
      for (let isCompared = false; !isCompared;) {
        const found = await readMoment(world.daemon.client, 'recent')
        if (found === null) break
        try {
          isCompared = await page.expectAgrees(found)
          expectAgreement(found)
        } catch (error) {
          throw new Error(`REEVE_SEED=${SEED}, moment ${moment}: ${(error as Error).message}`, { cause: error })
        }
      }
    }
    expect(page.compared).toBeGreaterThan(0.7 * MOMENTS)
    expect(world.problems).toEqual([])
  })
})
