// The integrity check of `reeve doctor`: SQLite's own check, then each process, fact and long text, with the checks of a usual
// read. Reads in pages and yields to the event loop between them. SQLite's check and the counts run as single statements in a
// thread. The store keeps working meanwhile. Compared values are read in the same turn of the event loop. Otherwise a change in
// between could be reported as damage. Tests: test/tables/store/rows/damage.test.ts, test/tables/store/verify.test.ts.
import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { KernelError } from '../kernel/model/errors.ts'
import { damageError, storeError } from './errors.ts'
import type { DamageLocation } from './errors.ts'
import { readFacts } from './journal/journal.ts'
import type { ProcessHead } from './write/head-cache.ts'
import type { LineageLink, FactSpan } from './journal/lineage.ts'
import type { IndexReadDeps } from './journal/fact-index.ts'
import { checkKept, checkRow, findKept } from './rows/row-lookup.ts'
import { checkAscending } from './rows/page-order.ts'
import { createIntern } from './rows/process-body.ts'
import { readProcess } from './rows/process-row.ts'
import { checkSpender } from './rows/usage-account.ts'
import { readUsageRows } from './rows/usage-ledger.ts'
import type { KeptRow, ProcessRow, SpenderRow, TombstoneRow } from './rows/row-types.ts'
import type { Statements } from './statements.ts'
import type { StoreQueryResult, StoreQuery, DatabaseReader } from './database-reader.ts'
import type { UsageRowsQuery, UsageRow } from './store.ts'
import { checkTombstone } from './rows/tombstones.ts'

/** The number of rows or facts per page. */
const PAGE_ROWS = 100

/** The maximum number of lines of a report; further findings give one last line. */
const MAX_LINES = 100

interface Findings {
  readonly lines: string[]
  readonly isFull: boolean
  add(line: string): void
}

function createFindings(): Findings {
  const lines: string[] = []
  return {
    lines,
    get isFull() {
      return lines.length > MAX_LINES
    },
    add(line) {
      if (lines.length < MAX_LINES) lines.push(line)
      else if (lines.length === MAX_LINES) lines.push('more damage was found than is listed')
    },
  }
}

/**
 * Verifies the whole store and returns one line per finding. `pendingHeads` returns the heads of the processes whose rows are out of
 * date.
 */
export async function verifyStore(
  deps: IndexReadDeps,
  reader: DatabaseReader,
  pendingHeads: () => readonly ProcessHead[],
): Promise<string[]> {
  const { sql } = deps
  const findings = createFindings()
  await verifyWhole(sql, reader, { pendingHeads, findings })
  await verifyEach(findings, {
    table: 'processes',
    next: (after) => sql.processAfter.get(after, 1) as ProcessRow | undefined,
    verify: (row) => verifyProcess(deps, row, findings),
  })
  await verifyEach(findings, {
    table: 'kept',
    next: (after) => sql.keptAfter.get(after, 1) as KeptRow | undefined,
    verify: (row) => verifyKept(deps, row, findings),
  })
  await verifyBlobs(sql, findings)
  await verifyTombstones(sql, findings)
  await verifyEach(findings, {
    table: 'spenders',
    next: (after) => sql.spendersAfter.get(after, 1) as (SpenderRow & { readonly key: number }) | undefined,
    async verify(row) {
      attempt(findings, () => checkSpender(row))
    },
  })
  await verifyUsageRows(deps, findings)
  return findings.lines
}

interface VerifyContext {
  readonly pendingHeads: () => readonly ProcessHead[]
  readonly findings: Findings
}

/**
 * Runs the checks that read the whole file: SQLite's own check, facts without a process, kept processes without a fork, and wrong
 * reference counts of long texts.
 */
async function verifyWhole(sql: Statements, reader: DatabaseReader, { pendingHeads, findings }: VerifyContext): Promise<void> {
  let pendingFacts = 0
  const countPendingFacts = (): void => {
    pendingFacts = pendingHeads().reduce((sum, { seq, storedRow }) => sum + seq - (storedRow?.seq ?? 0), 0)
  }
  const queries: StoreQuery[] = [
    [sql.integrity],
    [sql.journalCount],
    [sql.ownedCount],
    [sql.pendingDeletionFacts],
    [sql.unneededKept, MAX_LINES],
    [sql.wrongRefCounts, MAX_LINES],
    [sql.unownedUsage],
  ]
  const [integrity, journal, owned, pendingDeletions, kept, wrongRefCounts, spent] = await reader.query(queries, countPendingFacts)
  const rows = (answer: StoreQueryResult | undefined): readonly Readonly<Record<string, unknown>>[] => answer?.() ?? []
  const count = (answer: StoreQueryResult | undefined): number => Number(rows(answer)[0]?.['n'])
  attempt(findings, () => {
    for (const { integrity_check: line } of rows(integrity)) if (line !== 'ok') findings.add(`database: ${String(line)}`)
  })
  attempt(findings, () => {
    const strayFacts = count(journal) - count(owned) - pendingFacts - count(pendingDeletions)
    if (strayFacts > 0) findings.add(`journal: ${strayFacts} facts belong to no process`)
    for (const { uuid } of rows(kept)) findings.add(`kept process ${String(uuid)}: no fork needs it`)
    for (const { hash: name, named, counted } of rows(wrongRefCounts))
      findings.add(`blobs hash ${String(name)}: it has ${String(named)} references, but its count is ${String(counted)}`)
  })
  attempt(findings, () => {
    const unowned = count(spent)
    if (unowned > 0) findings.add(`spent: ${unowned} rows belong to no process`)
  })
}

