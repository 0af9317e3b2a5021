// Measures a fork at step 10, 1,000 and 10,000 of a process of 10,000 steps, against one durable row of plain `node:sqlite`. The values are
// the store's commit, and the whole operation: finding the end of the step, kernel, pipeline, store. Also the disk space of a fork, and a
// read through a lineage of 100 forks. Run: `npm run bench fork`.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../src/daemon/loop/clock.ts'
import { findForkPoint } from '../src/daemon/operations/fork-point.ts'
import { Pipeline } from '../src/daemon/loop/pipeline.ts'
import { Table } from '../src/daemon/loop/table.ts'
import type { FactBody } from '../src/kernel/model/facts.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import type { Commit, Store } from '../src/store/store.ts'
import { CommitMaker, forkedOf, modelFinished, specOf, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, inFolder, interleave, median, openFloor, printTable } from './support/measure.ts'
import type { Row, Samples } from './support/measure.ts'

const STEP_TEXT = 'x'.repeat(2_048)
const STEPS = 10_000
const FORK_STEPS = [10, 1_000, STEPS]
const FORKS = 100
const LINEAGE_LENGTH = 100
const LINEAGE_STEPS = 5_000

/** The facts of a step as the native driver reports it. Every fifth step has a checkpoint. */
function stepFacts(step: number): FactBody[] {
  const state = { modelOpen: false, turnOpen: true, queue: [], compactedStep: null, window: null, contextTokens: 1_000 }
  const checkpoint: FactBody = { type: 'checkpoint.written', step, ranges: [[1, 2]], turn: 1, openCalls: [], state }
  return [
    { type: 'model.started', step, attempt: 1, model: 'bench' },
    ...modelFinished(step, STEP_TEXT),
    ...toolFinished(step, STEP_TEXT).slice(0, 1),
    ...(step % 5 === 0 ? [checkpoint] : []),
  ]
}

/** Stores a process with the given number of steps. */
async function storeSteps(store: Store, commitMaker: CommitMaker, uuid: string, steps: number): Promise<void> {
  await store.commit(commitMaker.spawn(uuid))
  for (let step = 1; step <= steps; step += 100) {
    await store.commit(
      commitMaker.write(uuid, ...Array.from({ length: Math.min(100, steps - step + 1) }, (_, index) => stepFacts(step + index)).flat()),
    )
  }
}

const ORIGIN = uuidOf(1)

/** The seq of the last fact of each step of `FORK_STEPS`. */
async function readForkPoints(store: Store): Promise<number[]> {
  const origin = await store.process(ORIGIN)
  if (origin === undefined) throw new Error('there is no origin')
  return Promise.all(FORK_STEPS.map(async (fromStep) => (await findForkPoint(store, origin, { fromStep })).seq))
}

/** Measures only the commit. */
async function measureCommits(): Promise<Samples[]> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, STEP_TEXT)
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const commitMaker = new CommitMaker()
    await storeSteps(store, commitMaker, ORIGIN, STEPS)
    const samples: Samples[] = []
    for (const seq of await readForkPoints(store)) {
      samples.push(
        await interleave(
          FORKS,
          () => floor.insert(1),
          (commit: Commit) => store.commit(commit),
          () => {
            commitMaker.pid += 1
            return commitMaker.write(uuidOf(commitMaker.pid), forkedOf(commitMaker.pid, { uuid: ORIGIN, step: 0, seq }))
          },
        ),
      )
    }
    return samples
  })
}

/** Measures the whole operation, as the daemon runs it. */
async function measureOperations(): Promise<Samples[]> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, STEP_TEXT)
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const commitMaker = new CommitMaker()
    await storeSteps(store, commitMaker, ORIGIN, STEPS)
    const pipeline: Pipeline = new Pipeline({
      table: new Table(10_000),
      store,
      clock: systemClock,
      cursor: commitMaker.cursor,
      publish: () => {},
      perform: (effect) => {
        if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
      },
      defer: () => false,
      log: (message, error) => console.error(message, error),
    })
    const samples: Samples[] = []
    for (const [index, fromStep] of FORK_STEPS.entries()) {
      samples.push(
        await interleave(
          FORKS,
          () => floor.insert(1),
          async (uuid: string) => {
            const origin = await store.process(ORIGIN)
            if (origin === undefined) throw new Error('there is no origin')
            const forkPoint = await findForkPoint(store, origin, { fromStep })
            await pipeline.request({ type: 'fork', by: 'user', uuid, origin, at: forkPoint, spec: null, message: null })
          },
          (number) => uuidOf(1_000 * (index + 1) + number),
        ),
      )
    }
    return samples
  })
}

const ms = (value: number): string => `${value.toFixed(3)} ms`

function compareWithFloor(name: string, rounds: readonly Samples[][]): Row[] {
  const p50 = (index: number, side: keyof Samples): number => median(rounds.map((round) => median(round[index]?.[side] ?? [])))
  const rows = FORK_STEPS.map((step, index): Row => {
    const [floor, ours] = [p50(index, 'floor'), p50(index, 'ours')]
    return { what: `${name} at step ${step}`, floor: ms(floor), ours: ms(ours), ratio: ours / floor, bar: '<= 3', ok: ours / floor <= 3 }
  })
  const [firstRatio, lastRatio] = [
    p50(0, 'ours') / p50(0, 'floor'),
    p50(FORK_STEPS.length - 1, 'ours') / p50(FORK_STEPS.length - 1, 'floor'),
  ]
  const growth = lastRatio / firstRatio
  return [
    ...rows,
    { what: `${name}: step 10,000 compared with step 10`, floor: '', ours: '', ratio: growth, bar: '<= 1.25', ok: growth <= 1.25 },
  ]
}

