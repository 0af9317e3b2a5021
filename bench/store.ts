// Measures the store against plain `node:sqlite` inserts of 2 KiB with WAL and `synchronous=FULL`, otherwise SQLite's defaults.
// Run: `node bench/store.ts [--big]`. A step is two commits with a message and a tool result of 2 KiB.
// `--big` adds the start with 100,000 dead processes and a store of 1 GB.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { FactBody } from '../src/kernel/model/facts.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import type { Commit, Store } from '../src/store/store.ts'
import { CommitMaker, endFacts, modelFinished, specOf, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, inFolder, interleave, median, openFloor, percentile, printTable, timed } from './support/measure.ts'
import type { Row, Samples } from './support/measure.ts'

const TEXT = 'x'.repeat(2_048)
const STEPS = 5_000
const AGENTS = 50
const GROUP_STEPS = 100
const DEAD = 100_000
const DEAD_BYTES = 10_000

/** Writes the two commits of a step. They were built before the measurement, because building them is the kernel's work. */
async function commitBoth(store: Store, [first, second]: readonly [Commit, Commit]): Promise<void> {
  await store.commit(first)
  await store.commit(second)
}

interface StepRound {
  readonly samples: Samples
  readonly bytes: number
  readonly bytesClosed: number
}

/** Runs one agent of 5,000 steps, and compares each step with two plain inserts. */
async function stepRound(): Promise<StepRound> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    const home = join(dir, 'home')
    const commitMaker = new CommitMaker()
    let samples: Samples
    let bytes: number
    {
      await using store = await openSqliteStore({ dir: home })
      await store.commit(commitMaker.spawn(uuidOf(1)))
      samples = await interleave(
        STEPS,
        () => {
          floor.insert(1)
          floor.insert(1)
        },
        (commits: readonly [Commit, Commit]) => commitBoth(store, commits),
        (index): [Commit, Commit] => [
          commitMaker.write(uuidOf(1), ...modelFinished(index + 1, TEXT)),
          commitMaker.write(uuidOf(1), ...toolFinished(index + 1, TEXT)),
        ],
      )
      bytes = statSync(join(home, 'store.db')).size + statSync(join(home, 'store.db-wal')).size
    }
    return { samples, bytes, bytesClosed: statSync(join(home, 'store.db')).size }
  })
}

const ms = (value: number): string => `${value.toFixed(3)} ms`

function compare(what: string, rounds: readonly StepRound[], read: (samples: readonly number[]) => number, bar: number): Row {
  const floor = median(rounds.map((round) => read(round.samples.floor)))
  const ours = median(rounds.map((round) => read(round.samples.ours)))
  return {
    what,
    floor: ms(floor),
    ours: ms(ours),
    ratio: ours / floor,
    bar: Number.isFinite(bar) ? `<= ${bar}` : '',
    ok: ours / floor <= bar,
  }
}

const p50 = (from: number, to: number) => (samples: readonly number[]) => median(samples.slice(from, to))
const worst = (from: number, to: number) => (samples: readonly number[]) => Math.max(...samples.slice(from, to))

async function benchSteps(): Promise<void> {
  const rounds: StepRound[] = []
  while (rounds.length < ROUNDS) rounds.push(await stepRound())
  const drift = (read: (samples: Samples) => readonly number[]) =>
    median(rounds.map(({ samples }) => p50(STEPS - 100, STEPS)(read(samples)) / p50(1_000, 1_100)(read(samples))))
  const slowdown = drift((samples) => samples.ours)
  const messages = STEPS * 2 * TEXT.length
  const bytes = (what: string, read: (round: StepRound) => number): Row => {
    const ratio = median(rounds.map(read)) / messages
    return {
      what,
      floor: `${(messages / 1e6).toFixed(1)} MB`,
      ours: `${((ratio * messages) / 1e6).toFixed(1)} MB`,
      ratio,
      bar: '<= 1.25',
      ok: ratio <= 1.25,
    }
  }
  printTable(`durable step, ${STEPS} steps, median of ${ROUNDS} rounds`, [
    compare('p50 of steps 1-10 (cold code)', rounds, p50(0, 10), Number.POSITIVE_INFINITY),
    compare('p50 of steps 1,000-1,100', rounds, p50(1_000, 1_100), 1.3),
    compare('p50 of the last 100', rounds, p50(STEPS - 100, STEPS), 1.3),
    compare('p50 of all', rounds, p50(0, STEPS), 1.3),
    compare('p99 of all', rounds, (samples) => percentile(samples, 0.99), 3),
    compare('worst of the last 100', rounds, worst(STEPS - 100, STEPS), 3),
    // The reference drifts with the machine: a ratio above the limit means nothing if the reference has the same ratio.
    {
      what: 'last 100 against 1,000-1,100',
      floor: drift((samples) => samples.floor).toFixed(2),
      ours: slowdown.toFixed(2),
      ratio: slowdown,
      bar: '<= 1.1',
      ok: slowdown <= 1.1,
    },
    bytes('bytes on disk / messages, closed', (round) => round.bytesClosed),
    bytes('the same while it is open, with its WAL', (round) => round.bytes),
  ])
}

