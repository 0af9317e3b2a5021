// The rows below a process that is followed on a terminal: what it and its children do, kept up to date by its events and
// the clock. Test: test/tables/cli-live.test.ts, test/e2e/cli-live.test.ts.
import type { EventView, ProcessView } from '../../api/views.ts'
import type { FactBody } from '../../kernel/facts.ts'
import type { View } from '../follow.ts'
import type { Below, Output } from '../output.ts'
import { fit, oneLine } from '../text.ts'
import { Doing } from './doing.ts'
import { Footer, type Typed } from './footer.ts'
import { childRows, stateRow } from './rows.ts'
import { Watched } from './watched.ts'

export class LiveRows implements View, Below, Disposable {
  readonly live = true
  readonly #view: View
  readonly #footer: Footer
  readonly #watched: Watched
  readonly #doing = new Doing()

  constructor(process_: ProcessView, { out, view, typed = null, stream = process.stderr }: { out: Output; view: View; typed?: Typed | null; stream?: NodeJS.WriteStream }) {
    this.#view = view
    this.#watched = new Watched(process_, () => this.#footer.changed())
    this.#footer = new Footer({
      out, stream, typed,
      tick: () => this.#watched.tick(),
      rows: (look, now) => [
        stateRow(this.#watched.process, (room) => this.#does(now, room, look.ellipsis), now, look),
        ...childRows(this.#watched.children, this.#watched.childCount, now, look),
      ],
    })
    this.redraw()
  }

  /** The process as it was last seen. */
  get process(): ProcessView {
    return this.#watched.process.view
  }

  async event(event: EventView, fact: FactBody | undefined): Promise<void> {
    // What was begun before we looked has its own time.
    this.#doing.event(event, fact, performance.now() - Math.max(0, Date.now() - Date.parse(event.at)))
    await this.#view.event(event, fact)
    if (fact) this.#watched.ask()
    this.#footer.changed()
  }

  async end(process: ProcessView): Promise<void> {
    this[Symbol.dispose]()
    await this.#view.end(process)
  }

  around(text: string): string {
    return this.#footer.around(text)
  }

  ask(question: string): void {
    this.#footer.ask(question)
  }

  answered(): void {
    this.#footer.answered()
  }

  redraw = (): void => this.#footer.redraw();

  [Symbol.dispose](): void {
    this.#watched[Symbol.dispose]()
    this.#footer[Symbol.dispose]()
  }

  /** What it asks keeps it from all else. */
  #does(now: number, columns: number, ellipsis: string): string {
    const [ask] = this.process.asks
    return ask ? fit(`asks: ${oneLine(ask.text)}`, columns, ellipsis) : this.#doing.text(now, columns, ellipsis)
  }
}
