// The list of the page in Chromium, as it was at each position of the stream. A position that the page has drawn together with a later one
// is unknown: the page draws once a frame.
import { expect } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { markOf } from '../../../src/faces/marks.ts'
import { titleOf } from '../../../src/faces/process-names.ts'
import type { Client } from '../../../src/api/client/client.ts'
import { openChromium, PAGE_WAIT_MS } from '../web/chromium.ts'
import { WebAccess } from '../web/raw-requests.ts'
import { isSteadyWhy, type Moment } from './agreement.ts'

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
}

/** Runs in the page: remembers the rows at each position that was drawn, the last 50 of them. */
const RECORD_ROWS = `(() => {
  const textOf = (row, selector) => row.querySelector(selector)?.textContent ?? ''
  const record = () => {
    const cursor = document.querySelector('[data-cursor]')?.getAttribute('data-cursor')
    if (!cursor) return
    shownRows.set(cursor, [...document.querySelectorAll('.row[data-uuid]')].map((row) => ({
      uuid: row.dataset.uuid,
      status: row.dataset.status,
      mark: row.querySelector('.mark')?.getAttribute('aria-label'),
      title: textOf(row, '.name a'),
      why: textOf(row, '.why'),
      step: textOf(row, '.number + .number'),
    })))
    for (const first of shownRows.keys()) if (shownRows.size > 50) shownRows.delete(first)
  }
  globalThis.shownRows = new Map()
  record()
  new MutationObserver(record).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
})()`

export class ShownPage implements AsyncDisposable {
  readonly #browser: Browser & AsyncDisposable
  readonly #page: Page
  /** the number of moments that were compared */
  compared = 0

  private constructor(browser: Browser & AsyncDisposable, page: Page) {
    this.#browser = browser
    this.#page = page
  }

  static async open(daemon: { readonly client: Client }): Promise<ShownPage> {
    const browser = await openChromium()
    const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage()
    page.setDefaultTimeout(PAGE_WAIT_MS)
    const web = await WebAccess.open(daemon)
    await page.goto(`${web.origin}/#k=${(await web.createLink()).code}`)
    await page.waitForSelector('[data-link="open"][data-cursor]:not([data-cursor=""])')
    await page.evaluate(RECORD_ROWS)
    return new ShownPage(browser, page)
  }

  /** Checks that the page shows the same as the other faces at this moment. Does nothing if the page never drew its position alone. */
  async expectAgrees({ rows: { rows, cursor }, processes }: Moment): Promise<void> {
    const shown = await this.#rowsAt(cursor)
    if (shown === null) return
    const byUuid = new Map(shown.map((row) => [row.uuid, row]))
    expect(shown.map(({ uuid }) => uuid).toSorted()).toEqual(rows.map(({ uuid }) => uuid).toSorted())
    const steps = new Map(processes.map(({ uuid, step }) => [uuid, step]))
    for (const row of rows) {
      const found = byUuid.get(row.uuid)
      expect(found, `the row of ${titleOf(row)} on the page`).toMatchObject({
        status: row.status,
        mark: markOf(row).word,
        title: titleOf(row),
        step: String(steps.get(row.uuid) || ''),
        ...(isSteadyWhy(row) ? { why: row.why?.text ?? row.note ?? row.status } : {}),
      })
    }
    this.compared += 1
  }

  /** The rows at a position; null: the page never drew it alone. */
  #rowsAt(cursor: string): Promise<readonly ShownRow[] | null> {
    return this.#page.evaluate(`(async () => {
      const end = performance.now() + ${DRAWN_MS}
      while (!shownRows.has(${JSON.stringify(cursor)}) && performance.now() < end) await new Promise(requestAnimationFrame)
      return shownRows.get(${JSON.stringify(cursor)}) ?? null
    })()`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]()
  }
}
