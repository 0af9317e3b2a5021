// Measures reads of the steps of a process of 5,000 steps. The first read is that of brief steps as columns, at once and again after a new
// step. The second is a page of whole steps, at step 4,500 against step 1. The third is one whole step, before and after the columns were
// read. All times are CPU time, because other work of the machine would add to wall time. Run: `npm run bench step-reads`.
import { join } from 'node:path'
import { cpuUsage } from 'node:process'
import { systemClock } from '../src/daemon/loop/clock.ts'
import { Table } from '../src/daemon/loop/table.ts'
import { ProcessQueries } from '../src/daemon/views/process-queries.ts'
import { StepReads } from '../src/daemon/steps/step-reads.ts'
import { EventLoopTurns } from '../src/drivers/common/event-loop-turns.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { CommitMaker, stepOf, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, budgetRow, inFolder, median, printTable } from './support/measure.ts'
import type { FactBody } from '../src/kernel/model/facts.ts'
import type { Row } from './support/measure.ts'

const STEPS = 5_000
const TEXT = 'x'.repeat(2_048)
/** Every tenth result is long, so that the store keeps it apart. */
const LONG = 'y'.repeat(20_000)
const PAGE = 50
const [FIRST_MS, STEP_MS] = [300, 30]
const UUID = uuidOf(1)

function factsOf(step: number): FactBody[] {
  return stepOf(step, TEXT).map((body) => (body.type === 'tool.finished' && step % 10 === 0 ? { ...body, content: LONG } : body))
}

async function measureCpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = cpuUsage()
  await work()
  const { user, system } = cpuUsage(before)
  return (user + system) / 1_000
}

async function bench(): Promise<readonly Row[]> {
  return inFolder(async (dir) => {
    await using store = await openSqliteStore({ dir: join(dir, 'home') })
    const commits = new CommitMaker()
    await store.commit(commits.spawn(UUID))
    for (let step = 1; step <= STEPS; step += 100)
      await store.commit(commits.write(UUID, ...Array.from({ length: 100 }, (_, index) => factsOf(step + index)).flat()))
    const reads = new ProcessQueries(new Table(10), store, systemClock)
    const newReads = (): StepReads => new StepReads({ store, reads, slices: new EventLoopTurns().newQueue() })
    const process = (): ReturnType<typeof commits.get> => commits.get(UUID)
    const all = { limit: STEPS }
    const first: number[] = []
    for (let round = 0; round < ROUNDS; round += 1)
      first.push(await measureCpuMs(async () => JSON.stringify(await newReads().brief(process(), all)).length))
    const steps = newReads()
    await steps.brief(process(), all)
    const again: number[] = []
    for (let step = STEPS + 1; step <= STEPS + ROUNDS; step += 1) {
      await store.commit(commits.write(UUID, ...factsOf(step)))
      again.push(await measureCpuMs(async () => JSON.stringify(await steps.brief(process(), all)).length))
    }
    const alone: number[] = []
    for (let round = 0; round < ROUNDS * 10; round += 1) alone.push(await measureCpuMs(() => newReads().detail(process(), 4_490 + round)))
    const detail: number[] = []
    for (let round = 0; round < ROUNDS * 10; round += 1) detail.push(await measureCpuMs(() => steps.detail(process(), 4_490 + round)))
    const [early, late]: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS * 20; round += 1) {
      early.push(await measureCpuMs(() => reads.steps(process(), round, PAGE)))
      late.push(await measureCpuMs(() => reads.steps(process(), 4_500 + round, PAGE)))
    }
    const [start, end] = [median(early), median(late)]
    return [
      budgetRow('5,000 steps as columns, the first use, as JSON', first, FIRST_MS),
      budgetRow('the same again, after a new step', again, FIRST_MS),
      budgetRow('one whole step', detail, STEP_MS),
      budgetRow('the same before any columns were read', alone, STEP_MS),
      {
        what: 'a page of 50 whole steps at step 4,500 against step 1',
        floor: `${start.toFixed(2)} ms`,
        ours: `${end.toFixed(2)} ms`,
        ratio: end / start,
        bar: '<= 1.25',
        ok: end / start <= 1.25,
      },
    ]
  })
}

printTable('reads of steps', await bench())
