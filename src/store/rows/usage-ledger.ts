// The usage ledger: usage by process, hour and model. It outlives its processes. The ledger lags behind the journal: it is
// updated in batches, before it is read and before a process is removed. A commit never waits for it. Guarantees that each fact
// is counted once, even across crashes and imports: it stores the number of the last counted fact of each process.
// Tests: test/tables/store/rows/usage-ledger.test.ts, test/properties/usage-ledger.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { StoredFact } from '../../kernel/model/facts.ts'
import { readBrief } from '../journal/journal.ts'
import { metaValue } from '../schema.ts'
import type { OwnedFactRow, SpenderRow, SpentColumns } from './row-types.ts'
import type { Statements } from '../statements.ts'
import type { UsageRowsQuery, UsageRow } from '../store.ts'
import { rowSum } from './checksums.ts'
import { UsageAccount, SPENDING_CODES, addHourSums, checkSpender, spentColumnsOf, emptyHourSums, hourSumsOf } from './usage-account.ts'
import type { HourSums } from './usage-account.ts'
import { checkPageLimit } from './page-limit.ts'
import { checkAscending } from './page-order.ts'
import { inTransaction } from '../write/transaction.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of cursors per batch. A batch takes some 30 ms, most of which is the time to read the answers of models. */
const BATCH_CURSORS = 512
const SPENDING_CODES_JSON = JSON.stringify(SPENDING_CODES)

/** Counts the usage of a journal that is being imported. The ledger gets the usage together with the process. */
export class ImportedUsage {
  readonly #ledger: UsageLedger
  readonly #accounts = new Map<Uuid, UsageAccount>()

  constructor(ledger: UsageLedger) {
    this.#ledger = ledger
  }

  count(fact: StoredFact): void {
    const account = this.#accounts.get(fact.uuid) ?? this.#ledger.openAccount(fact.uuid)
    this.#accounts.set(fact.uuid, account)
    account.count(fact)
  }

  /**
   * Writes the usage, within the transaction that publishes the process. `seq` is the number of the process's last fact; later facts
   * are counted by the ledger.
   */
  publish(uuid: Uuid, seq: number): void {
    const account = this.#accounts.get(uuid)
    if (account === undefined) return
    account.seq = seq
    this.#ledger.write(account)
  }
}

export class UsageLedger {
  readonly #db: DatabaseSync
  readonly #sql: Statements

  constructor(db: DatabaseSync, sql: Statements) {
    this.#db = db
    this.#sql = sql
  }

  /** Counts one batch of the journal, up to the cursor `last`. Returns false when nothing is left to count. */
  catchUp(last: number): boolean {
    const from = metaValue('spent', this.#sql.counter.get('spent'))
    if (from >= last) return false
    const lastCursor = Math.min(last, from + BATCH_CURSORS)
    const facts = (this.#sql.spending.all(from, lastCursor, SPENDING_CODES_JSON) as unknown as OwnedFactRow[]).map(readBrief)
    const accounts = new Map<Uuid, UsageAccount>()
    for (const fact of facts) {
      const account = accounts.get(fact.uuid) ?? this.openAccount(fact.uuid)
      accounts.set(fact.uuid, account)
      account.count(fact)
    }
    inTransaction(this.#db, this.#sql, () => {
      for (const account of accounts.values()) this.write(account)
      this.#sql.raise.run(lastCursor, -lastCursor, 'spent', lastCursor)
    })
    return lastCursor < last
  }

  openAccount(uuid: Uuid): UsageAccount {
    const row = this.#sql.spender.get(uuid) as SpenderRow | undefined
    return new UsageAccount(uuid, row === undefined ? undefined : checkSpender(row))
  }

  /** Writes an account. The caller has opened a transaction. */
  write(account: UsageAccount): void {
    const id = account.id ?? Number(this.#sql.lastSpender.get()?.['id'] ?? 0) + 1
    const { uuid, agent, seq, added } = account
    // A parent is in the ledger before its children. An imported process without a parent here is a root.
    const root = account.root ?? this.#rootOf(account.parent) ?? id
    const state = JSON.stringify(account.state)
    this.#sql.setSpender.run(id, uuid, agent, root, seq, state, rowSum([id, uuid, agent, root, seq, state]))
    for (const sums of added.values()) this.#add(id, sums)
  }

  #rootOf(parent: Uuid | null): number | null {
    const row = parent === null ? undefined : (this.#sql.spender.get(parent) as SpenderRow | undefined)
    return row === undefined ? null : checkSpender(row).root
  }

  #add(id: number, added: HourSums): void {
    const found = this.#sql.spentAt.get(id, added.hour, added.model) as unknown as SpentColumns | undefined
    const sums = addHourSums(found === undefined ? emptyHourSums(added.hour, added.model) : hourSumsOf(found), added)
    const columns = spentColumnsOf(id, sums)
    this.#sql.setSpent.run(...columns, rowSum(columns))
  }
}

/** Reads a page of the ledger, in the order of its keys. */
export function readUsageRows(sql: Statements, { limit, after, sinceHour = Number.MIN_SAFE_INTEGER }: UsageRowsQuery): UsageRow[] {
  checkPageLimit(limit)
  const { spender, hour, model } = after ?? { spender: -1, hour: 0, model: '' }
  const rows = sql.spentAfter.all(spender, hour, model, sinceHour, limit) as unknown as (SpentColumns & {
    readonly uuid: string
    readonly agent: string
    readonly root_uuid: string
  })[]
  const usageRows = rows.map((row) => ({ ...hourSumsOf(row), uuid: row.uuid, agent: row.agent, root: row.root_uuid }))
  checkAscending(
    'spent',
    [spender, hour, model],
    rows.map((row) => [row.spender, row.hour, row.model]),
  )
  return usageRows
}
