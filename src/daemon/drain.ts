// The drain before a stop: everything that runs gets the hold `daemon-shutdown` and may finish what is in flight.
// Owns how long that may take. The next start releases just that hold. Test: test/e2e/restart.test.ts.
import type { Clock } from './clock.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'

/** What is still in flight then is cut off; resume knows how to go on. */
const DRAIN_MS = 10_000
const LOOK_MS = 20

export async function drain({ table, pipeline, clock }: { readonly table: Table; readonly pipeline: Pipeline; readonly clock: Clock }): Promise<void> {
  pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
  await pipeline.idle()
  const until = clock.now().mono + DRAIN_MS
  while (isDraining(table) && clock.now().mono < until) {
    const { promise, resolve } = Promise.withResolvers<void>()
    clock.after(LOOK_MS, resolve)
    await promise
  }
}

function isDraining(table: Table): boolean {
  for (const { life } of table.rows()) {
    if (life.state === 'zombie') return true
    if (life.state === 'running' && (life.stopping !== null || (life.attached && !life.drained))) return true
  }
  return false
}
