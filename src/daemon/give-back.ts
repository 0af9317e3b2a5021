// Gives back to the system what a start needed once: V8 keeps the room of what thousands of rows were read through, as
// nothing in an idle program makes it look. Owns that one collection. Seen by `npm run bench memory`; test/e2e/restart.test.ts.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The first questions of those who have waited for the start come before it, in ms. */
const AFTER_MS = 2_000

type Collect = (options: { readonly type: 'major'; readonly execution: 'async'; readonly flavor: 'last-resort' }) => Promise<void>

/** Some tens of ms in one go, once. */
export function giveBackSoon(failed: (error: unknown) => void): void {
  setTimeout(() => {
    collect().catch(failed)
  }, AFTER_MS).unref()
}

async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  await gc({ type: 'major', execution: 'async', flavor: 'last-resort' })
}
