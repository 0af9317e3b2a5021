// Measures a resume at step 5,000 in a new process, until the agent's context is ready. The store is compared with reading the same
// messages from plain `node:sqlite`, each in a process of its own, in turns; also the peak memory. Opening the database
// counts; loading code does not, as users run a bundle. Run: `npm run bench resume`.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadContext } from '../src/drivers/native/context/load-context.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { Scribe, modelFinished, toolFinished, uuidOf } from '../test/support/store/facts.ts'
import { ROUNDS, inFolder, median, printTable } from './support.ts'
import type { FactBody } from '../src/kernel/model/facts.ts'
import type { Row } from './support.ts'

const STEPS = 5_000
const BATCH = 100
/** 2 KiB of different texts that do not compress. */
const text = (): string => randomBytes(1_536).toString('base64')

interface Measured {
  readonly ms: number
  readonly peakMb: number
  readonly messages: number
}

async function write(dir: string): Promise<void> {
  await using store = await openSqliteStore({ dir })
  using floor = new DatabaseSync(join(dir, 'floor.db'))
  floor.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')
  const insert = floor.prepare('INSERT INTO messages (body) VALUES (?)')
  const scribe = new Scribe()
  await store.commit(scribe.spawn(uuidOf(1)))
  for (let from = 1; from <= STEPS; from += BATCH) {
    const texts = Array.from({ length: BATCH }, () => [text(), text()] as const)
    const facts = texts.flatMap(([answer, result], index): FactBody[] => [
      { type: 'model.started', step: from + index, attempt: 1, model: 'bench' },
      ...modelFinished(from + index, answer),
      ...toolFinished(from + index, result).slice(0, 1),
    ])
    await store.commit(scribe.write(uuidOf(1), ...facts))
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

/** The work of the new process, which prints its times. */
async function read(what: string, dir: string): Promise<void> {
  const since = performance.now()
  const kept = what === 'ours' ? await readOurs(dir) : readFloor(dir)
  const ms = performance.now() - since
  console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024, messages: kept.length } satisfies Measured))
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

function measure(what: string, dir: string): Measured {
  const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, what, dir], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const measured = JSON.parse(stdout) as Measured
  if (measured.messages !== 2 * STEPS) throw new Error(`${what} read ${measured.messages} messages`)
  return measured
}

async function compare(dir: string): Promise<void> {
  await write(dir)
  const floor: Measured[] = []
  const ours: Measured[] = []
  for (let round = 0; round < 2 * ROUNDS; round += 1) {
    const turns = [
      [floor, 'floor'],
      [ours, 'ours'],
    ] as const
    for (const [list, what] of round % 2 === 0 ? turns : turns.toReversed()) list.push(measure(what, dir))
  }
  const row = (what: string, of: (one: Measured) => number, unit: string, bar: number): Row => {
    const [theirs, mine] = [median(floor.map(of)), median(ours.map(of))]
    return {
      what,
      floor: `${theirs.toFixed(0)} ${unit}`,
      ours: `${mine.toFixed(0)} ${unit}`,
      ratio: mine / theirs,
      bar: `<= ${bar}`,
      ok: mine / theirs <= bar,
    }
  }
  const rows = [
    row(`${STEPS} steps until the context is ready`, ({ ms }) => ms, 'ms', 2),
    row('peak memory', ({ peakMb }) => peakMb, 'MB', 1.3),
  ]
  printTable('resume in a new process', rows)
  if (!rows.every(({ ok }) => ok)) process.exitCode = 1
}

const [what, dir] = process.argv.slice(2)
if (what !== undefined && dir !== undefined) await read(what, dir)
else await inFolder(compare)
