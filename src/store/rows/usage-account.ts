// The usage of one process in the usage ledger: what its facts add, and the rows of the tables `spent` and `spenders`. Reads and writes no
// database, so that each engine of the store can use it.
// Tests: test/tables/store/rows/usage-ledger.test.ts, test/properties/usage-ledger.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import { INITIAL_SPENDING_STATE, SPENDING_FACTS, foldSpending } from '../../kernel/state/usage-by-model.ts'
import type { Spending, SpendingState } from '../../kernel/state/usage-by-model.ts'
import { codeOf } from '../journal/fact-codec.ts'
import { damageError } from '../errors.ts'
import type { UsageRow } from '../store.ts'
import type { SpenderRow, SpentColumns } from './row-types.ts'
import { rowSum } from './checksums.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const HOUR_MS = 3_600_000

/** The numbers of the fact types that the ledger reads. */
export const SPENDING_CODES: readonly number[] = SPENDING_FACTS.map((type) => codeOf(type) ?? 0)

/** The usage of one process in one hour by one model. */
export type HourSums = { -readonly [K in keyof Omit<UsageRow, 'uuid' | 'agent' | 'root'>]: UsageRow[K] }

/** The usage of one process: what the ledger has counted already, and what must be added. */
export class UsageAccount {
  readonly uuid: Uuid
  /** its number in the ledger; null: not there yet */
  readonly id: number | null
  agent: string
  root: number | null
  parent: Uuid | null = null
  /** the number of the last fact that is counted */
  seq: number
  state: SpendingState
  /** what must be added, by hour and model */
  readonly added = new Map<string, HourSums>()

  constructor(uuid: Uuid, row: SpenderRow | undefined) {
    this.uuid = uuid
    this.id = row?.id ?? null
    this.agent = row?.agent ?? ''
    this.root = row?.root ?? null
    this.seq = row?.seq ?? 0
    this.state = row === undefined ? INITIAL_SPENDING_STATE : (JSON.parse(row.state) as SpendingState)
  }

  /** Counts a fact. A fact that was counted already only rebuilds the state. */
  count({ seq, at, body }: StoredFact): void {
    if (body.type === 'process.spawned' || body.type === 'process.forked') {
      this.agent = body.spec.agent
      this.parent = body.parentUuid
    }
    const { state, spending } = foldSpending(this.state, body)
    this.state = state
    if (seq <= this.seq) return
    this.seq = seq
    if (spending !== null) this.#add(Math.floor(at / HOUR_MS), spending)
  }

  #add(
    hour: number,
    { model, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, estimated = false }: Spending,
  ): void {
    const key = JSON.stringify([hour, model])
    const sums = this.added.get(key) ?? emptyHourSums(hour, model)
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

export function emptyHourSums(hour: number, model: string): HourSums {
  return {
    spender: 0,
    hour,
    model,
    steps: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: 0,
    unpriced: false,
    estimated: false,
  }
}

/** Adds usage of the same hour and model. */
export function addHourSums(before: HourSums, added: HourSums): HourSums {
  return {
    spender: before.spender,
    hour: added.hour,
    model: added.model,
    steps: before.steps + added.steps,
    inputTokens: before.inputTokens + added.inputTokens,
    outputTokens: before.outputTokens + added.outputTokens,
    cacheReadTokens: before.cacheReadTokens + added.cacheReadTokens,
    cacheWriteTokens: before.cacheWriteTokens + added.cacheWriteTokens,
    costUsd: before.costUsd + added.costUsd,
    unpriced: before.unpriced || added.unpriced,
    estimated: before.estimated || added.estimated,
  }
}

/** Returns the columns of a row of `spent`, without its checksum. */
export function spentColumnsOf(
  id: number,
  { hour, model, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, unpriced, estimated }: HourSums,
) {
  return [
    id,
    hour,
    model,
    steps,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costUsd,
    (unpriced ? 1 : 0) + (estimated ? 2 : 0),
  ] as const
}

/** Returns the sums of a row of `spent`. Errors: `STORE_DAMAGED`. */
export function hourSumsOf(row: SpentColumns): HourSums {
  const { spender, hour, model, steps, input, output, cache_read, cache_write, usd, marks, sum } = row
  if (rowSum([spender, hour, model, steps, input, output, cache_read, cache_write, usd, marks]) !== sum)
    throw damageError({ table: 'spent' }, `the row ${spender} ${hour} ${model} is damaged`)
  return {
    spender,
    hour,
    model,
    steps,
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cache_read,
    cacheWriteTokens: cache_write,
    costUsd: usd,
    unpriced: (marks & 1) !== 0,
    estimated: (marks & 2) !== 0,
  }
}

/** Returns the row. Errors: `STORE_DAMAGED` if its checksum is wrong. */
export function checkSpender(row: SpenderRow): SpenderRow {
  const { id, uuid, agent, root, seq, state, sum } = row
  if (rowSum([id, uuid, agent, root, seq, state]) === sum) return row
  throw damageError({ table: 'spenders', uuid }, 'the row is damaged')
}
