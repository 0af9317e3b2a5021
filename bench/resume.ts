// Measures a resume at step 5,000 in a new process: the time until the agent's context is ready, and the peak memory. The reference reads
// the same messages from plain `node:sqlite`. Each read has its own process, in turns. The time includes opening the database, but not
// loading code, because users run a bundle. Run: `npm run bench resume`.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadContext } from '../src/drivers/native/context/load-context.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { CommitMaker, modelFinished, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, inFolder, median, printTable, randomText } from './support/measure.ts'
import type { FactBody } from '../src/kernel/model/facts.ts'
import type { Row } from './support/measure.ts'

const STEPS = 5_000
const BATCH = 100
interface Measured {
  readonly ms: number
  readonly peakMb: number
  readonly messages: number
}

async function writeHistory(dir: string): Promise<void> {
  await using store = await openSqliteStore({ dir })
  using floor = new DatabaseSync(join(dir, 'floor.db'))
  floor.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')
  const insert = floor.prepare('INSERT INTO messages (body) VALUES (?)')
  const commitMaker = new CommitMaker()
  await store.commit(commitMaker.spawn(uuidOf(1)))
  for (let firstSeq = 1; firstSeq <= STEPS; firstSeq += BATCH) {
    const texts = Array.from({ length: BATCH }, () => [randomText(), randomText()] as const)
    const facts = texts.flatMap(([answer, result], index): FactBody[] => [
      { type: 'model.started', step: firstSeq + index, attempt: 1, model: 'bench' },
      ...modelFinished(firstSeq + index, answer),
      ...toolFinished(firstSeq + index, result).slice(0, 1),
    ])
    await store.commit(commitMaker.write(uuidOf(1), ...facts))
    floor.exec('BEGIN')
    for (const [answer, result] of texts)
      for (const body of [
        { role: 'assistant', text: answer },
        { role: 'tool', text: result },
      ])
        insert.run(JSON.stringify(body))
    floor.exec('COMMIT')
  }
}

/** The work of the new process, which prints its time, its peak memory and the number of messages. */
async function readHistory(variant: string, dir: string): Promise<void> {
  const since = performance.now()
  const loaded = variant === 'ours' ? await readOurs(dir) : readFloor(dir)
  const ms = performance.now() - since
  console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024, messages: loaded.length } satisfies Measured))
}

async function readOurs(dir: string): Promise<readonly unknown[]> {
  await using store = await openSqliteStore({ dir })
  const process = await store.process(uuidOf(1))
  const { context } = await loadContext((...page) => store.filteredFacts(uuidOf(1), ...page), process?.context?.ranges ?? null)
  return context.messages
}

function readFloor(dir: string): readonly unknown[] {
  using floor = new DatabaseSync(join(dir, 'floor.db'))
  const messages: unknown[] = []
  for (const { body } of floor.prepare('SELECT body FROM messages ORDER BY id').iterate()) messages.push(JSON.parse(String(body)))
  return messages
}

function measure(variant: string, dir: string): Measured {
  const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, variant, dir], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const measured = JSON.parse(stdout) as Measured
  if (measured.messages !== 2 * STEPS) throw new Error(`${variant} read ${measured.messages} messages`)
  return measured
}

async function compare(dir: string): Promise<void> {
  await writeHistory(dir)
  const floor: Measured[] = []
  const reeveResults: Measured[] = []
  for (let round = 0; round < 2 * ROUNDS; round += 1) {
    const turns = [
      [floor, 'floor'],
      [reeveResults, 'ours'],
    ] as const
    for (const [list, what] of round % 2 === 0 ? turns : turns.toReversed()) list.push(measure(what, dir))
  }
  const row = (what: string, of: (one: Measured) => number, unit: string, bar: number): Row => {
    const [floorMedian, reeveMedian] = [median(floor.map(of)), median(reeveResults.map(of))]
    return {
      what,
      floor: `${floorMedian.toFixed(0)} ${unit}`,
      ours: `${reeveMedian.toFixed(0)} ${unit}`,
      ratio: reeveMedian / floorMedian,
      bar: `<= ${bar}`,
      ok: reeveMedian / floorMedian <= bar,
    }
  }
  const rows = [
    row(`${STEPS} steps until the context is ready`, ({ ms }) => ms, 'ms', 2),
    row('peak memory', ({ peakMb }) => peakMb, 'MB', 1.3),
  ]
  printTable('resume in a new process', rows)
  if (!rows.every(({ ok }) => ok)) process.exitCode = 1
}

const [variant, dir] = process.argv.slice(2)
if (variant !== undefined && dir !== undefined) await readHistory(variant, dir)
else await inFolder(compare)
