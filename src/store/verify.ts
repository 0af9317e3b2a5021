// The integrity check for `doctor`: SQLite's own, then each process, each fact and each long text, read as strictly as ever.
// It reads in pages and gives the event loop a turn between them; SQLite's own check and the counts are one statement each.
// Test: test/tables/store-damage.test.ts.
import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { KernelError } from '../kernel/errors.ts'
import { damaged, storeError } from './errors.ts'
import { readFacts } from './journal.ts'
import { checkRow, readProcess, sharing } from './rows.ts'
import type { ProcessRow, Statements, TombstoneRow } from './statements.ts'
import { checkTombstone } from './tombstones.ts'

/** Rows per page. */
const PAGE_ROWS = 100

/** Lines at most; the rest is counted as "more". */
const LINES = 100

interface Findings {
  readonly lines: string[]
  readonly full: boolean
  add(line: string): void
}

function findings(): Findings {
  const lines: string[] = []
  return {
    lines,
    get full() { return lines.length > LINES },
    add(line) {
      if (lines.length < LINES) lines.push(line)
      else if (lines.length === LINES) lines.push('more damage was found than is listed')
    },
  }
}

export async function verifyStore(sql: Statements): Promise<string[]> {
  const found = findings()
  attempt(found, () => {
    for (const row of sql.integrity.all()) {
      const line = String(row['integrity_check'])
      if (line !== 'ok') found.add(`database: ${line}`)
    }
  })
  await verifyProcesses(sql, found)
  await verifyBlobs(sql, found)
  await verifyTombstones(sql, found)
  attempt(found, () => verifyCounts(sql, found))
  return found.lines
}

/** What is too much: facts that belong to nobody, long texts that are kept for nobody or would go too early. */
function verifyCounts(sql: Statements, found: Findings): void {
  const count = (statement: 'journalCount' | 'seqSum' | 'doomedFacts'): number => Number(sql[statement].get()?.['n'])
  const stray = count('journalCount') - count('seqSum') - count('doomedFacts')
  if (stray > 0) found.add(`journal: ${stray} facts that no process names`)
  for (const { hash, named, counted } of sql.miscounted.all(LINES)) found.add(`blobs hash ${hash}: it is named ${named} times, and counted as ${counted}`)
}

async function verifyTombstones(sql: Statements, found: Findings): Promise<void> {
  for (let after = ''; !found.full;) {
    const rows = attempt(found, () => sql.tombstonesAfter.all(after, PAGE_ROWS) as unknown as TombstoneRow[]) ?? []
    for (const row of rows) attempt(found, () => checkTombstone(row))
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.uuid
    await setImmediate()
  }
}

async function verifyProcesses(sql: Statements, found: Findings): Promise<void> {
  let after = -1
  while (!found.full) {
    const rows = attempt(found, () => sql.each.all(after, PAGE_ROWS) as unknown as ProcessRow[]) ?? []
    for (const row of rows) await verifyProcess(sql, row, found)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.key
  }
}

async function verifyProcess(sql: Statements, row: ProcessRow, found: Findings): Promise<void> {
  const sound = attempt(found, () => checkRow(row))
  if (sound === undefined) return
  attempt(found, () => readProcess(sql, row, sharing()))
  let after = 0
  while (after < row.seq && !found.full) {
    after = nextAfter(sql, row, after, found)
    await setImmediate()
  }
}

/** Reads one page; damage is noted and the walk goes on behind it. */
function nextAfter(sql: Statements, row: ProcessRow, after: number, found: Findings): number {
  try {
    return readFacts(sql, row, after, PAGE_ROWS).at(-1)?.seq ?? row.seq
  } catch (cause) {
    const error = storeError(cause, `journal process ${row.uuid} after seq ${after}`)
    found.add(error.message)
    const { seq, table } = error.details ?? {}
    if (typeof seq !== 'number' || table === 'places') return row.seq
    return Math.max(seq, after + 1)
  }
}

async function verifyBlobs(sql: Statements, found: Findings): Promise<void> {
  let after = -1
  while (!found.full) {
    const row = attempt(found, () => sql.blobAfter.get(after))
    if (row === undefined) return
    const name = Buffer.from(row['hash'] as Uint8Array).toString('hex')
    if (hash('sha256', row['bytes'] as Uint8Array) !== name) found.add(damaged({ table: 'blobs', hash: name }, 'it is not what was written').message)
    after = Number(row['key'])
    await setImmediate()
  }
}

function attempt<T>(found: Findings, read: () => T): T | undefined {
  try {
    return read()
  } catch (cause) {
    const error: KernelError = storeError(cause, 'database')
    found.add(error.message)
    return undefined
  }
}
