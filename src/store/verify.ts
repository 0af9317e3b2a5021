// The integrity check for `doctor`: SQLite's own, then each process, each fact and each long text, read as strictly as ever.
// It reads in pages and gives the event loop a turn between them; SQLite's own check and the counts are one statement each.
// Test: test/tables/store-damage.test.ts.
import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { KernelError } from '../kernel/errors.ts'
import { damaged, storeError } from './errors.ts'
import { readFacts } from './journal.ts'
import type { Link, Span } from './lines.ts'
import type { Finder } from './places.ts'
import { checkKept, checkRow, findKept } from './records.ts'
import { readProcess, sharing } from './rows.ts'
import { checkSpender, readSpent } from './spent.ts'
import type { KeptRow, ProcessRow, SpenderRow, Statements, TombstoneRow } from './statements.ts'
import type { SpentPage, SpentRow } from './store.ts'
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

export async function verifyStore(finder: Finder): Promise<string[]> {
  const { sql } = finder
  const found = findings()
  attempt(found, () => {
    for (const row of sql.integrity.all()) {
      const line = String(row['integrity_check'])
      if (line !== 'ok') found.add(`database: ${line}`)
    }
  })
  await verifyEach(found, (after) => sql.each.all(after, PAGE_ROWS) as unknown as ProcessRow[], (row) => verifyProcess(finder, row, found))
  await verifyEach(found, (after) => sql.keptAfter.all(after, PAGE_ROWS) as unknown as KeptRow[], (row) => verifyKept(finder, row, found))
  await verifyBlobs(sql, found)
  await verifyTombstones(sql, found)
  await verifyEach(found, (after) => sql.spendersAfter.all(after, PAGE_ROWS) as unknown as (SpenderRow & { readonly key: number })[], async (row) => { attempt(found, () => checkSpender(row)) })
  await verifySpent(finder, found)
  attempt(found, () => verifyCounts(sql, found))
  return found.lines
}

/** What is too much: facts that belong to nobody, long texts that are kept for nobody or would go too early. */
function verifyCounts(sql: Statements, found: Findings): void {
  const count = (statement: 'journalCount' | 'ownedCount' | 'doomedCount'): number => Number(sql[statement].get()?.['n'])
  const stray = count('journalCount') - count('ownedCount') - count('doomedCount')
  if (stray > 0) found.add(`journal: ${stray} facts that no process names`)
  for (const { uuid } of sql.keptForNobody.all(LINES)) found.add(`kept process ${uuid}: no fork goes on from it`)
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

async function verifySpent({ sql }: Finder, found: Findings): Promise<void> {
  for (let after: SpentPage['after']; !found.full;) {
    const page: SpentPage = after === undefined ? { limit: PAGE_ROWS } : { limit: PAGE_ROWS, after }
    const rows: readonly SpentRow[] = attempt(found, () => readSpent(sql, page)) ?? []
    after = rows.at(-1)
    if (after === undefined) break
    await setImmediate()
  }
  const ofNobody = attempt(found, () => Number(sql.spentOfNobody.get()?.['n'])) ?? 0
  if (ofNobody > 0) found.add(`spent: ${ofNobody} rows that no process names`)
}

async function verifyEach<T extends { readonly key: number }>(found: Findings, page: (after: number) => T[], verify: (row: T) => Promise<void>): Promise<void> {
  let after = -1
  while (!found.full) {
    const rows = attempt(found, () => page(after)) ?? []
    for (const row of rows) await verify(row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.key
  }
}

async function verifyProcess(finder: Finder, row: ProcessRow, found: Findings): Promise<void> {
  const own = attempt(found, () => finder.lines.of(checkRow(row)))
  if (own === undefined) return
  attempt(found, () => readProcess(finder.sql, row, sharing()))
  await verifySpan(finder, own, found)
}

/** What forks go on from of a removed process. */
async function verifyKept(finder: Finder, row: KeptRow, found: Findings): Promise<void> {
  const kept = attempt(found, () => finder.lines.link(checkKept(row).key, { uuid: row.uuid, base: Infinity }))
  if (kept !== undefined) await verifySpan(finder, { link: kept, upto: row.upto, open: null }, found)
}

/** The own facts of a process; and that those before them are there, which are read where they are own ones. */
async function verifySpan(finder: Finder, span: Span, found: Findings): Promise<void> {
  attempt(found, () => checkReach(finder, span.link))
  let after = span.link.base
  while (after < span.upto && !found.full) {
    after = nextAfter(finder, span, after, found)
    await setImmediate()
  }
}

function checkReach({ sql, lines }: Finder, { uuid, base, origin }: Link): void {
  if (origin === null) return
  const last = findKept(sql, origin.key)?.upto ?? lines.owner(origin.uuid)?.seq ?? 0
  if (last < base) throw damaged({ table: 'processes', uuid }, `its origin ends with fact ${last}, before fact ${base}`)
}

/** Reads one page; damage is noted and the walk goes on behind it. */
function nextAfter(finder: Finder, span: Span, after: number, found: Findings): number {
  const { link: { uuid }, upto } = span
  try {
    return readFacts(finder, span, after, PAGE_ROWS).at(-1)?.seq ?? upto
  } catch (cause) {
    const error = storeError(cause, `journal process ${uuid} after seq ${after}`)
    found.add(error.message)
    const { seq, table } = error.details ?? {}
    if (typeof seq !== 'number' || table === 'places') return upto
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
