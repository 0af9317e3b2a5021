// Writes ended processes into a daemon's store before its start: faster than running them.
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { CommitMaker, endFacts, specOf, uuidOf } from '../store/facts.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

/**
 * Writes `count` processes, oldest first, milliseconds apart in November 2023, named `old-1` and so on. No daemon may use this state
 * directory.
 */
export async function writeEndedProcesses(stateDir: string, count: number): Promise<Uuid[]> {
  await using store = await openSqliteStore({ dir: stateDir })
  const { counters, processes } = await store.load()
  const commitMaker = new CommitMaker({ ...counters }, processes)
  const uuids: Uuid[] = []
  for (let number = 1; number <= count; number++) {
    const uuid = uuidOf(number)
    uuids.push(uuid)
    await store.commit(
      commitMaker.spawn(
        uuid,
        specOf({ name: `old-${number}`, cwd: '/' }),
        { type: 'process.output', stream: 'stdout', text: `${uuid}\n`.repeat(100) },
        ...endFacts(),
      ),
    )
  }
  return uuids
}
