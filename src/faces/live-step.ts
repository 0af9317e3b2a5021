// What the open step of a process has written so far, from the events that are not stored. Keeps only the end of a long text; the journal
// gets the whole text when the step is complete. Pure. Test: test/tables/faces/live-step.test.ts.
import type { EventView } from '../api/views/daemon.ts'

/** The types to request from the API. The fact `model.started` arrives as the event `step.started`, and `live.gap` without a request. */
export const LIVE_EVENTS = ['live.text', 'live.reasoning', 'live.tool-output', 'model.started'] as const

export interface LiveStep {
  /** 0: nothing was written yet */
  readonly step: number
  readonly text: string
  readonly reasoning: string
  /** the output of its tool calls, by their ids */
  readonly outputs: ReadonlyMap<string, string>
  /** true: pieces were missed, because this reader was too slow or began too late */
  readonly hasGaps: boolean
}

export const NOTHING_LIVE: LiveStep = { step: 0, text: '', reasoning: '', outputs: new Map(), hasGaps: false }

/** the end of a text that is kept, in characters */
const MAX_CHARS = 20_000
/** the most calls whose output is kept */
const MAX_OUTPUTS = 20

export function withLiveEvent(before: LiveStep, event: EventView): LiveStep {
  const [text, step] = [String(event['text'] ?? ''), Number(event['step'] ?? 0)]
  switch (event.type) {
    case 'live.text': {
      const at = stepOf(before, step)
      return event['whole'] === true ? { ...at, text: endOf(text), hasGaps: false } : { ...at, text: endOf(at.text + text) }
    }
    case 'live.reasoning': {
      const at = stepOf(before, step)
      return { ...at, reasoning: endOf(at.reasoning + text) }
    }
    case 'live.tool-output': {
      const callId = String(event['callId'])
      const others = [...before.outputs].filter(([id]) => id !== callId)
      const output = endOf((before.outputs.get(callId) ?? '') + text)
      return { ...before, outputs: new Map([...others, [callId, output] as const].slice(-MAX_OUTPUTS)) }
    }
    case 'live.gap':
      // With a step, a new reader has missed pieces of that step. Without one, a slow reader may have missed pieces of any step.
      return { ...(event['step'] === undefined ? before : stepOf(before, step)), hasGaps: true }
    // Another attempt starts the text again. A first attempt clears nothing: its pieces can arrive before `step.started` is stored.
    case 'step.started':
      return Number(event['attempt'] ?? 1) > 1 ? { ...before, text: '', reasoning: '', hasGaps: false } : before
    default:
      return before
  }
}

/** A new step begins new texts. */
function stepOf(before: LiveStep, step: number): LiveStep {
  return before.step === step ? before : { ...NOTHING_LIVE, step }
}

function endOf(text: string): string {
  return text.length > MAX_CHARS ? text.slice(-MAX_CHARS).toWellFormed() : text
}
