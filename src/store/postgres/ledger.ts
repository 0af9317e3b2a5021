// The usage ledger on PostgreSQL. As on SQLite it lags behind the journal, counts each fact once, and outlives its processes.
// Tests: test/tables/store/rows/usage-ledger.test.ts, test/properties/usage-ledger.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { readFactRow } from '../journal/fact-row.ts'
import { rowSum } from '../rows/checksums.ts'
import { checkPageLimit } from '../rows/page-limit.ts'
import { checkAscending } from '../rows/page-order.ts'
import type { OwnedFactRow, SpenderRow, SpentColumns } from '../rows/row-types.ts'
import {
  UsageAccount,
  SPENDING_CODES,
  addHourSums,
  checkSpender,
  spentColumnsOf,
  emptyHourSums,
  hourSumsOf,
} from '../rows/usage-account.ts'
import type { HourSums } from '../rows/usage-account.ts'
import type { UsageRow, UsageRowsQuery } from '../store.ts'
import type { Reader } from './connection.ts'
import { FACT_COLUMNS, columnArrays, escapeText, unescapeOrNull, unnest } from './rows.ts'
import type { PostgresWriter } from './writer.ts'

/** The number of cursors per batch. */
const BATCH_CURSORS = 2_048

const SPENT_COLUMNS = 's.spender, s.hour, s.model, s.steps, s.input, s.output, s.cache_read, s.cache_write, s.usd, s.marks, s.sum'
const SPENT_TYPES = 'bigint,bigint,text,bigint,bigint,bigint,bigint,bigint,double precision,smallint,bigint'.split(',')
const SPENDER_TYPES = ['bigint', 'text', 'text', 'bigint', 'bigint', 'text', 'bigint']

/** Returns what the rows of some accounts add to a write. Their parameters begin with `$first`. */
type LedgerRows = (first: number) => { readonly statements: readonly string[]; readonly values: readonly unknown[] }

export class PostgresLedger {
  readonly #writer: PostgresWriter

  constructor(writer: PostgresWriter) {
    this.#writer = writer
  }

  /** Counts one batch of the journal. Returns false when nothing is left to count. The caller has the turn. */
  async catchUp(): Promise<boolean> {
    const { cursor: last } = this.#writer.counters
    const [shard] = await this.#writer.reader.read<{ spent: number }>('The usage ledger', {
      text: 'SELECT spent FROM reeve.shard WHERE id = 1',
    })
    const from = shard?.spent ?? 0
    if (from >= last) return false
    const upTo = Math.min(last, from + BATCH_CURSORS)
    const rows = await this.#writer.reader.read<OwnedFactRow>('The usage ledger', {
      name: 'spending',
      text: `SELECT ${FACT_COLUMNS}, p.uuid FROM reeve.fact f JOIN reeve.process p ON p.key = f.process
        WHERE f.cursor > $1 AND f.cursor <= $2 AND f.type = ANY($3::smallint[]) ORDER BY f.cursor`,
      values: [from, upTo, SPENDING_CODES],
    })
    const facts = rows.map((row) => readFactRow(null, row, row.uuid ?? ''))
    const accounts = await this.openAccounts([...new Set(facts.map(({ uuid }) => uuid))])
    for (const fact of facts) accounts.get(fact.uuid)?.count(fact)
    const { statements, values } = (await this.rowsOf([...accounts.values()]))(5)
    await this.#writer.fence.write('The usage ledger', { set: 'spent = $4', statements, values: [upTo, ...values] })
    return upTo < last
  }

  /** Opens the accounts of processes, new ones too. The caller has the turn. */
  async openAccounts(uuids: readonly Uuid[]): Promise<Map<Uuid, UsageAccount>> {
    const rows = await this.#readSpenders(uuids)
    return new Map(uuids.map((uuid) => [uuid, new UsageAccount(uuid, rows.get(uuid))]))
  }

  async #readSpenders(uuids: readonly Uuid[]): Promise<Map<Uuid, SpenderRow>> {
    if (uuids.length === 0) return new Map()
    const rows = await this.#writer.reader.read<SpenderRow>('The usage ledger', {
      text: 'SELECT id, uuid, agent, root, seq, state, sum FROM reeve.spender WHERE uuid = ANY($1)',
      values: [uuids],
    })
    return new Map(rows.map((row) => [row.uuid, checkSpender(spenderRowOf(row))]))
  }

  /** Returns the statements that write accounts. The caller has the turn. */
  async rowsOf(accounts: readonly UsageAccount[]): Promise<LedgerRows> {
    const [found] = await this.#writer.reader.read<{ id: number }>('The usage ledger', {
      text: 'SELECT coalesce(max(id), 0) AS id FROM reeve.spender',
    })
    let lastId = found?.id ?? 0
    const ids = new Map(accounts.map((account) => [account.uuid, account.id ?? ++lastId]))
    const parents = accounts.flatMap(({ root, parent }) => (root === null && parent !== null ? [parent] : []))
    const known = await this.#readSpenders(parents)
    const roots = new Map<Uuid, number>()
    const before = await this.#readSums(accounts.filter(({ id }) => id !== null))
    const spenders: (readonly unknown[])[] = []
    const spent: (readonly unknown[])[] = []
    for (const account of accounts) {
      const { uuid, agent, seq, parent } = account
      const id = ids.get(uuid) ?? 0
      // A parent is counted before its children. An imported process without a parent here is a root.
      const parentRoot = parent === null ? undefined : (roots.get(parent) ?? known.get(parent)?.root)
      const root = account.root ?? parentRoot ?? id
      roots.set(uuid, root)
      const state = JSON.stringify(account.state)
      spenders.push([id, uuid, escapeText(agent), root, seq, state, rowSum([id, uuid, agent, root, seq, state])])
      for (const added of account.added.values()) {
        const columns = spentColumnsOf(id, addHourSums(before.get(keyOf(id, added)) ?? emptyHourSums(added.hour, added.model), added))
        spent.push([...columns.map((value, index) => (index === MODEL_COLUMN ? escapeText(String(value)) : value)), rowSum(columns)])
      }
    }
    const values = [...columnArrays(spenders, SPENDER_TYPES.length), ...columnArrays(spent, SPENT_TYPES.length)]
    return (first) => ({ statements: putLedgerRows(first), values })
  }

  /** Reads the sums that some accounts will change. */
  async #readSums(accounts: readonly UsageAccount[]): Promise<Map<string, HourSums>> {
    const keys = accounts.flatMap(({ id, added }) => [...added.values()].map(({ hour, model }) => [id, hour, escapeText(model)]))
    if (keys.length === 0) return new Map()
    const rows = await this.#writer.reader.read<SpentColumns>('The usage ledger', {
      text: `SELECT ${SPENT_COLUMNS} FROM reeve.spent s JOIN ${unnest(1, ['bigint', 'bigint', 'text'])} AS u(spender, hour, model)
        ON s.spender = u.spender AND s.hour = u.hour AND s.model = u.model`,
      values: columnArrays(keys, 3),
    })
    return new Map(rows.map((row) => [keyOf(row.spender, row), hourSumsOf(spentRowOf(row))]))
  }
}

