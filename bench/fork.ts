// Measures a fork at step 10, 1,000 and 10,000 of a process of 10,000 steps, against one durable row of plain `node:sqlite`. The
// values are the store's commit, the whole operation (finding the end of the step, kernel, pipeline, store), the disk space of a
// fork, and a read through a lineage of 100 forks. Run: `npm run bench fork`.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../src/daemon/loop/clock.ts'
import { findForkPoint } from '../src/daemon/operations/fork-point.ts'
import { Pipeline } from '../src/daemon/loop/pipeline.ts'
import { Table } from '../src/daemon/loop/table.ts'
import type { FactBody } from '../src/kernel/model/facts.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import type { Commit, Store } from '../src/store/store.ts'
import { Scribe, forkedOf, modelFinished, specOf, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, inFolder, interleave, median, openFloor, printTable } from './support.ts'
import type { Row, Samples } from './support.ts'

const TEXT = 'x'.repeat(2_048)
const STEPS = 10_000
const AT = [10, 1_000, STEPS]
const FORKS = 100
const LINE = 100
const LINE_STEPS = 5_000

/** Facts of a step as the native driver reports it, with a checkpoint after every fifth. */
function stepFacts(step: number): FactBody[] {
  const state = { modelOpen: false, turnOpen: true, queue: [], compactedStep: null, window: null, contextTokens: 1_000 }
  const checkpoint: FactBody = { type: 'checkpoint.written', step, ranges: [[1, 2]], turn: 1, openCalls: [], state }
  return [
    { type: 'model.started', step, attempt: 1, model: 'bench' },
    ...modelFinished(step, TEXT),
    ...toolFinished(step, TEXT).slice(0, 1),
    ...(step % 5 === 0 ? [checkpoint] : []),
  ]
}

/** A process with the given number of steps. */
async function storeSteps(store: Store, scribe: Scribe, uuid: string, steps: number): Promise<void> {
  await store.commit(scribe.spawn(uuid))
  for (let step = 1; step <= steps; step += 100) {
    await store.commit(
      scribe.write(uuid, ...Array.from({ length: Math.min(100, steps - step + 1) }, (_, index) => stepFacts(step + index)).flat()),
    )
  }
}

const A = uuidOf(1)

/** The seq of the last fact of each step of `AT`. */
async function endsOf(store: Store): Promise<number[]> {
  const origin = await store.process(A)
  if (origin === undefined) throw new Error('there is no origin')
  return Promise.all(AT.map(async (fromStep) => (await findForkPoint(store, origin, { fromStep })).seq))
}

/** Measures only the commit. */
async function storeRound(): Promise<Samples[]> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const scribe = new Scribe()
    await storeSteps(store, scribe, A, STEPS)
    const samples: Samples[] = []
    for (const seq of await endsOf(store)) {
      samples.push(
        await interleave(
          FORKS,
          () => floor.insert(1),
          (commit: Commit) => store.commit(commit),
          () => {
            scribe.pid += 1
            return scribe.write(uuidOf(scribe.pid), forkedOf(scribe.pid, { uuid: A, step: 0, seq }))
          },
        ),
      )
    }
    return samples
  })
}

