// The resolution of a reference: by PID, then exact name, then a unique part of the UUID, the living before the dead.
// A real store and the real table, filled by commits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../../src/daemon/loop/clock.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { Commit, Store } from '../../../../src/store/store.ts'
import { Scribe, endOf, specOf } from '../../../support/store/facts.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

const LIVE = '0192f3a4-0000-7abc-8def-00000000aaaa'
const NAMED = '0192f3a4-0001-7abc-8def-00000000bbbb'
const DEAD = '0192f3a5-0002-7abc-8def-0000000face5'
const TWIN = '0192f3a5-0003-7abc-8def-00000000c0de'
/** The end of this UUID is the PID of another process. The name of this process is the end of a third process's UUID. */
const TRICKY = '0192f3a6-0004-7abc-8def-00000001aaaa'

let dir: TempDir
let store: Store
let reads: ProcessQueries
let scribe: Scribe

async function commitChange(change: Commit, table: Table): Promise<void> {
  await store.commit(change)
  table.apply(change.processes, change.counters.pid)
}

beforeEach(async () => {
  dir = await tempDir()
  store = await openSqliteStore({ dir: dir.path })
  scribe = new Scribe({ pid: 4_999, cursor: 0 })
  const table = new Table(100)
  reads = new ProcessQueries(table, store, systemClock)
  for (const uuid of [DEAD, TWIN]) {
    await commitChange(scribe.spawn(uuid, specOf({ name: uuid === DEAD ? 'build' : 'face5' })), table)
    await commitChange(scribe.write(uuid, ...endOf()), table)
  }
  await commitChange(scribe.spawn(LIVE), table)
  await commitChange(scribe.spawn(NAMED, specOf({ name: 'build' })), table)
  await commitChange(scribe.spawn(TRICKY, specOf({ name: LIVE })), table)
})
afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

test.each([
  ['a PID of a living one', '5002', LIVE],
  ['a PID with zeros before it', '005003', NAMED],
  ['a PID of a dead one', '5000', DEAD],
  ['a name: the living one has it, not the dead', 'build', NAMED],
  ['a name of a dead one, before the part of a UUID', 'face5', TWIN],
  ['a name that is the UUID of another', LIVE, TRICKY],
  ['a UUID', NAMED, NAMED],
  ['a UUID of a dead one', DEAD, DEAD],
  ['a UUID in capitals', NAMED.toUpperCase(), NAMED],
  ['the last digits', 'bbbb', NAMED],
  ['the last digits of a dead one', 'c0de', TWIN],
  ['the last digits across a dash', '8def00000000bbbb', NAMED],
  ['the first digits', '0192f3a4-0001', NAMED],
  ['letters that say so', 'id:c0de', TWIN],
  ['the first digits without their dash', '0192f3a40000', LIVE],
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
])('%j is %s', async (ref, code) => {
  await expect(reads.resolve(ref)).rejects.toMatchObject({ code })
})

test('an earlier PID still refers to its process, and the current PID is reported', async () => {
  const resumedFact = (pid: number): FactBody => ({ type: 'process.resumed', pid, by: 'user', fromStep: 0 })
  for (const pid of [6_000, 6_001])
    await store.commit(
      writeToDead(DEAD, resumedFact(pid), { type: 'process.started', mono: 5, attached: true, containment: null }, ...endOf()),
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

/** In the real journal the fact that assigns a PID already carries it. */
function writeToDead(uuid: string, ...bodies: FactBody[]): Commit {
  const { facts, ...commitChange } = scribe.write(uuid, ...bodies)
  return {
    ...commitChange,
    counters: { ...commitChange.counters, pid: Math.max(scribe.get(uuid).pid, 5_004) },
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
  for (const ref of ['aaaa', 'id:0192']) await expect(reads.resolve(ref)).rejects.toMatchObject({ code: 'AMBIGUOUS' })
})

test('a whole UUID finds its process, even if another process has that name', async () => {
  expect((await reads.get(LIVE)).pid).toBe(5_002)
  await expect(reads.get('build')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
