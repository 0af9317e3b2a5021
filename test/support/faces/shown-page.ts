// The list of the page in Chromium, and the needs above it, as they were at each position of the stream. A position that the page has drawn
// together with a later one is unknown: the page draws once a frame.
import { expect } from 'vitest'
import type { Page } from 'playwright-core'
import { formatCost } from '../../../src/faces/format.ts'
import { markOf } from '../../../src/faces/marks.ts'
import { titleOf } from '../../../src/faces/process-names.ts'
import type { RowView } from '../../../src/api/views/rows.ts'
import type { Client } from '../../../src/api/client/client.ts'
import { openChromium, PAGE_WAIT_MS } from '../web/chromium.ts'
import { WebAccess } from '../web/web-access.ts'
import type { Moment } from './agreement.ts'

/** high enough for all rows and needs of a busy home */
const VIEWPORT = { width: 1600, height: 12_000 }
/** How long a position may take to be drawn, in ms. After that it is unknown. */
const DRAWN_MS = 2_000

interface ShownRow {
  readonly uuid: string
  readonly status: string
  readonly mark: string
  readonly title: string
  readonly why: string
  readonly step: string
  readonly cost: string
}

interface Shown {
  readonly rows: readonly ShownRow[]
  /** the processes that need the user, as the strip above the list has them */
  readonly needs: readonly string[]
}

/** Runs in the page: remembers what it shows at each position that was drawn, the last 50 of them. */
const RECORD_SHOWN = `(() => {
  const textOf = (row, selector) => row.querySelector(selector)?.textContent ?? ''
  const record = () => {
    const cursor = document.querySelector('[data-cursor]')?.getAttribute('data-cursor')
    if (!cursor) return
    const rows = [...document.querySelectorAll('.row[data-uuid]')].map((row) => ({
      uuid: row.dataset.uuid,
      status: row.dataset.status,
      mark: row.querySelector('.mark')?.getAttribute('aria-label'),
      title: textOf(row, '.name a'),
      why: textOf(row, '.why'),
      step: textOf(row, '.number + .number'),
      cost: textOf(row, '.cost'),
    }))
    shown.set(cursor, { rows, needs: [...document.querySelectorAll('[data-need]')].map(({ dataset }) => dataset.need) })
    for (const first of shown.keys()) if (shown.size > 50) shown.delete(first)
  }
  globalThis.shown = new Map()
  record()
  new MutationObserver(record).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
})()`

/** The most needs that the strip shows. */
const MAX_NEEDS = 50

export class ShownPage implements AsyncDisposable {
  readonly #page: Page
  readonly #close: () => PromiseLike<void>
  /** the number of moments that were compared */
  compared = 0

  private constructor(page: Page, close: () => PromiseLike<void>) {
    this.#page = page
    this.#close = close
  }

  /** Opens the page of a daemon in a browser of its own. */
  static async open(daemon: { readonly client: Client }): Promise<ShownPage> {
    const browser = await openChromium()
    const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage()
    page.setDefaultTimeout(PAGE_WAIT_MS)
    const web = await WebAccess.open(daemon)
    await page.goto(`${web.origin}/#k=${(await web.createLink()).code}`)
    return ShownPage.attach(page, () => browser[Symbol.asyncDispose]())
  }

  /** Records what an open page shows. It must be high enough for all rows. */
  static async attach(page: Page, close = async (): Promise<void> => {}): Promise<ShownPage> {
    await page.waitForSelector('[data-link="open"][data-cursor]:not([data-cursor=""])')
    await page.evaluate(RECORD_SHOWN)
    return new ShownPage(page, close)
  }

  /** Checks that the page shows the same as the other faces at this moment. Returns false if the page never drew its position alone. */
  async expectAgrees({ rows: { rows, cursor } }: Moment): Promise<boolean> {
    const shown = await this.#shownAt(cursor)
    if (shown === null) return false
    const byUuid = new Map(shown.rows.map((row) => [row.uuid, row]))
    expect(shown.rows.map(({ uuid }) => uuid).toSorted()).toEqual(rows.map(({ uuid }) => uuid).toSorted())
    for (const row of rows) expect(byUuid.get(row.uuid), `the row of ${titleOf(row)} on the page`).toMatchObject(expectedRow(row))
    const needs = expectedNeeds(rows)
    if (needs.length <= MAX_NEEDS) expect(shown.needs.toSorted()).toEqual(needs)
    this.compared += 1
    return true
  }

  #shownAt(cursor: string): Promise<Shown | null> {
    return this.#page.evaluate(`(async () => {
      const end = performance.now() + ${DRAWN_MS}
      while (!shown.has(${JSON.stringify(cursor)}) && performance.now() < end) await new Promise(requestAnimationFrame)
      return shown.get(${JSON.stringify(cursor)}) ?? null
    })()`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

function expectedRow(row: RowView): Omit<ShownRow, 'uuid'> {
  const { status, step, cost, sub } = row
  const isFree = sub.usd === 0 && cost.usd === 0 && step === 0
  return {
    status,
    mark: markOf(row).word,
    title: titleOf(row),
    why: row.why?.text ?? row.note ?? status,
    step: step === 0 ? '' : String(step),
    cost: isFree ? '' : `${formatCost(cost.usd === null ? null : sub.usd, cost.unpriced)}${cost.estimated ? '~' : ''}`,
  }
}

/** The processes that the strip must show: all with a need but a good end, unless it is snoozed. */
function expectedNeeds(rows: readonly RowView[]): string[] {
  return rows.flatMap(({ uuid, attention, snoozedUntil }) => (attention > 1 && snoozedUntil === null ? [uuid] : [])).toSorted()
}
