// Selects the events of a stream by their types, and shortens their texts. Checks the types that a client asks for.
// Test: test/tables/daemon/http/events/event-filter.test.ts, test/e2e/daemon/events.test.ts.
import { EVENT_NAMES } from '../../../api/events.ts'
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { FACT_TYPES } from '../../../store/journal/fact-codec.ts'
import type { EventView } from '../../../api/views/daemon.ts'

/** The length at which a text of a brief event is cut, in characters. */
const BRIEF_CHARS = 2_048
const LIVE_TYPES = ['live.text', 'live.reasoning', 'live.tool-output', 'live.gap']

export interface EventFilter {
  /** names of types or facts; absent: all */
  readonly types?: readonly string[] | undefined
  readonly brief: boolean
}

/** Yields the selected events. The gap event always passes, because a reader must know that it lost events. */
export async function* filterEvents(events: AsyncIterable<EventView>, { types, brief }: EventFilter): AsyncGenerator<EventView> {
  const wanted = types && new Set([...types, 'live.gap'])
  for await (const event of events)
    if (!wanted || wanted.has(event.type) || wanted.has(String(event['fact']))) yield brief ? (cutTexts(event) as EventView) : event
}

/** Checks the requested types. Errors: `INVALID` for a type that no event has. */
export function checkTypes(types: readonly string[]): void {
  const known = new Set<string>([...FACT_TYPES, ...Object.values(EVENT_NAMES), ...LIVE_TYPES])
  const unknown = types.find((name) => !known.has(name))
  if (unknown === undefined) return
  const word = closestWord(unknown, [...known])
  throw new KernelError(
    'INVALID',
    `no event has the type "${unknown}"`,
    undefined,
    word === undefined ? undefined : `Did you mean ${word}?`,
  )
}

/** Returns the value with its long texts cut. A cut text ends with the number of characters that are missing. */
export function cutTexts(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length <= BRIEF_CHARS ? value : `${value.slice(0, BRIEF_CHARS)}[… ${value.length - BRIEF_CHARS} more characters]`
  if (Array.isArray(value)) return value.map(cutTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cutTexts(field)]))
}