/** Measures the whole operation, as the daemon runs it. */
async function daemonRound(): Promise<Samples[]> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const scribe = new Scribe()
    await storeSteps(store, scribe, A, STEPS)
    const pipeline: Pipeline = new Pipeline({
      table: new Table(10_000),
      store,
      clock: systemClock,
      cursor: scribe.cursor,
      publish: () => {},
      perform: (effect) => {
        if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
      },
      defer: () => false,
      log: (message, error) => console.error(message, error),
    })
    const samples: Samples[] = []
    for (const [index, fromStep] of AT.entries()) {
      samples.push(
        await interleave(
          FORKS,
          () => floor.insert(1),
          async (uuid: string) => {
            const origin = await store.process(A)
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

function compare(name: string, rounds: readonly Samples[][]): Row[] {
  const p50 = (index: number, side: keyof Samples): number => median(rounds.map((round) => median(round[index]?.[side] ?? [])))
  const rows = AT.map((step, index): Row => {
    const [floor, ours] = [p50(index, 'floor'), p50(index, 'ours')]
    return { what: `${name} at step ${step}`, floor: ms(floor), ours: ms(ours), ratio: ours / floor, bar: '<= 3', ok: ours / floor <= 3 }
  })
  const [first, last] = [p50(0, 'ours') / p50(0, 'floor'), p50(AT.length - 1, 'ours') / p50(AT.length - 1, 'floor')]
  const flat = last / first
  return [...rows, { what: `${name}: the last against the first`, floor: '', ours: '', ratio: flat, bar: '<= 1.25', ok: flat <= 1.25 }]
}

async function inTurns(round: () => Promise<Samples[]>): Promise<Samples[][]> {
  const rounds: Samples[][] = []
  while (rounds.length < ROUNDS) rounds.push(await round())
  return rounds
}

interface Found {
  readonly rows: number
  readonly bytes: number
}

/** Rows and bytes of a store's file. */
async function look(dir: string): Promise<Found> {
  using db = new DatabaseSync(join(dir, 'store.db'))
  const count = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? {})[0])
  const tables = ['journal', 'processes', 'places', 'blobs', 'shared', 'kept', 'doomed', 'tombstones']
  return {
    rows: tables.reduce((sum, table) => sum + count(`SELECT count(*) FROM ${table}`), 0),
    bytes: count('PRAGMA page_count') * count('PRAGMA page_size'),
  }
}

/** Disk space per fork, from a thousand forks. */
async function benchRoom(): Promise<Row[]> {
  return inFolder(async (dir) => {
    const scribe = new Scribe()
    await using first = await openSqliteStore({ dir })
    await storeSteps(first, scribe, A, STEPS)
    const endsOfFirst = await endsOf(first)
    const rows: Row[] = []
    for (const [index, seq] of endsOfFirst.entries()) {
      const bytesBefore = await closed(dir, async () => {})
      const bytesAfter = await closed(dir, async (store) => {
        for (let fork = 0; fork < 1_000; fork++) {
          scribe.pid += 1
          await store.commit(
            scribe.write(
              uuidOf(scribe.pid),
              forkedOf(scribe.pid, { uuid: A, step: 0, seq }, specOf({ system: 'You write tests. '.repeat(20) })),
            ),
          )
        }
      })
      const [count, bytes] = [(bytesAfter.rows - bytesBefore.rows) / 1_000, (bytesAfter.bytes - bytesBefore.bytes) / 1_000]
      rows.push({
        what: `rows of a fork at step ${AT[index]}`,
        floor: '1',
        ours: String(count),
        ratio: count,
        bar: '<= 2',
        ok: count <= 2,
      })
      rows.push({
        what: `bytes of a fork at step ${AT[index]}`,
        floor: '4096',
        ours: bytes.toFixed(0),
        ratio: bytes / 4_096,
        bar: '<= 1',
        ok: bytes <= 4_096,
      })
    }
    return rows

    async function closed(home: string, work: (store: Store) => Promise<void>): Promise<Found> {
      await first[Symbol.asyncDispose]()
      {
        await using store = await openSqliteStore({ dir: home })
        await work(store)
      }
      return look(home)
    }
  })
}

/** Reads a journal in pages and returns the number of its facts. */
async function readAll(store: Store, uuid: string): Promise<number> {
  for (let afterSeq = 0; ;) {
    const page = await store.facts(uuid, afterSeq, 500)
    afterSeq += page.length
    if (page.length < 500) return afterSeq
  }
}

/** CPU time in ms. The data is in memory, so wall time would mostly measure other programs of the machine. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const cpuBefore = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpuBefore)
  return (user + system) / 1_000
}

/** Reads 5,000 steps of one journal, and of a lineage of 100 forks with 50 steps each. */
async function benchLine(): Promise<Row> {
  return inFolder(async (dir) => {
    await using store = await openSqliteStore({ dir })
    const scribe = new Scribe()
    await storeSteps(store, scribe, A, LINE_STEPS)
    await storeSteps(store, scribe, uuidOf(2), LINE_STEPS / LINE)
    for (let fork = 1; fork < LINE; fork++) {
      const [origin, first] = [uuidOf(fork + 1), (fork * LINE_STEPS) / LINE + 1]
      await store.commit(
        scribe.fork(
          uuidOf(fork + 2),
          origin,
          scribe.get(origin).seq,
          ...Array.from({ length: LINE_STEPS / LINE }, (_, index) => stepFacts(first + index)).flat(),
        ),
      )
    }
    const rounds: { one: number; line: number }[] = []
    while (rounds.length < 3 * ROUNDS) {
      const one = await cpuOf(() => readAll(store, A))
      rounds.push({ one, line: await cpuOf(() => readAll(store, uuidOf(LINE + 1))) })
    }
    const [one, line] = [median(rounds.map((round) => round.one)), median(rounds.map((round) => round.line))]
    return {
      what: `${LINE_STEPS} steps through ${LINE} forks, CPU`,
      floor: ms(one),
      ours: ms(line),
      ratio: line / one,
      bar: '<= 1.3',
      ok: line / one <= 1.3,
    }
  })
}

printTable(`forks of a process of ${STEPS} steps, median of ${ROUNDS} rounds of ${FORKS}`, [
  ...compare('the commit', await inTurns(storeRound)),
  ...compare('the whole', await inTurns(daemonRound)),
])
printTable('what a fork takes', await benchRoom())
printTable('reading a history (floor: one journal)', [await benchLine()])
