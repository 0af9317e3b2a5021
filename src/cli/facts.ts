// From an event back to the fact that it shows: the fields are the same, `fact` is the fact's type.
// Test: test/e2e/cli.test.ts.
import type { EventView } from '../api/views.ts'
import type { FactBody } from '../kernel/facts.ts'

/** Undefined for live events, which are not kept. */
export function factOf(event: EventView): FactBody | undefined {
  return typeof event['fact'] === 'string' ? ({ ...event, type: event['fact'] } as unknown as FactBody) : undefined
}
