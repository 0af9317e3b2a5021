// The resolution of a reference: by PID, then exact name, then a unique part of the UUID, the living before the dead.
// A real store and the real table, filled by commits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../../src/daemon/loop/clock.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { Commit, Store } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, specOf } from '../../../support/store/facts.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

/** The first living process; it has no name. */
const LIVE = '0192f3a4-0000-7abc-8def-00000000aaaa'
/** A living process with the name `build`. */
const NAMED = '0192f3a4-0001-7abc-8def-00000000bbbb'
/** An ended process with the name `build`. Its UUID ends with the name of `TWIN`. */
const DEAD = '0192f3a5-0002-7abc-8def-0000000face5'
/** An ended process with the name `face5`. Its UUID begins like that of `DEAD`. */
const TWIN = '0192f3a5-0003-7abc-8def-00000000c0de'
/** A living process whose name is the UUID of `LIVE`. Its UUID has the same last digits. */
const TRICKY = '0192f3a6-0004-7abc-8def-00000001aaaa'

let dir: TempDir
let store: Store
let reads: ProcessQueries
let commits: CommitMaker

async function commitChange(change: Commit, table: Table): Promise<void> {
  await store.commit(change)
  table.apply(change.processes, change.lastPid)
}

beforeEach(async () => {
  dir = await tempDir()
  store = await openSqliteStore({ dir: dir.path })
  commits = new CommitMaker({ pid: 4_999, cursor: 0 })
  const table = new Table(100)
  reads = new ProcessQueries(table, store, systemClock)
  for (const uuid of [DEAD, TWIN]) {
    await commitChange(commits.spawn(uuid, specOf({ name: uuid === DEAD ? 'build' : 'face5' })), table)
    await commitChange(commits.write(uuid, ...endFacts()), table)
  }
  await commitChange(commits.spawn(LIVE), table)
  await commitChange(commits.spawn(NAMED, specOf({ name: 'build' })), table)
  await commitChange(commits.spawn(TRICKY, specOf({ name: LIVE })), table)
})
afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

test.each([
  ['a PID finds a living process', '5002', LIVE],
  ['a PID with leading zeros finds its process', '005003', NAMED],
  ['a PID finds an ended process', '5000', DEAD],
  ['a name finds the living process before the ended one', 'build', NAMED],
  ['the name of an ended process comes before a part of a UUID', 'face5', TWIN],
  ['a name that is the UUID of another process finds the process with the name', LIVE, TRICKY],
  ['a UUID finds a living process', NAMED, NAMED],
  ['a UUID finds an ended process', DEAD, DEAD],
  ['a UUID in capitals finds its process', NAMED.toUpperCase(), NAMED],
  ['the last digits of a UUID find a living process', 'bbbb', NAMED],
  ['the last digits of a UUID find an ended process', 'c0de', TWIN],
  ['the last digits of a UUID are found across a dash', '8def00000000bbbb', NAMED],
  ['the first digits of a UUID find its process', '0192f3a4-0001', NAMED],
  ['the prefix `id:` marks a part of a UUID', 'id:c0de', TWIN],
  ['the first digits of a UUID are found without their dash', '0192f3a40000', LIVE],
])('%s', async (_name, ref, uuid) => {
  expect((await reads.resolve(ref)).uuid).toBe(uuid)
})

test.each([
  ['nobody', 'NOT_FOUND'],
  ['', 'NOT_FOUND'],
  ['4999', 'NOT_FOUND'],
  ['bbb', 'NOT_FOUND'],
  ['BUILD', 'NOT_FOUND'],
  ['99999999999999999999', 'NOT_FOUND'],
  ['0192', 'NOT_FOUND'],
  ['id:0193', 'NOT_FOUND'],
  ['-1', 'NOT_FOUND'],
  ['0192f3a4-0000-7abc-8def-000000000000', 'NOT_FOUND'],
  ['0', 'PERMISSION'],
  ['000', 'PERMISSION'],
])('the reference %j is refused with %s', async (ref, code) => {
  await expect(reads.resolve(ref)).rejects.toMatchObject({ code })
})

test('an earlier PID still refers to its process, and the current PID is reported', async () => {
  const resumedFact = (pid: number): FactBody => ({ type: 'process.resumed', pid, by: 'user', fromStep: 0 })
  for (const pid of [6_000, 6_001])
    await store.commit(
      writeToDead(DEAD, resumedFact(pid), { type: 'process.started', mono: 5, attached: true, containment: null }, ...endFacts()),
    )
  for (const ref of ['5000', '6000', '6001']) expect(await reads.resolve(ref)).toMatchObject({ uuid: DEAD, pid: 6_001 })
  expect(await Promise.all(['5000', '6001', '5002', '4999', DEAD, 'build'].map((ref) => reads.currentPid(ref)))).toEqual([
    6_001,
    null,
    null,
    null,
    null,
    null,
  ])
})

/** Makes a commit for an ended process. As in a real journal, the fact that assigns a PID already has that PID. */
function writeToDead(uuid: string, ...bodies: FactBody[]): Commit {
  const { facts, ...rest } = commits.write(uuid, ...bodies)
  return {
    ...rest,
    lastPid: Math.max(commits.get(uuid).pid, 5_004),
    facts: facts.map((fact) => ({ ...fact, pid: 'pid' in fact.body ? fact.body.pid : fact.pid })),
  }
}

test('the error for an ambiguous reference lists all candidates, living and dead', async () => {
  await expect(reads.resolve('0192f3a5')).rejects.toMatchObject({
    code: 'AMBIGUOUS',
    details: {
      candidates: expect.arrayContaining([
        expect.objectContaining({ uuid: DEAD, pid: 5_000, name: 'build', intent: 'write the tests' }),
        expect.objectContaining({ uuid: TWIN }),
      ]),
    },
  })
  await expect(reads.resolve('0192f3a5')).rejects.toThrow(`"0192f3a5" may be any of ${DEAD} (PID 5000, `)
  await expect(reads.resolve('0192f3a')).rejects.toThrow('"0192f3a" may be any of 5 processes')
  for (const ref of ['aaaa', 'id:0192']) await expect(reads.resolve(ref)).rejects.toMatchObject({ code: 'AMBIGUOUS' })
})

test('`get` finds a process by its whole UUID only, even if another process has that name', async () => {
  expect((await reads.get(LIVE)).pid).toBe(5_002)
  await expect(reads.get('build')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
