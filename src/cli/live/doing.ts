// What a process does right now, folded from its events: asks its model, writes, runs a tool (with the last line of its
// output), waits. The kernel's status says the rest. All text of others goes through `oneLine`. Test: test/tables/cli-live.test.ts.
import type { EventView } from '../../api/views.ts'
import type { FactBody } from '../../kernel/facts.ts'
import { shortInput } from '../describe.ts'
import { elapsed } from '../format.ts'
import { fit, oneLine, width } from '../text.ts'

interface Call {
  readonly text: string
  readonly since: number
}

/** Calls whose output is kept. */
const MAX_OUTPUTS = 32
/** Characters at the end of a tool's output in which its last line is looked for. */
const OUTPUT_END = 400

export class Doing {
  /** the calls that are under way, the oldest first: their ends are told in order */
  readonly #calls = new Map<string, Call>()
  readonly #inputs = new Map<string, unknown>()
  /** the end of what each call printed; who comes late may see it before the call */
  readonly #outputs = new Map<string, string>()
  #model: { readonly text: string; readonly since: number } | null = null

  event(event: EventView, fact: FactBody | undefined, now: number): void {
    if (fact) this.#fact(fact, now)
    else if (event.type === 'live.text') this.#says('writes', now)
    else if (event.type === 'live.reasoning') this.#says('thinks', now)
    else if (event.type === 'live.tool-output') this.#output(String(event['callId']), String(event['text']))
  }

  /** In words, with its time, in at most so many columns: the words are cut before the time is. Empty while nothing is on. */
  text(now: number, columns: number, ellipsis: string): string {
    const [first] = this.#calls
    const on = first?.[1] ?? this.#model
    if (!on) return ''
    const time = ` ${elapsed(now - on.since)}${this.#calls.size > 1 ? ` (+${this.#calls.size - 1})` : ''}`
    const said = first ? lastLine(this.#outputs.get(first[0]) ?? '') : ''
    const output = said === '' ? '' : fit(`: ${said}`, Math.max(0, Math.floor((columns - time.length) / 2)), ellipsis)
    return fit(fit(on.text, Math.max(1, columns - time.length - width(output)), ellipsis) + time + output, columns, ellipsis)
  }

  #fact(fact: FactBody, now: number): void {
    switch (fact.type) {
      case 'model.started': this.#model = { text: 'asks the model', since: now }; break
      case 'compaction.started': this.#model = { text: 'sums up the context', since: now }; break
      case 'model.failed':
      case 'compaction.failed': this.#model = fact.retryInMs === null ? null : { text: `waits ${elapsed(fact.retryInMs)} to ask again`, since: now }; break
      case 'model.finished':
        this.#model = null
        for (const part of fact.message) if (part.type === 'tool-call') this.#inputs.set(part.callId, part.input)
        break
      case 'context.compacted': this.#model = null; break
      case 'tool.started':
        this.#calls.set(fact.callId, { text: `${oneLine(fact.name)} ${shortInput(this.#inputs.get(fact.callId))}`.trim(), since: now })
        break
      case 'tool.finished':
        this.#calls.delete(fact.callId)
        this.#inputs.delete(fact.callId)
        this.#outputs.delete(fact.callId)
        break
      case 'process.ready':
      case 'process.exited':
        this.#model = null
        this.#calls.clear()
        this.#inputs.clear()
        this.#outputs.clear()
        break
      default:
    }
  }

  #says(text: string, now: number): void {
    if (this.#model && this.#model.text !== text) this.#model = { text, since: now }
  }

  #output(callId: string, text: string): void {
    this.#outputs.set(callId, ((this.#outputs.get(callId) ?? '') + text).slice(-OUTPUT_END))
    const oldest = this.#outputs.keys().next()
    if (this.#outputs.size > MAX_OUTPUTS && oldest.done === false) this.#outputs.delete(oldest.value)
  }
}

function lastLine(output: string): string {
  return output.split(/[\r\n]/).map(oneLine).findLast((line) => line !== '') ?? ''
}