async function verifyTombstones(sql: Statements, findings: Findings): Promise<void> {
  for (let after = ''; !findings.isFull;) {
    const rows = attempt(findings, () => tombstonesAfter(sql, after)) ?? []
    for (const row of rows) attempt(findings, () => checkTombstone(row))
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.uuid
    await setImmediate()
  }
}

function tombstonesAfter(sql: Statements, after: string): readonly TombstoneRow[] {
  const rows = sql.tombstonesAfter.all(after, PAGE_ROWS) as unknown as TombstoneRow[]
  checkAscending(
    'tombstones',
    [after],
    rows.map(({ uuid }) => [uuid]),
  )
  return rows
}

async function verifyUsageRows({ sql }: IndexReadDeps, findings: Findings): Promise<void> {
  for (let after: UsageRowsQuery['after']; !findings.isFull;) {
    const query: UsageRowsQuery = after === undefined ? { limit: PAGE_ROWS } : { limit: PAGE_ROWS, after }
    const rows: readonly UsageRow[] = attempt(findings, () => readUsageRows(sql, query)) ?? []
    after = rows.at(-1)
    if (after === undefined) break
    await setImmediate()
  }
}

interface TableWalk<T extends { readonly key: number }> {
  readonly table: DamageLocation['table']
  /** reads the row with the next key after `after` */
  next(after: number): T | undefined
  verify(row: T): Promise<void>
}

/** Verifies row after row. The check of a row starts in the turn of the event loop in which the row was read. */
async function verifyEach<T extends { readonly key: number }>(findings: Findings, { table, next, verify }: TableWalk<T>): Promise<void> {
  for (let after = -1, rows = 1; !findings.isFull; rows++) {
    const row = attempt(findings, () => {
      const found = next(after)
      if (found) checkAscending(table, [after], [[found.key]])
      return found
    })
    if (row === undefined) return
    await verify(row)
    after = row.key
    if (rows % PAGE_ROWS === 0) await setImmediate()
  }
}

async function verifyProcess(deps: IndexReadDeps, row: ProcessRow, findings: Findings): Promise<void> {
  if (attempt(findings, () => checkRow(row)) === undefined) return
  attempt(findings, () => readProcess(deps.sql, row, createIntern()))
  await verifySpan(deps, () => deps.lineage.find(row.uuid), findings)
}

/** Verifies the facts of a removed process that are kept for forks. */
async function verifyKept(deps: IndexReadDeps, { key, uuid }: KeptRow, findings: Findings): Promise<void> {
  await verifySpan(
    deps,
    () => {
      const row = findKept(deps.sql, key)
      return row && { link: deps.lineage.linkOf(checkKept(row).key, { uuid, base: Infinity }), upto: row.upto, open: null }
    },
    findings,
  )
}

/**
 * Verifies the own facts of a process up to its current end. The facts of its origin are verified with the origin; here only their
 * number is checked. `find` locates the facts again for each page, and returns undefined once they are removed.
 */
async function verifySpan(deps: IndexReadDeps, find: () => FactSpan | undefined, findings: Findings): Promise<void> {
  const first = attempt(findings, find)
  if (first === undefined) return
  attempt(findings, () => checkOriginEnd(deps, first.link))
  let after = first.link.base
  for (
    let span: FactSpan | undefined = first;
    span !== undefined && after < Math.min(first.upto, span.upto) && !findings.isFull;
    span = attempt(findings, find)
  ) {
    after = readPage(deps, span, after, findings)
    await setImmediate()
  }
}

function checkOriginEnd({ sql, lineage }: IndexReadDeps, { uuid, base, origin }: LineageLink): void {
  if (origin === null) return
  const last = findKept(sql, origin.key)?.upto ?? lineage.positionOf(origin.uuid)?.seq ?? 0
  if (last < base) throw damageError({ table: 'processes', uuid }, `its origin ends with fact ${last}, before fact ${base}`)
}

/** Reads one page and returns the number of the fact after which to continue. Damage becomes a finding, and the walk continues after it. */
function readPage(deps: IndexReadDeps, span: FactSpan, after: number, findings: Findings): number {
  const {
    link: { uuid },
    upto,
  } = span
  try {
    return readFacts(deps, span, after, PAGE_ROWS).at(-1)?.seq ?? upto
  } catch (cause) {
    const error = storeError(cause, `journal process ${uuid} after seq ${after}`)
    findings.add(error.message)
    const { seq, table } = error.details ?? {}
    if (typeof seq !== 'number' || table === 'places') return upto
    return Math.max(seq, after + 1)
  }
}

interface BlobRow {
  readonly key: number
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}

async function verifyBlobs(sql: Statements, findings: Findings): Promise<void> {
  await verifyEach(findings, {
    table: 'blobs',
    next: (after) => sql.blobAfter.get(after) as unknown as BlobRow | undefined,
    async verify(row) {
      const name = Buffer.from(row.hash).toString('hex')
      if (hash('sha256', row.bytes) !== name) findings.add(damageError({ table: 'blobs', hash: name }, 'it is damaged').message)
      await setImmediate()
    },
  })
}

/** Runs a read. An error becomes a finding, and the result is then undefined. */
function attempt<T>(findings: Findings, read: () => T): T | undefined {
  try {
    return read()
  } catch (cause) {
    const error: KernelError = storeError(cause, 'database')
    findings.add(error.message)
    return undefined
  }
}
