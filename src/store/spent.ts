// The table of what was used: by process, hour and model, and kept when the process goes. It is behind the journal, and is
// caught up in pieces when somebody asks, and before anything is removed: nothing of it is on the way of a commit.
// Owns that each fact counts once, whatever crashes and whatever is imported: a process's facts count by their numbers.
// Tests: test/tables/store-spent.test.ts, test/properties/usage.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { StoredFact } from '../kernel/facts.ts'
import { NO_SPENDING, SPENDING_FACTS, spend } from '../kernel/spending.ts'
import type { Spending, SpendingState } from '../kernel/spending.ts'
import type { Uuid } from '../kernel/types.ts'
import { codeOf } from './codes.ts'
import { damaged } from './errors.ts'
import { checkLimit, readBrief } from './journal.ts'
import { metaValue } from './schema.ts'
import type { OwnedFactRow, SpenderRow, SpentColumns, Statements } from './statements.ts'
import type { SpentPage, SpentRow } from './store.ts'
import { rowSum } from './sums.ts'
import { transact } from './transact.ts'

/** Cursors that one piece goes over: some 30 ms, most of it for reading what the models said. */
const PIECE_CURSORS = 512
const HOUR_MS = 3_600_000
const CODES = JSON.stringify(SPENDING_FACTS.map(codeOf))

type Sums = { -readonly [K in keyof Omit<SpentRow, 'uuid' | 'agent' | 'root'>]: SpentRow[K] }

/** What is counted of one process, and what is to be added to that. */
class Account {
  readonly uuid: Uuid
  readonly id: number | null
  agent: string
  root: number | null
  parent: Uuid | null = null
  /** its facts up to this number are counted */
  seq: number
  state: SpendingState
  readonly added = new Map<string, Sums>()

  constructor(uuid: Uuid, row: SpenderRow | undefined) {
    this.uuid = uuid
    this.id = row?.id ?? null
    this.agent = row?.agent ?? ''
    this.root = row?.root ?? null
    this.seq = row?.seq ?? 0
    this.state = row === undefined ? NO_SPENDING : JSON.parse(row.state) as SpendingState
  }

  /** Facts that are counted already say again what the state is, and add nothing. */
  take({ seq, at, body }: StoredFact): void {
    if (body.type === 'process.spawned' || body.type === 'process.forked') {
      this.agent = body.spec.agent
      this.parent = body.parentUuid
    }
    const { state, spending } = spend(this.state, body)
    this.state = state
    if (seq <= this.seq) return
    this.seq = seq
    if (spending !== null) this.#add(Math.floor(at / HOUR_MS), spending)
  }

  #add(hour: number, { model, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, estimated = false }: Spending): void {
    const key = JSON.stringify([hour, model])
    const sums = this.added.get(key) ?? emptySums(hour, model)
    sums.steps += steps
    sums.inputTokens += inputTokens
    sums.outputTokens += outputTokens
    sums.cacheReadTokens += cacheReadTokens
    sums.cacheWriteTokens += cacheWriteTokens
    sums.costUsd += costUsd ?? 0
    sums.unpriced ||= costUsd === null
    sums.estimated ||= estimated
    this.added.set(key, sums)
  }
}

/** What was used by a journal on its way in: counted while it comes, and written with its process. */
export class Intake {
  readonly #spent: Spent
  readonly #accounts = new Map<Uuid, Account>()

  constructor(spent: Spent) {
    this.#spent = spent
  }

  take(fact: StoredFact): void {
    const account = this.#accounts.get(fact.uuid) ?? this.#spent.account(fact.uuid)
    this.#accounts.set(fact.uuid, account)
    account.take(fact)
  }

  /** Within the transaction that makes the process appear. What it does from here on has numbers after its last fact. */
  publish(uuid: Uuid, seq: number): void {
    const account = this.#accounts.get(uuid)
    if (account === undefined) return
    account.seq = seq
    this.#spent.write(account)
  }
}

export class Spent {
  readonly #db: DatabaseSync
  readonly #sql: Statements

  constructor(db: DatabaseSync, sql: Statements) {
    this.#db = db
    this.#sql = sql
  }

