// Measures `reeve top` at 200 x 50: the CPU time and the bytes of a frame in which the selection moves and 20 rows change. Also the whole
// program on a terminal. A busy machine also makes CPU time longer, so the time budgets grow as much as the start of Node does.
// Run: `npm run bench top` (it needs the build).
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { drawFrames, MeasuredTop, measureSlowdown, TOP_BUDGETS } from '../test/support/faces/top-measurements.ts'
import { ROUNDS, budgetRow, printTable, type Row } from './support/measure.ts'

const REEVE = resolve(import.meta.dirname, '../bin/reeve')
const FRAMES = 500
const IDLE_FRAMES = 5
/** after this time, the garbage of the first rows is collected */
const SETTLE_MS = 2_000

async function frameRows(count: 1_000 | 10_000): Promise<Row[]> {
  const slower = await measureSlowdown()
  const rounds = Array.from({ length: ROUNDS }, () => drawFrames(count, FRAMES))
  const name = `${count.toLocaleString('en')} rows`
  return [
    budgetRow(
      `${name}: CPU time of a frame`,
      rounds.map(({ cpuMs }) => cpuMs),
      TOP_BUDGETS.frameMs[count] * slower,
    ),
    budgetRow(
      `${name}: the longest frame`,
      rounds.map(({ bytes }) => bytes / 1_000),
      TOP_BUDGETS.frameBytes / 1_000,
      'KB',
    ),
  ]
}

async function programRows(count: number): Promise<Row[]> {
  const slower = await measureSlowdown()
  const [first, idle, memory]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    await using top = await MeasuredTop.open(count, REEVE)
    first.push(top.cpuMs)
    await delay(SETTLE_MS)
    memory.push(top.residentMb)
    idle.push(await top.measureIdlePercent(IDLE_FRAMES))
  }
  const name = `${count.toLocaleString('en')} rows`
  return [
    budgetRow(`${name}: CPU time until the first frame`, first, TOP_BUDGETS.firstFrameMs * slower),
    budgetRow(`${name}: share of a core while nothing changes`, idle, TOP_BUDGETS.idlePercent * slower, '%'),
    budgetRow(`${name}: memory`, memory, TOP_BUDGETS.residentMb, 'MB'),
  ]
}

printTable('top', [
  ...(await frameRows(1_000)),
  ...(await frameRows(10_000)),
  ...(await programRows(1_000)),
  ...(await programRows(10_000)),
])
