// Draws the rows below a followed process on a terminal: the process and its living children, as the daemon streams their rows. Redraws
// after changes and every second. Must never start a daemon, because the user may have stopped it. Test: test/e2e/cli/live.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { RowView } from '../../api/views/rows.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { connect } from '../../index.ts'
import type { FollowPrinter } from '../follow/follow.ts'
import type { BottomLines, Output } from '../print/output.ts'
import { activityText } from './activity.ts'
import { Footer, type FooterInput } from '../screen/footer.ts'
import { childLines, stateLine, type RowStyle } from './format-rows.ts'
import { FollowedRows } from './followed-rows.ts'
import { LastOutputLines } from './last-output-lines.ts'
import { planIn, planSummary, type PlanEntry } from '../follow/agent-plan.ts'
import { fitWidth } from '../print/text.ts'

export class ProcessRows implements FollowPrinter, BottomLines, Disposable {
  readonly receivesLiveEvents = true
  readonly #uuid: string
  readonly #printer: FollowPrinter
  readonly #footer: Footer
  readonly #live = new FollowedRows()
  readonly #output = new LastOutputLines()
  readonly #abort = new AbortController()
  #plan: readonly PlanEntry[] | null = null

  constructor(
    { uuid }: Pick<ProcessView, 'uuid'>,
    {
      out,
      printer,
      input = null,
      stream = process.stderr,
    }: { out: Output; printer: FollowPrinter; input?: FooterInput | null; stream?: NodeJS.WriteStream },
  ) {
    this.#uuid = uuid
    this.#printer = printer
    this.#footer = new Footer({ out, stream, input, rows: (style) => this.#lines(style) })
    // Without the daemon, the rows stay as they are.
    this.#follow().catch(() => {})
    this.redraw()
  }

  /** The row of the process; undefined until the daemon has sent the first rows. */
  get row(): RowView | undefined {
    return this.#live.byUuid.get(this.#uuid)
  }

  async printEvent(event: EventView, fact: FactBody | undefined): Promise<void> {
    this.#output.onEvent(event, fact)
    this.#plan = (fact && planIn(fact)) ?? this.#plan
    await this.#printer.printEvent(event, fact)
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
    this.#abort.abort()
    this.#footer[Symbol.dispose]()
  }

  async #follow(): Promise<void> {
    const events = connect({ start: false }).followRows({ scope: `subtree:${this.#uuid}`, signal: this.#abort.signal })
    for await (const event of events) {
      this.#live.take(event)
      this.#footer.requestRedraw()
    }
  }

  #lines(style: RowStyle): string[] {
    const { row } = this
    const { now, byUuid } = this.#live
    if (!row) return []
    const children = [...byUuid.values()].filter(({ under, endedAt }) => under === this.#uuid && endedAt === null)
    const printed = row.doing?.callId === undefined ? '' : this.#output.lastLine(row.doing.callId)
    return [
      stateLine(row, (room) => activityText(row, { now, printed }, room, style.ellipsis), now, style),
      ...(this.#plan === null
        ? []
        : [style.paintMessage('dim', fitWidth(`  ${planSummary(this.#plan)}`, style.columns - 1, style.ellipsis))]),
      ...childLines(
        children.toSorted((a, b) => a.pid - b.pid),
        now,
        style,
      ),
    ]
  }
}
