// A program for tests: commits to the store in a folder while the system refuses writes at random offsets. A limit
// on the file size stops them in the middle of a write. Prints its observations as one line of JSON. Arguments: the
// folder, the number of rounds, and the seed of the random numbers.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../../../src/kernel/model/errors.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { seededRandom } from '../random.ts'
import { CommitMaker, stepOf, uuidOf } from '../store/facts.ts'

const [dir = '', rounds = '', seed = ''] = process.argv.slice(2)
const nextRandom = seededRandom(Number(seed))
const AGENT = uuidOf(1)

/** Sets the soft limit on the size of files that this program writes. */
function limitFileSize(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
}

const sizeOf = (name: string): number => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0
const codes: Record<string, number> = {}
let acknowledged = 0
{
  await using store = await openSqliteStore({ dir })
  const firstCommitMaker = new CommitMaker()
  await store.commit(firstCommitMaker.spawn(AGENT))
  acknowledged = firstCommitMaker.cursor
  for (let round = 0; round < Number(rounds); round++) {
    limitFileSize(Math.floor(sizeOf('store.db-wal') + nextRandom() * 60_000 - 20_000))
    for (let number = 0; number < 6; number++) {
      const { counters, processes } = await store.load()
      const commitMaker = new CommitMaker(counters, processes)
      const code = await store.commit(commitMaker.write(AGENT, ...stepOf(round, 'x'.repeat(Math.floor(nextRandom() * 30_000))))).then(
        () => 'ok',
        (error: unknown) => (error instanceof KernelError ? error.code : String(error)),
      )
      codes[code] = (codes[code] ?? 0) + 1
      if (code === 'ok') acknowledged = commitMaker.cursor
    }
    limitFileSize('unlimited')
  }
}
await using store = await openSqliteStore({ dir })
const foundCursor = (await store.load()).counters.cursor
process.stdout.write(
  `${JSON.stringify({ codes: Object.keys(codes).toSorted(), lost: acknowledged - foundCursor, damage: await store.verify() })}\n`,
)