/** 50 agents with one step each, in two commits; the reference inserts 50 rows in each of two transactions. */
async function groupRound(): Promise<number[]> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const commitMaker = new CommitMaker()
    const agents = Array.from({ length: AGENTS }, (_, index) => uuidOf(index + 1))
    for (const uuid of agents) await store.commit(commitMaker.spawn(uuid))
    const group = (bodies: FactBody[]) =>
      commitMaker.group(agents.flatMap((uuid) => bodies.map((body): [string, FactBody] => [uuid, body])))
    const { floor: bare, ours } = await interleave(
      GROUP_STEPS,
      () => {
        floor.insert(AGENTS)
        floor.insert(AGENTS)
      },
      (commits: readonly [Commit, Commit]) => commitBoth(store, commits),
      (index): [Commit, Commit] => [group(modelFinished(index, TEXT)), group(toolFinished(index, TEXT))],
    )
    return [bare, ours].map((times) => ((AGENTS * GROUP_STEPS) / times.reduce((sum, time) => sum + time, 0)) * 1_000)
  })
}

async function benchGroups(): Promise<void> {
  const rounds: number[][] = []
  while (rounds.length < ROUNDS) rounds.push(await groupRound())
  const [bare = 0, ours = 0] = [0, 1].map((index) => median(rounds.map((round) => round[index] ?? 0)))
  const perSecond = (value: number): string => `${Math.round(value)} steps/s`
  printTable(`${AGENTS} agents in group commits`, [
    { what: 'durable steps', floor: perSecond(bare), ours: perSecond(ours), ratio: ours / bare, bar: '>= 0.6', ok: ours / bare >= 0.6 },
  ])
}

/** Fills a store with ended processes, 200 of them per commit. */
async function fillWithEnded(dir: string): Promise<void> {
  await using store = await openSqliteStore({ dir })
  const commitMaker = new CommitMaker()
  for (let first = 0; first < DEAD; first += 200) {
    const commits = Array.from({ length: 200 }, (_, index) => endedProcess(commitMaker, first + index + 1))
    await store.commit({
      facts: commits.flatMap((commit) => commit.facts),
      processes: commits.flatMap((commit) => commit.processes),
      lastPid: commitMaker.pid,
    })
  }
  for (let live = 1; live <= 10; live++) await store.commit(commitMaker.spawn(uuidOf(DEAD + live)))
}

function endedProcess(commitMaker: CommitMaker, number: number): Commit {
  const text = String(number)
    .repeat(DEAD_BYTES / 5)
    .slice(0, DEAD_BYTES / 2)
  return commitMaker.spawn(uuidOf(number), specOf(), ...modelFinished(1, text), ...toolFinished(1, text), ...endFacts())
}

/** Opens and loads the store in a separate process, to measure its memory. */
const STARTER = `
  import { openSqliteStore } from ${JSON.stringify(new URL('../src/store/sqlite.ts', import.meta.url).href)}
  const start = performance.now()
  const store = await openSqliteStore({ dir: process.argv[1] })
  const { processes } = await store.load()
  const ms = performance.now() - start
  console.log(JSON.stringify({ ms, live: processes.length, mb: process.memoryUsage.rss() / 1e6 }))
  await store[Symbol.asyncDispose]()
`

async function benchStart(): Promise<void> {
  await inFolder(async (dir) => {
    const seconds = (await timed(() => fillWithEnded(dir))) / 1_000
    const size = statSync(join(dir, 'store.db')).size
    const runs = Array.from(
      { length: ROUNDS },
      () =>
        JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', STARTER, dir], { encoding: 'utf8' })) as {
          ms: number
          live: number
          mb: number
        },
    )
    const medianMs = median(runs.map((run) => run.ms))
    const mb = median(runs.map((run) => run.mb))
    printTable(
      `start with ${DEAD} dead processes, ${(size / 1e9).toFixed(2)} GB, filled in ${seconds.toFixed(0)} s, ${runs[0]?.live} live`,
      [
        { what: 'open and load', floor: '500 ms', ours: ms(medianMs), ratio: medianMs / 500, bar: '<= 1', ok: medianMs <= 500 },
        { what: 'memory', floor: '150 MB', ours: `${mb.toFixed(0)} MB`, ratio: mb / 150, bar: '<= 1', ok: mb <= 150 },
      ],
    )
  })
}

await benchSteps()
await benchGroups()
if (process.argv.includes('--big')) await benchStart()
