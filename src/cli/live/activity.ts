// Computes the current activity of a process from its events: a model call, a tool call with its last output, or a wait. Untrusted text
// passes through `oneLine`. Test: test/tables/cli/live/sticky-footer.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { shortInput } from '../print/process-text.ts'
import { formatElapsed } from '../../faces/format.ts'
import { fitWidth, oneLine, displayWidth } from '../print/text.ts'

/** An unfinished call. */
interface Call {
  readonly text: string
  /** monotonic ms */
  readonly since: number
}

/** the greatest number of calls whose output is kept */
const MAX_OUTPUTS = 32
/** the number of characters that are kept of each output, to find its last line */
const MAX_OUTPUT_CHARS = 400

export class ActivityTracker {
  /** the unfinished tool calls by call id, oldest first */
  readonly #calls = new Map<string, Call>()
  /** the inputs of tool calls, by call id */
  readonly #inputs = new Map<string, unknown>()
  /** the end of each output, by call id; output may arrive before the event that starts its call */
  readonly #outputs = new Map<string, string>()
  /** the unfinished model call, or the wait before it is repeated */
  #modelCall: { readonly text: string; readonly since: number } | null = null

  /** Takes an event; `fact` is undefined for a live event, `now` is its monotonic time in ms. */
  onEvent(event: EventView, fact: FactBody | undefined, now: number): void {
    if (fact) this.#onFact(fact, now)
    else if (event.type === 'live.text') this.#setModelText('writes', now)
    else if (event.type === 'live.reasoning') this.#setModelText('thinks', now)
    else if (event.type === 'live.tool-output') this.#addOutput(String(event['callId']), String(event['text']))
  }

  /** Returns the activity with its duration, in at most `columns`. Truncates the text, not the duration. Empty while idle. */
  activityText(now: number, columns: number, ellipsis: string): string {
    const [first] = this.#calls
    const call = first?.[1] ?? this.#modelCall
    if (!call) return ''
    const time = ` ${formatElapsed(now - call.since)}${this.#calls.size > 1 ? ` (+${this.#calls.size - 1})` : ''}`
    const printed = first ? lastLine(this.#outputs.get(first[0]) ?? '') : ''
    const output = printed === '' ? '' : fitWidth(`: ${printed}`, Math.max(0, Math.floor((columns - time.length) / 2)), ellipsis)
    return fitWidth(
      fitWidth(call.text, Math.max(1, columns - time.length - displayWidth(output)), ellipsis) + time + output,
      columns,
      ellipsis,
    )
  }

  #onFact(fact: FactBody, now: number): void {
    switch (fact.type) {
      case 'model.started':
        this.#modelCall = { text: 'calls the model', since: now }
        break
      case 'compaction.started':
        this.#modelCall = { text: 'compacts the context', since: now }
        break
      case 'model.failed':
      case 'compaction.failed':
        this.#modelCall = fact.retryInMs === null ? null : { text: `waits ${formatElapsed(fact.retryInMs)} to retry`, since: now }
        break
      case 'model.finished':
        this.#modelCall = null
        for (const part of fact.message) if (part.type === 'tool-call') this.#inputs.set(part.callId, part.input)
        break
      case 'context.compacted':
        this.#modelCall = null
        break
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
        this.#modelCall = null
        this.#calls.clear()
        this.#inputs.clear()
        this.#outputs.clear()
        break
      default:
    }
  }

  #setModelText(text: string, now: number): void {
    if (this.#modelCall && this.#modelCall.text !== text) this.#modelCall = { text, since: now }
  }

  #addOutput(callId: string, text: string): void {
    this.#outputs.set(callId, ((this.#outputs.get(callId) ?? '') + text).slice(-MAX_OUTPUT_CHARS))
    const oldest = this.#outputs.keys().next()
    if (this.#outputs.size > MAX_OUTPUTS && oldest.done === false) this.#outputs.delete(oldest.value)
  }
}

function lastLine(output: string): string {
  return (
    output
      .split(/[\r\n]/)
      .map(oneLine)
      .findLast((line) => line !== '') ?? ''
  )
}
