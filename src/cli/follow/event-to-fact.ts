// Converts an event back to its fact. An event has the public fields of its fact, and its field `fact` is the type of the fact.
// Test: test/tables/cli/follow/live-printer.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { FactBody } from '../../kernel/model/facts.ts'

/** Returns undefined for a live event, which has no stored fact. */
export function toFact(event: EventView): FactBody | undefined {
  return typeof event['fact'] === 'string' ? ({ ...event, type: event['fact'] } as unknown as FactBody) : undefined
}
