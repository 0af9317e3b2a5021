// Reports the usage of all processes by agent, model, day or tree, from the usage ledger of the store. The ledger is updated first.
// Owns the grouping, the order and the limit of rows. Yields to the event loop between two pages.
// Test: test/e2e/limits/usage.test.ts.
import { knownCost } from '../../api/known-cost.ts'
import { setImmediate } from 'node:timers/promises'
import { isoTime } from './format-times.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../../api/views/usage.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { SpentRow, Store } from '../../store/store.ts'
import type { Home } from '../../kernel/model/usage-totals.ts'
import type { HomeBudgetName } from '../../kernel/model/words.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const HOUR_MS = 3_600_000
const PAGE = 500
const MAX_ROWS = 1_000

export interface UsageQuery {
  readonly by: UsageBy
  /** counts usage from this time on, rounded down to the hour; wall ms */
  readonly since?: number | undefined
}

export interface UsageDeps {
  readonly store: Pick<Store, 'updateUsageLedger' | 'usageRows' | 'countUnownedUsage' | 'tombstone'>
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined> }
  readonly table: { readonly home: Home }
}

/** Returns the usage of all processes, removed ones included. */
export async function usageReport({ store, reads, table }: UsageDeps, { by, since }: UsageQuery): Promise<UsageReportView> {
  await updateLedger(store)
  const sinceHour = since === undefined ? undefined : Math.floor(since / HOUR_MS)
  const total = new Group()
  const groups = new Map<string, Group>()
  for await (const row of ledgerRows(store, sinceHour)) {
    const key = groupKeyOf(row, by)
    const group = groups.get(key) ?? new Group()
    groups.set(key, group)
    total.add(row)
    group.add(row)
  }
  const keys = sortedKeys(groups, by)
  const rows = await Promise.all(
    keys.slice(0, MAX_ROWS).map(async (key): Promise<UsageRowView> => {
      const group = groups.get(key) ?? new Group()
      return { key, root: by === 'tree' ? await rootOf(key, group.agent, { store, reads }) : null, ...group.sum() }
    }),
  )
  return {
    version: 1,
    by,
    since: sinceHour === undefined ? null : isoTime(sinceHour * HOUR_MS),
    rows,
    more: keys.length - rows.length,
    unread: await store.countUnownedUsage(),
    total: total.sum(),
    home: { day: periodView(table.home, 'dailyUsd'), month: periodView(table.home, 'monthlyUsd') },
  }
}

function periodView({ book, budgets, ends }: Home, name: HomeBudgetName): UsageReportView['home']['day'] {
  return { costUsd: book[name].nanoUsd / 1e9, budgetUsd: budgets[name] ?? null, endsAt: isoTime(ends[name]) }
}

/** Updates the ledger, piece by piece. Resolves when it includes all usage. */
export async function updateLedger(store: Pick<Store, 'updateUsageLedger'>): Promise<void> {
  while (await store.updateUsageLedger()) await setImmediate()
}

async function* ledgerRows(store: Pick<Store, 'usageRows'>, sinceHour: number | undefined): AsyncGenerator<SpentRow> {
  for (let after: SpentRow | undefined; ;) {
    const page: readonly SpentRow[] = await store.usageRows({
      limit: PAGE,
      ...(after ? { after } : {}),
      ...(sinceHour === undefined ? {} : { sinceHour }),
    })
    yield* page
    after = page.at(-1)
    if (page.length < PAGE) return
    await setImmediate()
  }
}

/** The group that a row of the ledger belongs to. */
function groupKeyOf({ agent, model, hour, root }: SpentRow, by: UsageBy): string {
  switch (by) {
    case 'agent':
      return agent
    case 'model':
      return model
    case 'tree':
      return root
    case 'day':
      return dayOf(hour)
  }
}

/** Returns the day of an hour, which is counted from the epoch. The day is that of the daemon's time zone. */
function dayOf(hour: number): string {
  const at = new Date(hour * HOUR_MS)
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}

/** Sorts days by date, all other groups by cost and then tokens, largest first. */
function sortedKeys(groups: ReadonlyMap<string, Group>, by: UsageBy): string[] {
  const keys = [...groups.keys()].toSorted()
  if (by === 'day') return keys
  const sortKey = (key: string): readonly [number, number] => groups.get(key)?.sortKey() ?? [0, 0]
  return keys.toSorted((a, b) => sortKey(b)[0] - sortKey(a)[0] || sortKey(b)[1] - sortKey(a)[1])
}

/** Describes the root process of a tree; `agent` is used if the process was removed. */
async function rootOf(uuid: Uuid, agent: string, { store, reads }: Pick<UsageDeps, 'store' | 'reads'>): Promise<UsageRowView['root']> {
  const process = await reads.find(uuid)
  if (process) return { uuid, pid: process.pid, name: process.spec.name, agent: process.spec.agent, removed: false }
  const { pid = null, name = null } = (await store.tombstone(uuid)) ?? {}
  return { uuid, pid, name, agent, removed: true }
}

/** The sum of some rows of the ledger. */
class Group {
  /** the agent of the first row */
  agent = ''
  readonly #processes = new Set<Uuid>()
  readonly #sum = {
    steps: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: 0,
    unpriced: false,
    estimated: false,
  }

  add(row: SpentRow): void {
    // The first row of a tree belongs to its root.
    this.agent ||= row.agent
    this.#processes.add(row.uuid)
    const sum = this.#sum
    for (const name of ['steps', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const)
      sum[name] += row[name]
    sum.unpriced ||= row.unpriced
    sum.estimated ||= row.estimated
  }

  sum(): UsageSumView {
    return { processes: this.#processes.size, ...this.#sum, costUsd: knownCost(this.#sum) }
  }

  /** The sort key: USD, then tokens. */
  sortKey(): readonly [usd: number, tokens: number] {
    const { costUsd, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = this.#sum
    return [costUsd, inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens]
  }
}
