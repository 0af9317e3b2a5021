// Prints a followed crew: a line for each event of a task or member, and at the end the table of its tasks. Test:
// test/e2e/cli/crew.test.ts.
import { crewEventText } from '../../api/text/crew-event.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { crewResultLines, crewSummary, crewWaitLines, taskLines } from '../print/crew.ts'
import type { FollowPrinter } from './follow.ts'
import { formatClock } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { fitWidth, oneLine, padWidth } from '../print/text.ts'

/** the width of the column with the task or member of an event */
const ABOUT_COLUMNS = 12
/** the greatest width of a line that is not printed on a terminal */
const TEXT_COLUMNS = 160
/** the number of recent texts to keep, so that a cause is not printed twice */
const RECENT_TEXTS = 8
/** The events that are not printed: intermediate ones, and those that block-notices.ts reports (holds and questions). */
const UNPRINTED_TYPES: ReadonlySet<string> = new Set([
  'task.prepared',
  'task.briefed',
  'task.approved',
  'task.committing',
  'task.asked',
  'crew.joined',
  'crew.held',
])

/** Whether an event is not printed. A failed setup is printed later, as the reason why its worker was lost. */
function isUnprinted(fact: FactBody): boolean {
  return UNPRINTED_TYPES.has(fact.type) || (fact.type === 'crew.setup' && !fact.ok)
}

export class CrewPrinter implements FollowPrinter {
  readonly receivesLiveEvents = false
  readonly #out: Output
  readonly #reeve: Reeve
  /** the texts of the last events, oldest first */
  #recentTexts: readonly string[] = []

  constructor(out: Output, reeve: Reeve) {
    this.#out = out
    this.#reeve = reeve
  }

  async printEvent(event: EventView, fact: FactBody | undefined): Promise<void> {
    if (fact?.type === 'process.error') return this.#printFailure(event, fact.message)
    const line = fact && !isUnprinted(fact) ? crewEventText(fact) : null
    if (!line) return
    await this.#printLine(event, {
      about: line.about,
      type: fact?.type ?? '',
      what: line.what,
      text: this.#withoutRepeatedCause(line.text),
    })
    if (line.text !== null) this.#recentTexts = [...this.#recentTexts.slice(1 - RECENT_TEXTS), line.text]
  }

  /** Removes the cause at the end of a text if an earlier line contains it: `all 3 attempts failed` remains. */
  #withoutRepeatedCause(text: string | null): string | null {
    const reason = this.#recentTexts.find((recent) => recent !== '' && text?.endsWith(`: ${recent}`))
    return text === null || reason === undefined ? text : text.slice(0, -reason.length).replace(/(; the last reason)?: $/, '')
  }

  /** Prints `worker-1: the disk is full` or `worker-1 was lost: …`, unless a recent line contains the cause. */
  async #printFailure(event: EventView, message: string): Promise<void> {
    const [, about = null, why = message] = /^([\w.-]+)(?: was lost[\w ]*)?: (.*)$/s.exec(message) ?? []
    if (!this.#recentTexts.some((text) => text.includes(why)))
      await this.#printLine(event, { about, type: 'process.error', what: why, text: null })
  }

  async #printLine(
    event: EventView,
    line: { readonly about: string | null; readonly type: string; readonly what: string; readonly text: string | null },
  ): Promise<void> {
    const head = `${formatClock(event.at, Date.now())}  ${padWidth(oneLine(line.about ?? ''), ABOUT_COLUMNS)}  `
    const room = (this.#out.isTerminal('stderr') ? this.#out.messageColumns : TEXT_COLUMNS) - head.length - 1
    const text = fitWidth(oneLine(`${line.what}${line.text === null ? '' : `: ${line.text}`}`), Math.max(20, room), this.#out.ellipsis)
    await this.#out.message(`${this.#out.paintMessage('dim', head)}${this.#colour(line.type, line.what, text)}`)
  }

  #colour(type: string, what: string, text: string): string {
    if (type === 'task.done' || what.startsWith('APPROVED')) return this.#out.paintMessage('green', text)
    if (type === 'process.error' || type === 'task.failed' || (type === 'crew.left' && what === 'lost'))
      return this.#out.paintMessage('red', text)
    return what.startsWith('DENIED') || type === 'crew.notified' ? this.#out.paintMessage('yellow', text) : text
  }

  async printEnd({ uuid }: ProcessView): Promise<void> {
    const crew = await this.#reeve.crews.get(uuid)
    await this.#out.line(taskLines(crew.tasks, this.#out, this.#out.columns).join('\n'))
    await this.#out.message(crewSummary(crew))
    for (const line of crewWaitLines(crew)) await this.#out.message(this.#out.paintMessage('yellow', line))
    for (const line of crewResultLines(crew)) await this.#out.message(line)
  }
}