async function repeatRounds(round: () => Promise<Samples[]>): Promise<Samples[][]> {
  const rounds: Samples[][] = []
  while (rounds.length < ROUNDS) rounds.push(await round())
  return rounds
}

interface StoreSize {
  readonly rows: number
  readonly bytes: number
}

/** Counts the rows of the tables that a fork may write to, and the bytes of the store's file. */
async function measureStore(dir: string): Promise<StoreSize> {
  using db = new DatabaseSync(join(dir, 'store.db'))
  const count = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? {})[0])
  const tables = ['journal', 'processes', 'places', 'blobs', 'shared', 'kept', 'doomed', 'tombstones']
  return {
    rows: tables.reduce((sum, table) => sum + count(`SELECT count(*) FROM ${table}`), 0),
    bytes: count('PRAGMA page_count') * count('PRAGMA page_size'),
  }
}

/** Disk space per fork, from a thousand forks. */
async function benchDiskSpace(): Promise<Row[]> {
  return inFolder(async (dir) => {
    const commitMaker = new CommitMaker()
    await using origin = await openSqliteStore({ dir })
    await storeSteps(origin, commitMaker, ORIGIN, STEPS)
    const forkPoints = await readForkPoints(origin)
    const rows: Row[] = []
    for (const [index, seq] of forkPoints.entries()) {
      const sizeBefore = await measureAfter(dir, async () => {})
      const sizeAfter = await measureAfter(dir, async (store) => {
        for (let fork = 0; fork < 1_000; fork++) {
          commitMaker.pid += 1
          await store.commit(
            commitMaker.write(
              uuidOf(commitMaker.pid),
              forkedOf(commitMaker.pid, { uuid: ORIGIN, step: 0, seq }, specOf({ system: 'You write tests. '.repeat(20) })),
            ),
          )
        }
      })
      const [count, bytes] = [(sizeAfter.rows - sizeBefore.rows) / 1_000, (sizeAfter.bytes - sizeBefore.bytes) / 1_000]
      rows.push({
        what: `rows of a fork at step ${FORK_STEPS[index]}`,
        floor: '1',
        ours: String(count),
        ratio: count,
        bar: '<= 2',
        ok: count <= 2,
      })
      rows.push({
        what: `bytes of a fork at step ${FORK_STEPS[index]}`,
        floor: '4096',
        ours: bytes.toFixed(0),
        ratio: bytes / 4_096,
        bar: '<= 1',
        ok: bytes <= 4_096,
      })
    }
    return rows

    async function measureAfter(home: string, work: (store: Store) => Promise<void>): Promise<StoreSize> {
      await origin[Symbol.asyncDispose]()
      {
        await using store = await openSqliteStore({ dir: home })
        await work(store)
      }
      return measureStore(home)
    }
  })
}

/** Reads a journal in pages, and counts its facts. */
async function countFacts(store: Store, uuid: string): Promise<number> {
  for (let afterSeq = 0; ;) {
    const page = await store.facts(uuid, afterSeq, 500)
    afterSeq += page.length
    if (page.length < 500) return afterSeq
  }
}

/** CPU time in ms. The data is in memory, so wall time would mostly measure other programs of the machine. */
async function measureCpuMs(work: () => Promise<unknown>): Promise<number> {
  const cpuBefore = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpuBefore)
  return (user + system) / 1_000
}

/** Reads 5,000 steps of one journal, and of a lineage of 100 forks with 50 steps each. */
async function benchLineage(): Promise<Row> {
  return inFolder(async (dir) => {
    await using store = await openSqliteStore({ dir })
    const commitMaker = new CommitMaker()
    await storeSteps(store, commitMaker, ORIGIN, LINEAGE_STEPS)
    await storeSteps(store, commitMaker, uuidOf(2), LINEAGE_STEPS / LINEAGE_LENGTH)
    for (let fork = 1; fork < LINEAGE_LENGTH; fork++) {
      const [origin, first] = [uuidOf(fork + 1), (fork * LINEAGE_STEPS) / LINEAGE_LENGTH + 1]
      await store.commit(
        commitMaker.fork(
          uuidOf(fork + 2),
          origin,
          commitMaker.get(origin).seq,
          ...Array.from({ length: LINEAGE_STEPS / LINEAGE_LENGTH }, (_, index) => stepFacts(first + index)).flat(),
        ),
      )
    }
    const rounds: { one: number; lineage: number }[] = []
    while (rounds.length < 3 * ROUNDS) {
      const one = await measureCpuMs(() => countFacts(store, ORIGIN))
      rounds.push({ one, lineage: await measureCpuMs(() => countFacts(store, uuidOf(LINEAGE_LENGTH + 1))) })
    }
    const [one, lineage] = [median(rounds.map((round) => round.one)), median(rounds.map((round) => round.lineage))]
    return {
      what: `${LINEAGE_STEPS} steps through ${LINEAGE_LENGTH} forks, CPU`,
      floor: ms(one),
      ours: ms(lineage),
      ratio: lineage / one,
      bar: '<= 1.3',
      ok: lineage / one <= 1.3,
    }
  })
}

printTable(`forks of a process of ${STEPS} steps, median of ${ROUNDS} rounds of ${FORKS}`, [
  ...compareWithFloor('the commit', await repeatRounds(measureCommits)),
  ...compareWithFloor('the whole operation', await repeatRounds(measureOperations)),
])
printTable('disk space of a fork', await benchDiskSpace())
printTable('reading 5,000 steps (floor: one journal)', [await benchLineage()])
