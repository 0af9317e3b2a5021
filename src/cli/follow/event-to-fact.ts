// Converts an event back to its fact. Both have the same fields. The field `fact` of an event is the type of the fact. Test:
// test/e2e/cli/cli.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { FactBody } from '../../kernel/model/facts.ts'

/** Returns undefined for a live event, which has no stored fact. */
export function toFact(event: EventView): FactBody | undefined {
  return typeof event['fact'] === 'string' ? ({ ...event, type: event['fact'] } as unknown as FactBody) : undefined
}
