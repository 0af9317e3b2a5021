// What a process did before we looked, shown as if it came now. Test: test/e2e/cli-attach.test.ts.
import type { Reeve } from '../index.ts'
import { factOf } from './facts.ts'
import type { View } from './follow.ts'

/** Shows the events after one, or the last so many; gives the place of the last. Without a view it only looks where that is. */
export async function past(reeve: Reeve, process: string, from: { tail: number } | { after: number }, view: View | null): Promise<number> {
  let seq = 'after' in from ? from.after : 0
  for await (const event of reeve.events({ process, ...from })) {
    await view?.event(event, factOf(event))
    seq = event.seq
  }
  return seq
}
