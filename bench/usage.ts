// What the first `reeve usage` costs of a store that was never asked: the journal is taken into the table piece by piece, and the
// daemon's loop waits for one piece at a time. After that the table itself is read. Nothing is compared: there is no floor for it.
// Usage: node bench/usage.ts [steps of each of 20 processes, 2,500 if not given].
import type { FactBody } from '../src/kernel/facts.ts'
import type { Uuid } from '../src/kernel/types.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { Scribe, modelFinished, toolFinished, uuidOf } from '../test/support/store-facts.ts'
import { inFolder, percentile, timed } from './support.ts'

const STEPS = Number(process.argv[2] ?? 2_500)
const PROCESSES = 20
const TEXT = 'x'.repeat(2_048)

await inFolder(async (dir) => {
  await using store = await openSqliteStore({ dir })
  const scribe = new Scribe()
  const uuids = Array.from({ length: PROCESSES }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids) await store.commit(scribe.spawn(uuid))
  for (let step = 1; step <= STEPS; step++) {
    await store.commit(scribe.group(uuids.flatMap((uuid) => [...modelFinished(step, TEXT), ...toolFinished(step, TEXT)].map((body): [Uuid, FactBody] => [uuid, body]))))
  }
  const pieces: number[] = []
  for (let more = true; more;) pieces.push(await timed(async () => { more = await store.account() }))
  const all = pieces.reduce((sum, each) => sum + each, 0)
  const megabytes = (await store.size()).bytes / 1e6
  console.log(`a journal of ${Math.round(megabytes)} MB is taken in in ${(all / 1_000).toFixed(1)} s, ${(all / megabytes).toFixed(0)} s per GB`)
  console.log(`${pieces.length} pieces: ${percentile(pieces, 0.5).toFixed(0)} ms each (p50), ${Math.max(...pieces).toFixed(0)} ms at most`)
  console.log(`the table is read in ${(await timed(() => store.spent({ limit: 10_000 }))).toFixed(1)} ms`)
})
