// A past for a daemon: ended processes that are in its store before it starts, without the time that it takes to run them.
import { openSqliteStore } from '../../src/store/sqlite.ts'
import type { Uuid } from '../../src/kernel/types.ts'
import { Scribe, endOf, specOf, uuidOf } from './store-facts.ts'

/** So many, oldest first, one after the other a millisecond apart in November 2023; they are called `old-1` and so on. The daemon of this state must not run. */
export async function writePast(state: string, count: number): Promise<Uuid[]> {
  await using store = await openSqliteStore({ dir: state })
  const { counters, processes } = await store.load()
  const scribe = new Scribe({ ...counters }, processes)
  const uuids: Uuid[] = []
  for (let number = 1; number <= count; number++) {
    const uuid = uuidOf(number)
    uuids.push(uuid)
    await store.commit(scribe.spawn(uuid, specOf({ name: `old-${number}`, cwd: '/' }), { type: 'process.output', stream: 'stdout', text: `${uuid}\n`.repeat(100) }, ...endOf()))
  }
  return uuids
}