  /** Takes in one piece of the journal, up to the cursor `last`; false when there is nothing left. */
  catchUp(last: number): boolean {
    const from = metaValue('spent', this.#sql.counter.get('spent'))
    if (from >= last) return false
    const upto = Math.min(last, from + PIECE_CURSORS)
    const facts = (this.#sql.spending.all(from, upto, CODES) as unknown as OwnedFactRow[]).map(readBrief)
    const accounts = new Map<Uuid, Account>()
    for (const fact of facts) {
      const account = accounts.get(fact.uuid) ?? this.account(fact.uuid)
      accounts.set(fact.uuid, account)
      account.take(fact)
    }
    transact(this.#db, this.#sql, () => {
      for (const account of accounts.values()) this.write(account)
      this.#sql.raise.run(upto, -upto, 'spent', upto)
    })
    return upto < last
  }

  account(uuid: Uuid): Account {
    const row = this.#sql.spender.get(uuid) as SpenderRow | undefined
    return new Account(uuid, row === undefined ? undefined : checkSpender(row))
  }

  /** Within a transaction. */
  write(account: Account): void {
    const id = account.id ?? Number(this.#sql.lastSpender.get()?.['id'] ?? 0) + 1
    const { uuid, agent, seq, added } = account
    // Whoever spawned it was there before it, unless it came from elsewhere: then it is a root here.
    const root = account.root ?? this.#rootOf(account.parent) ?? id
    const state = JSON.stringify(account.state)
    this.#sql.setSpender.run(id, uuid, agent, root, seq, state, rowSum([id, uuid, agent, root, seq, state]))
    for (const sums of added.values()) this.#add(id, sums)
  }

  #rootOf(parent: Uuid | null): number | null {
    const row = parent === null ? undefined : this.#sql.spender.get(parent) as SpenderRow | undefined
    return row === undefined ? null : checkSpender(row).root
  }

  #add(id: number, added: Sums): void {
    const found = this.#sql.spentAt.get(id, added.hour, added.model) as unknown as SpentColumns | undefined
    const before = found === undefined ? emptySums(added.hour, added.model) : sumsOf(found)
    const sums: Sums = {
      spender: id, hour: added.hour, model: added.model, steps: before.steps + added.steps,
      inputTokens: before.inputTokens + added.inputTokens, outputTokens: before.outputTokens + added.outputTokens,
      cacheReadTokens: before.cacheReadTokens + added.cacheReadTokens, cacheWriteTokens: before.cacheWriteTokens + added.cacheWriteTokens,
      costUsd: before.costUsd + added.costUsd, unpriced: before.unpriced || added.unpriced, estimated: before.estimated || added.estimated,
    }
    const columns = columnsOf(id, sums)
    this.#sql.setSpent.run(...columns, rowSum(columns))
  }
}

/** A page of the table, in its order. */
export function readSpent(sql: Statements, { limit, after, sinceHour = Number.MIN_SAFE_INTEGER }: SpentPage): SpentRow[] {
  checkLimit(limit)
  const { spender, hour, model } = after ?? { spender: -1, hour: 0, model: '' }
  const rows = sql.spentAfter.all(spender, hour, model, sinceHour, limit) as unknown as (SpentColumns & { readonly uuid: string; readonly agent: string; readonly root_uuid: string })[]
  return rows.map((row) => ({ ...sumsOf(row), uuid: row.uuid, agent: row.agent, root: row.root_uuid }))
}

function emptySums(hour: number, model: string): Sums {
  return { spender: 0, hour, model, steps: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpriced: false, estimated: false }
}

function columnsOf(id: number, { hour, model, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, unpriced, estimated }: Sums) {
  return [id, hour, model, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, (unpriced ? 1 : 0) + (estimated ? 2 : 0)] as const
}

function sumsOf(row: SpentColumns): Sums {
  const { spender, hour, model, steps, input, output, cache_read, cache_write, usd, marks, sum } = row
  if (rowSum([spender, hour, model, steps, input, output, cache_read, cache_write, usd, marks]) !== sum) throw damaged({ table: 'spent' }, `the row ${spender} ${hour} ${model} is not what was written`)
  return {
    spender, hour, model, steps, inputTokens: input, outputTokens: output, cacheReadTokens: cache_read, cacheWriteTokens: cache_write,
    costUsd: usd, unpriced: (marks & 1) !== 0, estimated: (marks & 2) !== 0,
  }
}

export function checkSpender(row: SpenderRow): SpenderRow {
  const { id, uuid, agent, root, seq, state, sum } = row
  if (rowSum([id, uuid, agent, root, seq, state]) === sum) return row
  throw damaged({ table: 'spenders', uuid }, 'the row is not what was written')
}
