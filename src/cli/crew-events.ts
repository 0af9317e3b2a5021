// A crew that is followed: a line for each thing that happens to a task or a member, and the table of its tasks at its end.
// Test: test/e2e/cli-crew.test.ts.
import { crewWords } from '../api/crew-words.ts'
import type { EventView, ProcessView } from '../api/views.ts'
import type { Reeve } from '../index.ts'
import type { FactBody } from '../kernel/facts.ts'
import { crewNext, crewSummary, taskLines } from './crew-text.ts'
import { held } from './describe.ts'
import type { View } from './follow.ts'
import { clock } from './format.ts'
import type { Output } from './output.ts'
import { fit, oneLine, pad, safe } from './text.ts'

/** Names of tasks and members are put in a column of this width. */
const ABOUT_COLUMNS = 12
/** What was said is told on one line, and no longer than this where no terminal says how wide it is. */
const TEXT_COLUMNS = 160
/** Steps between the ones that a person wants to see. */
const QUIET: ReadonlySet<string> = new Set(['task.prepared', 'task.briefed', 'task.approved', 'task.committing', 'crew.joined'])

export class CrewEvents implements View {
  readonly live = false
  readonly #out: Output
  readonly #reeve: Reeve

  constructor(out: Output, reeve: Reeve) {
    this.#out = out
    this.#reeve = reeve
  }

  async event(event: EventView, fact: FactBody | undefined): Promise<void> {
    if (fact?.type === 'process.held') await this.#out.words(`${this.#out.pauseMark} ${held(fact.hold)}`)
    else if (fact?.type === 'process.error') await this.#out.words(this.#out.paintWords('red', safe(fact.message)))
    const said = fact && !QUIET.has(fact.type) ? crewWords(fact) : null
    if (!said) return
    const head = `${clock(event.at, Date.now())}  ${pad(oneLine(said.about ?? ''), ABOUT_COLUMNS)}  `
    const room = (this.#out.isTerminal('stderr') ? this.#out.wordColumns : TEXT_COLUMNS) - head.length - 1
    const text = fit(oneLine(`${said.what}${said.text === null ? '' : `: ${said.text}`}`), Math.max(20, room), this.#out.ellipsis)
    await this.#out.words(`${this.#out.paintWords('dim', head)}${this.#coloured(fact?.type ?? '', said.what, text)}`)
  }

  #coloured(type: string, what: string, text: string): string {
    if (type === 'task.done' || what.startsWith('APPROVED')) return this.#out.paintWords('green', text)
    if (type === 'task.failed' || type === 'crew.left' && what === 'lost') return this.#out.paintWords('red', text)
    return type === 'task.asked' || what.startsWith('DENIED') || type === 'crew.notified' ? this.#out.paintWords('yellow', text) : text
  }

  async end({ uuid }: ProcessView): Promise<void> {
    const crew = await this.#reeve.crews.get(uuid)
    await this.#out.line(taskLines(crew.tasks, this.#out, this.#out.columns).join('\n'))
    await this.#out.words(crewSummary(crew))
    for (const line of crewNext(crew)) await this.#out.words(line)
  }
}
