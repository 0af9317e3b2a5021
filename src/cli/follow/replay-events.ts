// Prints past events of a process as if they happened now, and finds where the new ones begin. Test: test/e2e/cli/attach.test.ts.
import type { Reeve } from '../../index.ts'
import { toFact } from './event-to-fact.ts'
import type { FollowPrinter } from './follow.ts'

/**
 * Prints the events after a cursor, or the last `tail` events. Resolves to the cursor of the last event. Without a printer, only finds that
 * cursor.
 */
export async function replayEvents(
  reeve: Reeve,
  process: string,
  from: { tail: number } | { after: number },
  printer: FollowPrinter | null,
): Promise<number> {
  let seq = 'after' in from ? from.after : 0
  for await (const event of reeve.events({ process, ...from })) {
    await printer?.printEvent(event, toFact(event))
    seq = event.seq
  }
  return seq
}
