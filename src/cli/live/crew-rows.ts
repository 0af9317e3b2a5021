// Draws the rows below the events of a followed crew on a terminal: its summary, its waits and its members. The daemon streams the rows of
// the members, with their costs and contexts. The crew with its tasks is requested when a row shows a change. Must never start a daemon.
// Tests: test/tables/cli/print/crew.test.ts, test/e2e/cli/crew.test.ts.
import type { CrewMemberView, CrewView } from '../../api/views/crew.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { connect, type RowEvent, type RowView } from '../../index.ts'
import { formatTable } from '../print/format-table.ts'
import { contextText, crewSummary, crewWaitLines, stateText } from '../print/crew.ts'
import type { FollowPrinter } from '../follow/follow.ts'
import { formatCost, formatElapsed } from '../../faces/format.ts'
import type { BottomLines, Output } from '../print/output.ts'
import { STATUS_COLOURS } from '../print/status-colours.ts'
import { fitWidth, oneLine, displayWidth } from '../print/text.ts'
import { FollowedRows } from './followed-rows.ts'
import { Footer } from '../screen/footer.ts'
import type { RowStyle } from './format-rows.ts'
import { Throttle } from '../screen/throttle.ts'

/** the shortest time between two requests for the crew */
const MIN_INTERVAL_MS = 200
/** the greatest number of rows for members: the output needs room, too */
const MAX_MEMBERS = 10
const MAX_WAITS = 3

export class CrewRows implements FollowPrinter, BottomLines, Disposable {
  readonly receivesLiveEvents = false
  readonly #printer: FollowPrinter
  readonly #uuid: string
  readonly #reeve = connect({ start: false })
  readonly #footer: Footer
  readonly #throttle: Throttle
  readonly #live = new FollowedRows()
  readonly #abort = new AbortController()
  #crew: CrewView | null = null
  /** when the crew was read, monotonic ms */
  #readAt = 0

  constructor(
    { uuid }: Pick<ProcessView, 'uuid'>,
    { out, printer, stream = process.stderr }: { out: Output; printer: FollowPrinter; stream?: NodeJS.WriteStream },
  ) {
    this.#uuid = uuid
    this.#printer = printer
    this.#throttle = new Throttle(MIN_INTERVAL_MS, () => {
      // Without an answer the rows stay as they are, until the next change.
      this.#update().catch(() => {})
    })
    this.#footer = new Footer({
      out,
      stream,
      input: null,
      rows: (style) =>
        this.#crew ? liveCrewLines(this.#crew, style, { rows: this.#live.byUuid, ageMs: performance.now() - this.#readAt }) : [],
    })
    // Without the daemon, the rows stay as they are.
    this.#follow().catch(() => {})
  }

  printEvent(event: EventView, fact: FactBody | undefined): Promise<void> {
    return this.#printer.printEvent(event, fact)
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

  [Symbol.dispose](): void {
    this.#abort.abort()
    this.#throttle[Symbol.dispose]()
    this.#footer[Symbol.dispose]()
  }

  async #update(): Promise<void> {
    this.#crew = await this.#reeve.crews.get(this.#uuid)
    this.#readAt = performance.now()
    this.#footer.requestRedraw()
  }

  async #follow(): Promise<void> {
    for await (const event of this.#reeve.followRows({ scope: `subtree:${this.#uuid}`, signal: this.#abort.signal })) {
      this.#live.take(event)
      if (this.#mayChangeCrew(event)) this.#throttle.request()
      this.#footer.requestRedraw()
    }
  }

  /** Whether an event may change more than figures: the crew has a new fact, or a member has another status or question. */
  #mayChangeCrew(event: RowEvent): boolean {
    if (event.type !== 'rows') return event.type === 'reset'
    return (
      event.gone.length > 0 ||
      event.up.some((patch) => 'status' in patch || 'asks' in patch || (patch.uuid === this.#uuid && 'seq' in patch))
    )
  }
}

export interface CrewFigures {
  readonly rows: ReadonlyMap<string, RowView>
  /** how long ago the crew was read */
  readonly ageMs: number
}

/**
 * Returns the crew with its present costs, contexts and clocks. A status stays as it was read, because its holds were read with it. Pure.
 */
function crewNow(crew: CrewView, { rows, ageMs }: CrewFigures): CrewView {
  const elapsedMs = (before: number, row: RowView): number => before + (row.runsSince === null ? 0 : ageMs)
  const own = rows.get(crew.uuid)
  return {
    ...crew,
    ...(own ? { elapsedMs: elapsedMs(crew.elapsedMs, own), costUsd: crew.costUsd === null ? null : own.sub.usd } : {}),
    members: crew.members.map((member) => {
      const row = member.uuid === null ? undefined : rows.get(member.uuid)
      if (!row) return member
      const { ctx, cost } = row
      const context = ctx ? { contextTokens: ctx.used, contextWindow: ctx.window } : {}
      return { ...member, ...context, costUsd: cost.usd, unpriced: cost.unpriced, elapsedMs: elapsedMs(member.elapsedMs, row) }
    }),
  }
}

/** Returns the lines for the crew, for what it waits for, and for its members. Pure. */
export function liveCrewLines(known: CrewView, style: RowStyle, figures: CrewFigures): string[] {
  const crew = crewNow(known, figures)
  const mark = crew.status === 'suspended' ? style.pauseMark : style.ascii ? '*' : '●'
  const colour = STATUS_COLOURS[crew.status]
  const head = fitWidth(crewSummary(crew), style.columns - displayWidth(mark) - 2, style.ellipsis)
  const waits = crewWaitLines(crew)
  const living = crew.members.filter(({ state }) => state !== 'gone')
  const shown = living.slice(0, MAX_MEMBERS)
  return [
    `${colour ? style.paintMessage(colour, mark) : mark} ${head}`,
    ...waits.slice(0, MAX_WAITS).map((line) => style.paintMessage('yellow', fitWidth(`  ${line}`, style.columns - 1, style.ellipsis))),
    ...memberRows(shown, crew, style),
    ...(living.length > shown.length ? [style.paintMessage('dim', `  +${living.length - shown.length} more`)] : []),
  ]
}

function memberRows(members: readonly CrewMemberView[], { tasks }: CrewView, style: RowStyle): string[] {
  if (members.length === 0) return []
  const columns = [
    { title: '' },
    { title: '', paint: (cell: string, row: number): string => style.paintMessage(members[row]?.phase === 'idle' ? 'dim' : 'green', cell) },
    { title: '', min: 10 },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
  ]
  const rows = members.map((member) => {
    const task = tasks.find(({ id }) => id === member.task)
    return [
      `  ${member.id}`,
      activityOf(member, style),
      task ? oneLine(`${task.id}  ${task.title}`) : '',
      formatElapsed(member.elapsedMs),
      member.contextWindow === null ? '' : contextText(member),
      member.costUsd !== 0 ? formatCost(member.costUsd, member.unpriced) : '',
    ]
  })
  return formatTable(columns, rows, style.columns - 1, style.ellipsis).slice(1)
}

function activityOf({ phase, status, state }: CrewMemberView, style: RowStyle): string {
  if (state === 'starting' || status === null) return 'starting'
  if (status === 'suspended') return `${style.pauseMark} ${stateText(phase)}`
  return status === 'waiting' ? `${stateText(phase)}, asks` : stateText(phase)
}
