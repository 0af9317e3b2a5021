// Measures the durable step as a driver sees it: from its report, through kernel, pipeline and store, to the acknowledgement. The
// reference makes plain `node:sqlite` inserts of the same texts. Run: `npm run bench step`.
// A step of one agent is two commits. With 50 agents each reports on its own, and the reference writes 50 rows per transaction.
import { join } from 'node:path'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { ROUNDS, inFolder, interleave, median, openFloor, printTable, timed } from './support/measure.ts'
import { TEXT, openStepBench, reportsOf, uuidOf, type StepReports } from './support/step-bench.ts'
import type { Row } from './support/measure.ts'

const STEPS = 5_000
/** More rounds than elsewhere: the last 100 steps of an agent vary by a tenth, and V8 still optimizes during the first two rounds. */
const RUNS = 9
const AGENTS = 50
const AGENT_STEPS = 100

async function measureOneAgent(): Promise<{ floor: number[]; ours: number[] }> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    await using bench = openStepBench(await openSqliteStore({ dir: join(dir, 'home') }))
    const agent = await bench.begin(uuidOf(1))
    return await interleave<StepReports>(
      STEPS,
      () => {
        floor.insert(1)
        floor.insert(1)
      },
      (reports) => agent.step(reports),
      (index) => reportsOf(index + 1),
    )
  })
}

/** Steps per second of the reference, and of 50 agents that run independently. */
async function measureAgentsAtOnce(): Promise<{ floor: number; ours: number }> {
  return inFolder(async (dir) => {
    using floor = openFloor(dir, TEXT)
    await using bench = openStepBench(await openSqliteStore({ dir: join(dir, 'home') }))
    const agents = await Promise.all(Array.from({ length: AGENTS }, (_, index) => bench.begin(uuidOf(index + 1))))
    const total = AGENTS * AGENT_STEPS
    const ours = await timed(() =>
      Promise.all(
        agents.map(async (agent) => {
          for (let number = 1; number <= AGENT_STEPS; number++) await agent.step(reportsOf(number))
        }),
      ),
    )
    const bare = await timed(() => {
      for (let number = 0; number < AGENT_STEPS * 2; number++) floor.insert(AGENTS)
    })
    return { floor: (total / bare) * 1_000, ours: (total / ours) * 1_000 }
  })
}

const ms = (value: number): string => `${value.toFixed(3)} ms`

function row(what: string, floor: number, ours: number, bar: number): Row {
  return { what, floor: ms(floor), ours: ms(ours), ratio: ours / floor, bar: `<= ${bar}`, ok: ours / floor <= bar }
}

async function main(): Promise<void> {
  const runs: { floor: number[]; ours: number[] }[] = []
  while (runs.length < RUNS) runs.push(await measureOneAgent())
  const p50 = (pick: (run: (typeof runs)[number]) => number[], from: number, to: number): number =>
    median(runs.map((run) => median(pick(run).slice(from, to))))
  const worst = (pick: (run: (typeof runs)[number]) => number[]): number => median(runs.map((run) => Math.max(...pick(run).slice(-100))))
  const between = (what: string, from: number, to: number): Row =>
    row(
      what,
      p50((run) => run.floor, from, to),
      p50((run) => run.ours, from, to),
      1.3,
    )
  const slowdown = median(runs.map(({ ours }) => median(ours.slice(-100)) / median(ours.slice(1_000, 1_100))))
  printTable(`durable step, report to acknowledgement, ${STEPS} steps, median of ${RUNS} runs`, [
    between('p50 of steps 1-10', 0, 10),
    between('p50 of the first 1,000', 0, 1_000),
    between(`p50 of all ${STEPS.toLocaleString('en')}`, 0, STEPS),
    between('p50 of the last 100', STEPS - 100, STEPS),
    { what: 'last 100 against steps 1,000-1,100', floor: '', ours: '', ratio: slowdown, bar: '<= 1.1', ok: slowdown <= 1.1 },
    row(
      'worst of the last 100',
      worst((run) => run.floor),
      worst((run) => run.ours),
      3,
    ),
  ])
  const concurrentRuns: { floor: number; ours: number }[] = []
  while (concurrentRuns.length < ROUNDS) concurrentRuns.push(await measureAgentsAtOnce())
  const floor = median(concurrentRuns.map((run) => run.floor))
  const ours = median(concurrentRuns.map((run) => run.ours))
  printTable(`${AGENTS} agents at once`, [
    {
      what: 'durable steps',
      floor: `${Math.round(floor)}/s`,
      ours: `${Math.round(ours)}/s`,
      ratio: ours / floor,
      bar: '>= 0.6',
      ok: ours / floor >= 0.6,
    },
  ])
}

await main()
