// The rows below a crew that is followed on a terminal: each worker with what it does, and how the tasks stand. What happens is
// told above them. The crew is asked again after each event, and once a second for its clocks; no daemon is started for it.
// Test: test/tables/cli-crew.test.ts, test/e2e/cli-crew.test.ts.
import type { CrewMemberView, CrewView } from '../../api/crew-views.ts'
import type { EventView, ProcessView } from '../../api/views.ts'
import type { FactBody } from '../../kernel/facts.ts'
import { connect } from '../../index.ts'
import { table } from '../columns.ts'
import { context, crewSummary, crewWaits, words } from '../crew-text.ts'
import type { View } from '../follow.ts'
import { cost, elapsed } from '../format.ts'
import type { Below, Output } from '../output.ts'
import { STATUS_COLOURS } from '../status-colours.ts'
import { fit, oneLine, width } from '../text.ts'
import { Footer } from './footer.ts'
import type { Look } from './rows.ts'
import { Throttle } from './throttle.ts'

/** Between two questions. */
const EVERY_MS = 200
/** More rows than these would crowd out what is above. */
const MAX_MEMBERS = 10

export class CrewRows implements View, Below, Disposable {
  readonly live = false
  readonly #view: View
  readonly #uuid: string
  readonly #reeve = connect({ start: false })
  readonly #footer: Footer
  readonly #asking: Throttle
  #crew: CrewView | null = null

  constructor({ uuid }: Pick<ProcessView, 'uuid'>, { out, view, stream = process.stderr }: { out: Output; view: View; stream?: NodeJS.WriteStream }) {
    this.#uuid = uuid
    this.#view = view
    this.#asking = new Throttle(EVERY_MS, () => {
      // A daemon that does not answer now is asked again in a second; what is shown stays as it was.
      this.#ask().catch(() => {})
    })
    this.#footer = new Footer({ out, stream, typed: null, tick: () => this.#asking.ask(), rows: (look) => (this.#crew ? crewRows(this.#crew, look) : []) })
    this.#asking.ask()
  }

  async event(event: EventView, fact: FactBody | undefined): Promise<void> {
    await this.#view.event(event, fact)
    this.#asking.ask()
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

  [Symbol.dispose](): void {
    this.#asking[Symbol.dispose]()
    this.#footer[Symbol.dispose]()
  }

  async #ask(): Promise<void> {
    this.#crew = await this.#reeve.crews.get(this.#uuid)
    this.#footer.changed()
  }
}

/** The crew, what it waits for, and its members. Pure. */
export function crewRows(crew: CrewView, look: Look): string[] {
  const mark = crew.status === 'suspended' ? look.pauseMark : look.ascii ? '*' : '●'
  const colour = STATUS_COLOURS[crew.status]
  const head = fit(crewSummary(crew), look.columns - width(mark) - 2, look.ellipsis)
  const waits = crewWaits(crew)
  const living = crew.members.filter(({ state }) => state !== 'gone')
  const shown = living.slice(0, MAX_MEMBERS)
  return [
    `${colour ? look.paintWords(colour, mark) : mark} ${head}`,
    ...waits.slice(0, 2).map((line) => look.paintWords('yellow', fit(`  ${line}`, look.columns - 1, look.ellipsis))),
    ...memberRows(shown, crew, look),
    ...(living.length > shown.length ? [look.paintWords('dim', `  +${living.length - shown.length} more`)] : []),
  ]
}

function memberRows(members: readonly CrewMemberView[], { tasks }: CrewView, look: Look): string[] {
  if (members.length === 0) return []
  const columns = [
    { title: '' }, { title: '', paint: (cell: string, row: number): string => look.paintWords(members[row]?.phase === 'idle' ? 'dim' : 'green', cell) }, { title: '', min: 10 },
    { title: '', side: 'right' as const }, { title: '', side: 'right' as const }, { title: '', side: 'right' as const },
  ]
  const rows = members.map((member) => {
    const task = tasks.find(({ id }) => id === member.task)
    return [`  ${member.id}`, doing(member, look), task ? oneLine(`${task.id}  ${task.title}`) : '', elapsed(member.elapsedMs), member.contextWindow === null ? '' : context(member), member.costUsd > 0 ? cost(member.costUsd, member.unpriced) : '']
  })
  return table(columns, rows, look.columns - 1, look.ellipsis).slice(1)
}

function doing({ phase, status, state }: CrewMemberView, look: Look): string {
  if (state === 'starting' || status === null) return 'starting'
  if (status === 'suspended') return `${look.pauseMark} ${words(phase)}`
  return status === 'waiting' ? `${words(phase)}, asks` : words(phase)
}
