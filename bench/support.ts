// Helpers of the benchmarks: a ratio is taken of a reference and reeve run in turns in one process, so that a noisy machine
// hurts both alike; what is shown is the median of at least five rounds.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Rounds of a benchmark, unless it says more. */
export const ROUNDS = 5

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** How long `work` took, in ms. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export interface Samples {
  readonly floor: number[]
  readonly ours: number[]
}

/** Runs both in turns, `count` times each, the first of a pair changing with every turn; in ms. `prepare` makes what `ours` is given, untimed. */
export async function interleave<T = number>(
  count: number, floor: (index: number) => unknown, ours: (prepared: T) => unknown, prepare: (index: number) => T = (index) => index as T,
): Promise<Samples> {
  const samples: Samples = { floor: [], ours: [] }
  for (let index = 0; index < count; index++) {
    const prepared = prepare(index)
    if (index % 2 === 0) samples.floor.push(await timed(() => floor(index)))
    samples.ours.push(await timed(() => ours(prepared)))
    if (index % 2 === 1) samples.floor.push(await timed(() => floor(index)))
  }
  return samples
}

export interface Row {
  readonly what: string
  readonly floor: string
  readonly ours: string
  /** the number that is held against `reach` */
  readonly ratio: number
  readonly reach: string
  readonly ok: boolean
}

/** Prints the rows as a table of fixed columns. */
export function printTable(title: string, rows: readonly Row[]): void {
  const cells = rows.map((row) => [row.what, row.floor, row.ours, row.ratio.toFixed(2), row.reach, row.ok ? 'yes' : 'NO'])
  const table = [['what', 'floor', 'reeve', 'ratio', 'reach', 'reached'], ...cells]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  console.log(`\n${title}`)
  for (const row of table) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd())
}

/** A folder on the disk that is measured (`BENCH_DIR`, else the temporary one), removed after `work`. */
export async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(process.env['BENCH_DIR'] ?? tmpdir(), 'reeve-bench-'))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Bare inserts of one text, with WAL and `synchronous=FULL`, otherwise as SQLite comes. */
export interface Floor extends Disposable {
  /** one transaction of so many rows */
  insert(rows: number): void
}

export function openFloor(dir: string, text: string): Floor {
  const db = new DatabaseSync(join(dir, 'floor.db'))
  db.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)')
  const insert = db.prepare('INSERT INTO t (body) VALUES (?)')
  return {
    insert(rows) {
      if (rows > 1) db.exec('BEGIN IMMEDIATE')
      for (let row = 0; row < rows; row++) insert.run(text)
      if (rows > 1) db.exec('COMMIT')
    },
    [Symbol.dispose]: () => db.close(),
  }
}
