// At random moments of a busy home, the page in Chromium agrees with the rows of the daemon. Compared are status, reason to wait, step
// and cost of each process, and the processes above the list, which need the user.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatCost } from '../../../src/faces/format.ts'
import { deep } from '../../support/deep.ts'
import { expectAgreement, readMoment } from '../../support/faces/agreement.ts'
import { BusyHome } from '../../support/faces/busy-home.ts'
import { makeSeededPick } from '../../support/kernel/random-inputs.ts'
import { SEED } from '../../support/seed.ts'
import { CHROMIUM, openChromium } from '../../support/web/chromium.ts'
import { PageWorld } from '../../support/web/open-page.ts'
import type { RowView } from '../../../src/api/views/rows.ts'

const MOMENTS = deep(10, 60)

/** The cells of a row on the page. */
interface ShownRow {
  readonly uuid: string
  readonly status: string
  readonly name: string
  readonly why: string
  readonly step: string
  readonly cost: string
}

const shownRows = (page: Page): Promise<ShownRow[]> =>
  page.locator('.row').evaluateAll((rows) =>
    rows.map((row) => {
      const text = (selector: string): string => row.querySelector(selector)?.textContent ?? ''
      return {
        uuid: row.getAttribute('data-uuid') ?? '',
        status: row.getAttribute('data-status') ?? '',
        name: text('.name a'),
        why: text('.why'),
        step: row.querySelectorAll('[role="gridcell"]')[3]?.textContent ?? '',
        cost: text('.cost'),
      }
    }),
  )

function expectedRow({ uuid, status, name, about, pid, why, note, step, cost, sub }: RowView): ShownRow {
  const isFree = sub.usd === 0 && cost.usd === 0 && step === 0
  return {
    ...{ uuid, status, name: name ?? (about || `process ${pid}`) },
    why: why?.text ?? note ?? status,
    step: step === 0 ? '' : String(step),
    cost: isFree ? '' : `${formatCost(cost.usd === null ? null : sub.usd, cost.unpriced)}${cost.estimated ? '~' : ''}`,
  }
}

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
    const page = await world.visit()
    let compared = 0
    for (let moment = 1; moment <= MOMENTS; moment += 1) {
      for (let act = 2 + pick(4); act >= 0; act -= 1) await busy.act()
      // A moment counts if nothing has changed while the page drew it.
      for (let isSame = false; !isSame;) {
        const found = await readMoment(world.daemon.client, 'recent')
        if (found === null) break
        const rows = new Map(found.rows.rows.map((row) => [row.uuid, row]))
        const expected = { rows: found.rows.rows.map(expectedRow).toSorted(byUuid), needs: expectedNeeds(found.rows.rows) }
        const shown = async (): Promise<typeof expected> => ({
          rows: (await shownRows(page)).toSorted(byUuid),
          needs: await shownNeeds(page),
        })
        const isShown = await expect
          .poll(shown, { timeout: 3_000 })
          .toEqual(expected)
          .then(
            () => true,
            () => false,
          )
        isSame = (await world.daemon.readCursor()) === found.rows.seq
        if (!isSame) continue
        if (!isShown) expect(await shown(), `REEVE_SEED=${SEED}, moment ${moment}, ${rows.size} rows`).toEqual(expected)
        expectAgreement(found)
        compared += 1
      }
    }
    expect(compared).toBeGreaterThan(0.7 * MOMENTS)
    expect(world.problems).toEqual([])
  })
})

function byUuid(a: { readonly uuid: string }, b: { readonly uuid: string }): number {
  return a.uuid < b.uuid ? -1 : 1
}

/** Returns the needs that the page must show: all that have not ended well, and are not snoozed. */
function expectedNeeds(rows: readonly RowView[]): string[] {
  return rows.flatMap(({ uuid, attention, snoozedUntil }) => (attention > 1 && snoozedUntil === null ? [uuid] : [])).toSorted()
}

async function shownNeeds(page: Page): Promise<string[]> {
  return (await page.locator('[data-need]').evaluateAll((needs) => needs.map((need) => need.getAttribute('data-need') ?? ''))).toSorted()
}
