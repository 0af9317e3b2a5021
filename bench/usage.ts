// Measures the first `reeve usage` of a store: the journal is counted into the ledger batch by batch, and each batch blocks the
// daemon's loop. Then the ledger itself is read. There is no reference: no other tool has such a ledger.
// Usage: node bench/usage.ts [steps of each of 20 processes, default 2,500].
import type { FactBody } from '../src/kernel/model/facts.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { CommitMaker, modelFinished, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { inFolder, percentile, timed } from './support/measure.ts'
import type { Uuid } from '../src/kernel/model/ids.ts'

const STEPS = Number(process.argv[2] ?? 2_500)
const PROCESSES = 20
const TEXT = 'x'.repeat(2_048)

await inFolder(async (dir) => {
  await using store = await openSqliteStore({ dir })
  const commitMaker = new CommitMaker()
  const uuids = Array.from({ length: PROCESSES }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids) await store.commit(commitMaker.spawn(uuid))
  for (let step = 1; step <= STEPS; step++) {
    await store.commit(
      commitMaker.group(
        uuids.flatMap((uuid) => [...modelFinished(step, TEXT), ...toolFinished(step, TEXT)].map((body): [Uuid, FactBody] => [uuid, body])),
      ),
    )
  }
  const batchTimes: number[] = []
  for (let hasMore = true; hasMore;)
    batchTimes.push(
      await timed(async () => {
        hasMore = await store.updateUsageLedger()
      }),
    )
  const totalMs = batchTimes.reduce((sum, each) => sum + each, 0)
  const megabytes = (await store.size()).bytes / 1e6
  console.log(
    `a journal of ${Math.round(megabytes)} MB is counted in ${(totalMs / 1_000).toFixed(1)} s, ${(totalMs / megabytes).toFixed(0)} s per GB`,
  )
  console.log(
    `${batchTimes.length} batches: ${percentile(batchTimes, 0.5).toFixed(0)} ms each (p50), ${Math.max(...batchTimes).toFixed(0)} ms at most`,
  )
  console.log(`the ledger is read in ${(await timed(() => store.usageRows({ limit: 10_000 }))).toFixed(1)} ms`)
})
