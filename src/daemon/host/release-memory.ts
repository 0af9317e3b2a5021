// Returns unused memory to the system by garbage collections. V8 starts none in an idle program, so it would keep a heap that had to be
// large only once. The collections run after the start, and after growth when the daemon is calm. Also turns the optimizing compilers off
// during the start, because the code of the start runs only once. No test covers the effect: `npm run bench memory` measures it.
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Delay of the first collection after the start, in ms: clients that waited for the start are served first. */
const FIRST_DELAY_MS = 2_000
const CHECK_MS = 10_000
/** Longest time in ms that the first collection waits for the cleanup after the start, such as thousands of folders on a slow disk. */
const MAX_CLEANUP_MS = 30_000
/** Growth since the last collection that is worth another one, in bytes. */
const GROWTH_BYTES = 16 * 1_048_576
/** The daemon is calm while the event loop's busy share between two checks is at most this. Measuring 500 programs takes 0.09. */
const CALM_UTILIZATION = 0.25

/** V8's flags of its optimizing compilers. */
const OPTIMIZERS = ['opt', 'maglev']

type Collect = (options: { readonly type: 'major'; readonly execution: 'async'; readonly flavor: 'last-resort' }) => Promise<void>

/**
 * Turns the optimizing compilers off until the first collection. With thousands of rows, V8 would optimize the code of the start.
 * With 5,000 rows the optimized code would permanently take 13 MB. Without the compilers, such a start uses a little more CPU.
 */
export function disableOptimizers(): void {
  for (const compiler of OPTIMIZERS) setFlagsFromString(`--no-${compiler}`)
}

/**
 * Collects garbage soon after the start, and later whenever the daemon has grown and is calm. A collection blocks for some tens of ms.
 * `isCleaning` returns true while the cleanup after the start still runs.
 */
export function releaseMemory(isCleaning: () => boolean, onError: (error: unknown) => void): void {
  const startedAt = performance.now()
  const first = setInterval(() => {
    if (isCleaning() && performance.now() - startedAt < MAX_CLEANUP_MS) return
    clearInterval(first)
    for (const compiler of OPTIMIZERS) setFlagsFromString(`--${compiler}`)
    collect().then(watch).catch(onError)
  }, FIRST_DELAY_MS).unref()

  function watch(collectedBytes: number): void {
    let before = performance.eventLoopUtilization()
    const timer = setInterval(() => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, before)
      before = now
      if (utilization > CALM_UTILIZATION || process.memoryUsage.rss() < collectedBytes + GROWTH_BYTES) return
      clearInterval(timer)
      collect().then(watch).catch(onError)
    }, CHECK_MS).unref()
  }
}

/** Returns the resident memory after the collection, in bytes. */
async function collect(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  await gc({ type: 'major', execution: 'async', flavor: 'last-resort' })
  return process.memoryUsage.rss()
}
