// Keeps the last line that each open tool call has printed, from live events. Untrusted text passes through `oneLine`.
// Test: test/tables/cli/live/activity.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { oneLine } from '../print/text.ts'

/** the greatest number of calls whose output is kept */
const MAX_OUTPUTS = 32
/** the number of characters that are kept of each output, to find its last line */
const MAX_OUTPUT_CHARS = 400

export class LastOutputLines {
  /** the end of each output, by call id; output may arrive before the event that starts its call */
  readonly #ends = new Map<string, string>()

  /** Takes an event; `fact` is undefined for a live event. */
  onEvent(event: EventView, fact: FactBody | undefined): void {
    if (fact?.type === 'tool.finished') this.#ends.delete(fact.callId)
    else if (fact?.type === 'process.ready' || fact?.type === 'process.exited') this.#ends.clear()
    else if (event.type === 'live.tool-output') this.#add(String(event['callId']), String(event['text']))
  }

  /** The last line of a call; empty if it has printed none. */
  lastLine(callId: string): string {
    const lines = (this.#ends.get(callId) ?? '').split(/[\r\n]/)
    return lines.map(oneLine).findLast((line) => line !== '') ?? ''
  }

  #add(callId: string, text: string): void {
    this.#ends.set(callId, ((this.#ends.get(callId) ?? '') + text).slice(-MAX_OUTPUT_CHARS))
    const oldest = this.#ends.keys().next()
    if (this.#ends.size > MAX_OUTPUTS && oldest.done === false) this.#ends.delete(oldest.value)
  }
}
