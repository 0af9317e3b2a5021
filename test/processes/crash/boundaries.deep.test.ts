// Kills the daemon with SIGKILL before and after each write of a pause, resume, fork, checkpoint, collection, export and import. After a
// write means: it is durable, and not yet acknowledged. The store must then have all writes up to there, and no other. The next daemon
// must start on this store, keep the user's pauses, clean up and complete all work.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bootAll } from '../../../src/daemon/loop/boot.ts'
import type { ContainmentManager } from '../../../src/drivers/contain/containment-contract.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import {
  ALL_UUIDS,
  OperationSequence,
  operationsOf,
  openCoreWithCountedWrites,
  readWholeStore,
} from '../../support/kernel/write-boundaries.ts'
import type { Moment } from '../../support/kernel/write-boundaries.ts'
import { testEnv } from '../../support/env.ts'
import { journalOf } from '../../support/kernel/daemon-core.ts'
import { RULES, Rules, countUserHolds } from '../../support/kernel/rules.ts'
import { tempDir } from '../../support/tmp.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/daemon-killed-at-write.ts', import.meta.url))
const CONTAINMENTS = { recover: async () => ({ outcome: 'gone', survivors: [] }) } satisfies Pick<ContainmentManager, 'recover'>
/** the number of programs that run at the same time */
const PARALLEL_PROGRAMS = 2

interface RecordedWrite {
  readonly what: string
  /** the content of the store before and after it */
  readonly before: string
  readonly after: string
}

/** Runs without a kill; returns the content of the store before and after each write. */
async function runUndisturbed(): Promise<RecordedWrite[]> {
  await using dir = await tempDir()
  mkdirSync(join(dir.path, 'archive'))
  const recordedWrites: RecordedWrite[] = []
  let digestBefore = ''
  await using core = await openCoreWithCountedWrites(join(dir.path, 'state'), async (_, moment, what, store) => {
    const now = await readWholeStore(store)
    if (moment === 'before') digestBefore = now
    else recordedWrites.push({ what, before: digestBefore, after: now })
  })
  await new OperationSequence(core, join(dir.path, 'archive')).play()
  return recordedWrites
}

/** Runs until the program kills itself at a write. */
async function runUntilKill(dir: string, number: number, moment: Moment): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, dir, String(number), moment], {
    env: testEnv(dir),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect([code, signal]).toEqual([null, 'SIGKILL'])
}

/** The next daemon: all that it must find, and the completion of all work. */
async function continueAfterKill(dir: string): Promise<void> {
  const broken: string[] = []
  const rules = new Rules((rule, words) => broken.push(`${RULES[rule]}: ${words}`))
  await using core = await openCoreWithCountedWrites(join(dir, 'state'), async () => {})
  const paused = countUserHolds(core.table.rows())
  const { pid } = (await core.store.load()).counters
  await bootAll({ table: core.table, containments: CONTAINMENTS, pipeline: core.pipeline, writeFailures: core.writeFailures })
  expect(countUserHolds(core.table.rows())).toEqual(paused)
  for (const row of core.table.rows()) expect(row.pid).toBeGreaterThan(pid)
  const { sweeper } = operationsOf(core)
  sweeper.sweep()
  await sweeper.waitUntilIdle()
  for (const { uuid } of [...core.table.rows()])
    await core.pipeline.request({ type: 'signal', by: 'user', uuid, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
  await core.pipeline.waitUntilIdle()
  expect(core.table.size).toBe(0)
  for (const uuid of ALL_UUIDS) {
    const facts = await journalOf(core, uuid)
    expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, index) => index + 1))
    expect((await core.store.process(uuid))?.seq ?? 0).toBe(facts.length)
  }
  for (const fact of await core.store.since({ afterCursor: 0, limit: 5_000 })) rules.read(fact)
  expect(broken).toEqual([])
  expect(await core.store.verify()).toEqual([])
}

async function checkKillAt(number: number, moment: Moment, { what, before, after }: RecordedWrite): Promise<void> {
  await using dir = await tempDir()
  const description = `killed ${moment} write ${number}: ${what}`
  try {
    await runUntilKill(dir.path, number, moment)
    const store = await openSqliteStore({ dir: join(dir.path, 'state') })
    const foundState = await readWholeStore(store)
    await store[Symbol.asyncDispose]()
    expect(foundState).toBe(moment === 'before' ? before : after)
    await continueAfterKill(dir.path)
  } catch (error) {
    throw new Error(description, { cause: error })
  }
}

test('after a kill at each boundary the store has exactly the earlier writes, and the next daemon completes all work', async () => {
  const writes = await runUndisturbed()
  for (const kind of [
    'process.held',
    'process.released',
    'process.forked',
    'checkpoint.written',
    'process.pinned',
    'process.resumed',
    'remove',
    'sweep',
    'import: facts',
    'import: publish',
  ]) {
    expect(
      writes.filter(({ what }) => what.includes(kind)),
      kind,
    ).not.toEqual([])
  }
  const kills = writes.flatMap((write, index) => (['before', 'after'] as const).map((moment) => ({ number: index + 1, moment, write })))
  const expectedCount = kills.length
  let doneCount = 0
  const workers = Array.from({ length: PARALLEL_PROGRAMS }, async () => {
    for (let kill = kills.shift(); kill; kill = kills.shift()) {
      await checkKillAt(kill.number, kill.moment, kill.write)
      doneCount += 1
    }
  })
  await Promise.all(workers)
  expect(doneCount).toBe(expectedCount)
}, 900_000)
