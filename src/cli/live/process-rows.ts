// Draws the rows below a followed process on a terminal: the activity of the process and its children. Redraws after events and every
// second.
// Test: test/tables/cli/live/sticky-footer.test.ts, test/e2e/cli/live.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import type { FollowPrinter } from '../follow/follow.ts'
import type { BottomLines, Output } from '../print/output.ts'
import { fitWidth, oneLine } from '../print/text.ts'
import { ActivityTracker } from './activity.ts'
import { Footer, type FooterInput } from './footer.ts'
import { childRows, stateRow } from './format-rows.ts'
import { ProcessPoller } from './process-poller.ts'

export class ProcessRows implements FollowPrinter, BottomLines, Disposable {
  readonly receivesLiveEvents = true
  readonly #printer: FollowPrinter
  readonly #footer: Footer
  readonly #poller: ProcessPoller
  readonly #activity = new ActivityTracker()

  constructor(
    started: ProcessView,
    {
      out,
      printer,
      input = null,
      stream = process.stderr,
    }: { out: Output; printer: FollowPrinter; input?: FooterInput | null; stream?: NodeJS.WriteStream },
  ) {
    this.#printer = printer
    this.#poller = new ProcessPoller(started, () => this.#footer.requestRedraw())
    this.#footer = new Footer({
      out,
      stream,
      input,
      onTick: () => this.#poller.tick(),
      rows: (style, now) => [
        stateRow(this.#poller.process, (room) => this.#activityText(now, room, style.ellipsis), now, style),
        ...childRows(this.#poller.children, this.#poller.childCount, now, style),
      ],
    })
    this.redraw()
  }

  /** The latest view of the process. */
  get process(): ProcessView {
    return this.#poller.process.view
  }

  async printEvent(event: EventView, fact: FactBody | undefined): Promise<void> {
    // An activity may have begun before this program: its duration counts from the time of its event.
    this.#activity.onEvent(event, fact, performance.now() - Math.max(0, Date.now() - Date.parse(event.at)))
    await this.#printer.printEvent(event, fact)
    if (fact) this.#poller.requestPoll()
    this.#footer.requestRedraw()
  }

  async printEnd(process: ProcessView): Promise<void> {
    this[Symbol.dispose]()
    await this.#printer.printEnd(process)
  }

  renderAbove(text: string): string {
    return this.#footer.renderAbove(text)
  }

  showQuestion(question: string): void {
    this.#footer.showQuestion(question)
  }

  hideQuestion(): void {
    this.#footer.hideQuestion()
  }

  redraw = (): void => this.#footer.redraw();

  [Symbol.dispose](): void {
    this.#poller[Symbol.dispose]()
    this.#footer[Symbol.dispose]()
  }

  /** Returns the activity of the process, or its open question if it has one. */
  #activityText(now: number, columns: number, ellipsis: string): string {
    const [ask] = this.process.asks
    return ask ? fitWidth(`asks: ${oneLine(ask.text)}`, columns, ellipsis) : this.#activity.activityText(now, columns, ellipsis)
  }
}
