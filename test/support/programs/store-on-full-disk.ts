// A program for tests: uses a store on a full and on a read-only file system, in the folder of its argument. The folder is a
// small tmpfs for this program. Prints its observations as one line of JSON.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import { KernelError } from '../../../src/kernel/model/errors.ts'
import { acquireLock } from '../../../src/store/files/lock.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { Commit, Store } from '../../../src/store/store.ts'
import { CommitMaker, uuidOf } from '../store/facts.ts'

const AGENT = uuidOf(1)
const [mount = ''] = process.argv.slice(2)
const dir = join(mount, 'state')
const filler = join(mount, 'filler')
const observed: Record<string, unknown> = {}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => (error instanceof KernelError ? error.code : String(error)),
  )
const makeNote = (text: string): FactBody => ({ type: 'process.note', text })

async function countOf(store: Store): Promise<number> {
  return (await store.facts(AGENT, 0, 10_000)).length
}

/** Commits until one commit fails; returns that commit. */
async function fillDisk(store: Store, commitMaker: CommitMaker): Promise<{ refused: Commit; code: string; count: number }> {
  for (let count = commitMaker.get(AGENT).seq; ; count++) {
    const commit = commitMaker.write(AGENT, makeNote(randomBytes(30_000).toString('hex')))
    const code = await codeOf(store.commit(commit))
    if (code !== 'ok') return { refused: commit, code, count }
  }
}

{
  writeFileSync(filler, randomBytes(1_000_000))
  await using store = await openSqliteStore({ dir })
  const firstCommitMaker = new CommitMaker()
  await store.commit(firstCommitMaker.spawn(AGENT))
  const { refused, code, count } = await fillDisk(store, firstCommitMaker)
  const before = await store.process(AGENT)
  Object.assign(observed, {
    code,
    lost: count - (await countOf(store)),
    again: await codeOf(store.commit(refused)),
    row: before?.seq === count,
  })
  observed['released'] = await store.releaseReserve()
  const { counters, processes } = await store.load()
  const commitMaker = new CommitMaker(counters, processes)
  observed['afterRelease'] = await codeOf(store.commit(commitMaker.write(AGENT, makeNote('held: the disk is full'))))
  observed['restoredWhileFull'] = await store.restoreReserve()
  rmSync(filler)
  observed['restored'] = await store.restoreReserve()
  observed['goesOn'] = await codeOf(store.commit(commitMaker.write(AGENT, makeNote('goes on'))))
  observed['lostInAll'] = count + 2 - (await countOf(store))
}
{
  await using store = await openSqliteStore({ dir })
  observed['damage'] = await store.verify()
  observed['texts'] = (await store.tail(AGENT, 2)).map(({ body }) => (body.type === 'process.note' ? body.text : body.type))
}
execFileSync('mount', ['-o', 'remount,bind,ro', mount])
observed['openReadOnly'] = await codeOf(openSqliteStore({ dir }))
observed['lockReadOnly'] = await codeOf(acquireLock(dir))
process.stdout.write(`${JSON.stringify(observed)}\n`)
