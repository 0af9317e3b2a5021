// What all benchmarks share: samples, medians, tables of results, and a folder on the measured disk. The floor is the reference that reeve
// is compared with, usually the least work that could do the same. Both run in turns in one process, so that a noisy machine affects both
// alike. The ratio is reeve's value divided by the floor's, and the bar is the required ratio. Most printed values are medians of at least
// five rounds.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The default number of rounds. */
export const ROUNDS = 5

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** A random text of this number of bytes. Compression saves a quarter of it at most, which gives little advantage. */
export const randomText = (bytes = 2_048): string => randomBytes((bytes * 3) / 4).toString('base64')

/** The time of `work` in ms. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The measured times in ms: of the floor, and of reeve (`ours`). */
export interface Samples {
  readonly floor: number[]
  readonly ours: number[]
}

/** Runs `floor` and `ours` in turns, `count` times each, in alternating order. `prepare` makes the input of `ours` and is not timed. */
export async function interleave<T = number>(
  count: number,
  floor: (index: number) => unknown,
  ours: (prepared: T) => unknown,
  prepare: (index: number) => T = (index) => index as T,
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
  /** the measured value of the floor, or a budget */
  readonly floor: string
  /** the measured value of reeve */
  readonly ours: string
  /** the value of reeve divided by the floor, which must meet the bar */
  readonly ratio: number
  /** the required ratio, such as `<= 1.3`; empty if none is required */
  readonly bar: string
  readonly ok: boolean
}

/** A row that compares the median of samples with a budget, in ms or in another unit. */
export function budgetRow(what: string, samples: readonly number[], budget: number, unit = 'ms'): Row {
  const value = median(samples)
  const digits = value < 1 ? 2 : 1
  return {
    what,
    floor: `${Number(budget.toFixed(1))} ${unit}`,
    ours: `${value.toFixed(digits)} ${unit}`,
    ratio: value / budget,
    bar: '<= 1',
    ok: value <= budget,
  }
}

/** Prints the rows as a table of fixed columns. */
export function printTable(title: string, rows: readonly Row[]): void {
  const cells = rows.map((row) => [row.what, row.floor, row.ours, row.ratio.toFixed(2), row.bar, row.ok ? 'yes' : 'NO'])
  const table = [['what', 'floor', 'reeve', 'ratio', 'bar', 'reached'], ...cells]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  console.log(`\n${title}`)
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** Runs `work` in a new folder on the measured disk (in `BENCH_DIR`, else in the temporary directory), and then removes the folder. */
export async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(process.env['BENCH_DIR'] ?? tmpdir(), 'reeve-bench-'))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** The floor of durable writes: plain inserts of one text, with WAL and `synchronous=FULL`, otherwise SQLite's defaults. */
export interface Floor extends Disposable {
  /** inserts this number of rows in one transaction */
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