const MODEL_COLUMN = 2

function putLedgerRows(first: number): readonly string[] {
  return [
    `INSERT INTO reeve.spender SELECT u.* FROM f, ${unnest(first, SPENDER_TYPES)} AS u
      ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, root = excluded.root, seq = excluded.seq, state = excluded.state,
        sum = excluded.sum`,
    `INSERT INTO reeve.spent SELECT u.* FROM f, ${unnest(first + SPENDER_TYPES.length, SPENT_TYPES)} AS u
      ON CONFLICT (spender, hour, model) DO UPDATE SET steps = excluded.steps, input = excluded.input, output = excluded.output,
        cache_read = excluded.cache_read, cache_write = excluded.cache_write, usd = excluded.usd, marks = excluded.marks,
        sum = excluded.sum`,
  ]
}

function keyOf(spender: number, { hour, model }: Pick<HourSums, 'hour' | 'model'>): string {
  return JSON.stringify([spender, hour, model])
}

export function spenderRowOf(row: SpenderRow): SpenderRow {
  return { ...row, agent: unescapeOrNull(row.agent) ?? '' }
}

function spentRowOf(row: SpentColumns): SpentColumns {
  return { ...row, model: unescapeOrNull(row.model) ?? '' }
}

/** Counts the usage of a journal that is being imported. The ledger gets the usage together with the process. */
export class StagedUsage {
  readonly #ledger: PostgresLedger
  readonly #accounts = new Map<Uuid, UsageAccount>()

  constructor(ledger: PostgresLedger) {
    this.#ledger = ledger
  }

  /** The caller has the turn. */
  async count(facts: readonly StoredFact[]): Promise<void> {
    const unknown = [...new Set(facts.map(({ uuid }) => uuid))].filter((uuid) => !this.#accounts.has(uuid))
    for (const [uuid, account] of await this.#ledger.openAccounts(unknown)) this.#accounts.set(uuid, account)
    for (const fact of facts) this.#accounts.get(fact.uuid)?.count(fact)
  }

  /** Returns the statements that write the usage of a process up to its last fact `seq`. Later facts are counted by the ledger. */
  async rowsOf(uuid: Uuid, seq: number): Promise<LedgerRows> {
    const account = this.#accounts.get(uuid)
    if (account === undefined) return () => ({ statements: [], values: [] })
    account.seq = seq
    return this.#ledger.rowsOf([account])
  }
}

/** Reads a page of the ledger, in the order of its keys. */
export async function readUsageRows(
  reader: Reader,
  { limit, after, sinceHour = Number.MIN_SAFE_INTEGER }: UsageRowsQuery,
): Promise<UsageRow[]> {
  checkPageLimit(limit)
  const from = after === undefined ? ([-1, 0, ''] as const) : ([after.spender, after.hour, escapeText(after.model)] as const)
  const rows = await reader.read<SpentColumns & { readonly uuid: string; readonly agent: string; readonly root_uuid: string }>(
    'The usage ledger',
    {
      text: `SELECT ${SPENT_COLUMNS}, o.uuid, o.agent, r.uuid AS root_uuid FROM reeve.spent s
        JOIN reeve.spender o ON o.id = s.spender JOIN reeve.spender r ON r.id = o.root
        WHERE (s.spender, s.hour, s.model) > ($1, $2, $3) AND s.hour >= $4 ORDER BY s.spender, s.hour, s.model LIMIT $5`,
      values: [...from, sinceHour, limit],
    },
  )
  checkAscending(
    'spent',
    from,
    rows.map((row) => [row.spender, row.hour, row.model]),
  )
  return rows.map((row) => ({
    ...hourSumsOf(spentRowOf(row)),
    uuid: row.uuid,
    agent: unescapeOrNull(row.agent) ?? '',
    root: row.root_uuid,
  }))
}

/** Counts ledger rows whose process is unknown. */
export async function countUnownedUsage(reader: Reader): Promise<number> {
  const [row] = await reader.read<{ n: number }>('The usage ledger', {
    text: `SELECT count(*) AS n FROM reeve.spent s WHERE NOT EXISTS (
      SELECT 1 FROM reeve.spender o JOIN reeve.spender r ON r.id = o.root WHERE o.id = s.spender)`,
  })
  return row?.n ?? 0
}
