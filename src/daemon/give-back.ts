// Gives back to the system what was needed once: V8 keeps the room of what thousands of rows were read through, and of what hundreds
// of spawns took, as nothing in an idle program makes it look. Owns when it looks: after the start, and when it is calm after growth;
// and that a start, which runs through its code once, takes no room for making that code faster.
// Seen by `npm run bench memory`; test/e2e/restart.test.ts.
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The first questions of those who have waited for the start come before it, in ms. */
const FIRST_MS = 2_000
const LOOK_MS = 10_000
/** What a start leaves to do goes on for so long at most as a part of it, in ms: thousands of folders on a slow disk. */
const CLEARING_MS = 30_000
/** less is not worth a collection */
const GROWTH_BYTES = 16 * 1_048_576
/** the share of the time between two looks in which something was done, at most: to measure 500 programs takes 0.09 */
const CALM = 0.25

/** What V8 calls its compilers of code that is run often. */
const OPTIMISERS = ['opt', 'maglev']

type Collect = (options: { readonly type: 'major'; readonly execution: 'async'; readonly flavor: 'last-resort' }) => Promise<void>

/**
 * Until `giveBack` has looked first. With thousands of rows the start's code is run often enough to be optimised, which takes 13 MB of
 * the compilers' own code and room, for good: 2.6 KB for each of 5,000. Without, such a start takes some more of the processor.
 */
export function startPlainly(): void {
  for (const compiler of OPTIMISERS) setFlagsFromString(`--no-${compiler}`)
}

/** Some tens of ms in one go: soon after the start, and later when the daemon has grown and has little to do. `clears`: what it left to do goes on. */
export function giveBack(clears: () => boolean, failed: (error: unknown) => void): void {
  const begun = performance.now()
  const first = setInterval(() => {
    if (clears() && performance.now() - begun < CLEARING_MS) return
    clearInterval(first)
    for (const compiler of OPTIMISERS) setFlagsFromString(`--${compiler}`)
    collect().then(watch).catch(failed)
  }, FIRST_MS).unref()

  function watch(leastBytes: number): void {
    let before = performance.eventLoopUtilization()
    const timer = setInterval(() => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, before)
      before = now
      if (utilization > CALM || process.memoryUsage.rss() < leastBytes + GROWTH_BYTES) return
      clearInterval(timer)
      collect().then(watch).catch(failed)
    }, LOOK_MS).unref()
  }
}

/** Returns what is resident then, in bytes. */
async function collect(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  await gc({ type: 'major', execution: 'async', flavor: 'last-resort' })
  return process.memoryUsage.rss()
}
