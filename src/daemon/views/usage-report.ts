// Reports the usage of all processes by agent, model, time, tree, process, project or label, from the usage ledger of the store. Updates
// the ledger first, and yields to the event loop between two pages. Also makes the view of the present spending rate.
// Tests: test/tables/daemon/views/usage-rate.test.ts, test/e2e/limits/usage.test.ts.
import { lookUp } from '../../kernel/util/lookup.ts'
import { knownCost } from '../../api/known-cost.ts'
import { setImmediate } from 'node:timers/promises'
import { readTree } from './descendants.ts'
import { isoTime } from './format-times.ts'
import { startDirectory } from './process-view.ts'
import type { UsageBy, UsageRateView, UsageReportView, UsageRowView, UsageSumView } from '../../api/views/usage.ts'
import type { Clock } from '../loop/clock.ts'
import type { SpendingRate } from './spending-rate.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { UsageRow, Store } from '../../store/store.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Home, HomeBudgets } from '../../kernel/model/home.ts'
import type { HomeBudgetName } from '../../kernel/model/words.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const PAGE_ROWS = 500
const MAX_ROWS = 1_000

export interface UsageQuery {
  /** one group or two: a row for each pair */
  readonly by: readonly [UsageBy, UsageBy?]
  /** the key of the label that the group `label` is about */
  readonly label?: string | undefined
  /** counts only processes with this label: `KEY=VALUE`, or `KEY` with any value */
  readonly labelled?: string | undefined
  /** counts usage from this time on, rounded down to the hour; wall ms */
  readonly since?: number | undefined
  /** counts usage before this time, rounded up to the hour; wall ms */
  readonly until?: number | undefined
  /** counts only this process and all below it */
  readonly under?: string | undefined
}

export interface UsageDeps {
  readonly store: Pick<Store, 'updateUsageLedger' | 'usageRows' | 'countUnownedUsage' | 'tombstone' | 'tail'>
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined>; resolve(ref: string): Promise<Process> }
  readonly slices: SliceQueue
  readonly table: { readonly home: Home }
  readonly readBudgets: () => Promise<HomeBudgets>
}

/** Returns the usage of all processes, or of a tree, removed processes included. */
export async function usageReport(
  deps: UsageDeps,
  { by: keys, label, labelled, since, until, under }: UsageQuery,
): Promise<UsageReportView> {
  const { store, table, reads } = deps
  const [by, split = null] = keys
  const top = under === undefined ? null : await reads.resolve(under)
  const below = top && (await readTree(deps, top)).uuids
  await updateLedger(store)
  const [sinceHour, untilHour] = [since && Math.floor(since / HOUR_MS), until && Math.ceil(until / HOUR_MS)]
  const total = new Group()
  const groups = new Map<string, Group>()
  const needsOwner = labelled !== undefined || keys.some((name) => name === 'project' || name === 'label')
  const ownerOf = needsOwner ? ownerReader(reads, { label, labelled }) : () => NO_OWNER
  for await (const row of ledgerRows(store, sinceHour)) {
    if (untilHour !== undefined && row.hour >= untilHour) continue
    // For a root, the removed descendants are known as well.
    if (below && !below.has(row.uuid) && row.root !== top?.uuid) continue
    const owner = await ownerOf(row.uuid)
    if (!owner.isWanted) continue
    const key = JSON.stringify(keys.map((name) => name && keyOf(row, name, owner)))
    const group = groups.get(key) ?? new Group()
    groups.set(key, group)
    total.add(row)
    group.add(row)
  }
  const sorted = sortedKeys(groups, keys)
  const rows = await Promise.all(
    sorted.slice(0, MAX_ROWS).map(async (text): Promise<UsageRowView> => {
      const [key = '', part = null] = JSON.parse(text) as [string, string?]
      const group = groups.get(text) ?? new Group()
      const processKey = by === 'tree' || by === 'process' ? key : split === 'tree' || split === 'process' ? part : null
      return { key, part, root: processKey === null ? null : await rootOf(processKey, group.agent, deps), ...group.sum() }
    }),
  )
  const home = { ...table.home, budgets: await deps.readBudgets() }
  return {
    version: 1,
    by,
    split,
    label: label ?? null,
    since: sinceHour === undefined ? null : isoTime(sinceHour * HOUR_MS),
    until: untilHour === undefined ? null : isoTime(untilHour * HOUR_MS),
    under: top && { uuid: top.uuid, pid: top.pid, name: top.spec.name },
    rows,
    more: sorted.length - rows.length,
    unread: await store.countUnownedUsage(),
    total: total.sum(),
    home: { day: periodView(home, 'dailyUsd'), month: periodView(home, 'monthlyUsd') },
  }
}

export interface UsageRateDeps extends Pick<UsageDeps, 'reads' | 'table'> {
  readonly store: Pick<Store, 'tombstone'>
  readonly rate: Pick<SpendingRate, 'total' | 'totalByMinute' | 'trees'>
  readonly clock: Clock
  /** wall time of the start of the daemon, in ms */
  readonly startedAt: number
}

/** Returns what is spent per minute now, by tree; the tree that spent most in the last hour comes first. */
export async function usageRateView({ rate, store, reads, table, clock, startedAt }: UsageRateDeps): Promise<UsageRateView> {
  const trees = await Promise.all(
    rate.trees().map(async ([root, rates, usdByMinute]) => ({
      root: await rootOf(root, '', { store, reads }),
      rates: [...rates],
      usdByMinute: [...usdByMinute],
    })),
  )
  const lastHour = ({ rates }: (typeof trees)[number]): number => rates.at(-1)?.costUsd ?? 0
  const total = [...rate.total()]
  const project = (name: HomeBudgetName): number => projectedUsd(table.home, name, total.at(-1)?.costUsd ?? 0, clock.now().wall)
  return {
    version: 1,
    since: isoTime(startedAt),
    total,
    usdByMinute: [...rate.totalByMinute()],
    projectedUsd: { day: project('dailyUsd'), month: project('monthlyUsd') },
    trees: trees.toSorted((a, b) => lastHour(b) - lastHour(a)),
  }
}

/** What a period of the home will have cost at its end. `now`: wall ms. */
function projectedUsd({ book, ends }: Home, name: HomeBudgetName, usdPerMinute: number, now: number): number {
  return book[name].nanoUsd / 1e9 + (usdPerMinute * Math.max(0, ends[name] - now)) / MINUTE_MS
}

function periodView({ book, budgets, ends }: Home, name: HomeBudgetName): UsageReportView['home']['day'] {
  return { costUsd: book[name].nanoUsd / 1e9, budgetUsd: budgets[name] ?? null, endsAt: isoTime(ends[name]) }
}

/** Updates the ledger, piece by piece. Resolves when it includes all usage. */
export async function updateLedger(store: Pick<Store, 'updateUsageLedger'>): Promise<void> {
  while (await store.updateUsageLedger()) await setImmediate()
}

async function* ledgerRows(store: Pick<Store, 'usageRows'>, sinceHour: number | undefined): AsyncGenerator<UsageRow> {
  for (let after: UsageRow | undefined; ;) {
    const page: readonly UsageRow[] = await store.usageRows({
      limit: PAGE_ROWS,
      ...(after ? { after } : {}),
      ...(sinceHour === undefined ? {} : { sinceHour }),
    })
    yield* page
    after = page.at(-1)
    if (page.length < PAGE_ROWS) return
    await setImmediate()
  }
}

/** What the ledger lacks of a process: its groups by project and label, which are empty if it was removed. Also whether it is wanted. */
interface Owner {
  readonly project: string
  /** the value of the label; empty: the process does not have it, or it has no value */
  readonly label: string
  /** whether the usage counts: the process has the wanted label, or none is wanted */
  readonly isWanted: boolean
}

const NO_OWNER: Owner = { project: '', label: '', isWanted: true }

/** Returns a function that reads the owner of a row of the ledger. Each process is read once. */
function ownerReader(
  reads: UsageDeps['reads'],
  { label = '', labelled }: Pick<UsageQuery, 'label' | 'labelled'>,
): (uuid: Uuid) => Owner | Promise<Owner> {
  const known = new Map<Uuid, Owner>()
  const [wantedKey = '', wantedValue] = labelled?.split(/=(.*)/s) ?? []
  const isWanted = (labels: Readonly<Record<string, string>>): boolean =>
    labelled === undefined || (wantedValue === undefined ? Object.hasOwn(labels, wantedKey) : labels[wantedKey] === wantedValue)
  return async (uuid) => {
    const before = known.get(uuid)
    if (before) return before
    const process = await reads.find(uuid)
    const labels = process?.spec.labels ?? {}
    const project = process ? startDirectory(process.spec) : ''
    const owner = { project, label: lookUp(labels, label) ?? '', isWanted: isWanted(labels) }
    known.set(uuid, owner)
    return owner
  }
}

/** The group that a row of the ledger belongs to. */
function keyOf({ agent, model, hour, root, uuid }: UsageRow, by: UsageBy, owner: Owner): string {
  switch (by) {
    case 'agent':
      return agent
    case 'model':
      return model
    case 'tree':
      return root
    case 'process':
      return uuid
    case 'day':
      return dayOf(hour)
    case 'project':
      return owner.project
    case 'label':
      return owner.label
    case 'hour':
      return `${dayOf(hour)} ${String(new Date(hour * HOUR_MS).getHours()).padStart(2, '0')}:00`
  }
}

/** Returns the day of an hour, which is counted from the epoch. The day is that of the daemon's time zone. */
function dayOf(hour: number): string {
  const at = new Date(hour * HOUR_MS)
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}

/** Sorts groups of a time by the time, and all others by cost and then tokens, largest first. */
function sortedKeys(groups: ReadonlyMap<string, Group>, keys: UsageQuery['by']): string[] {
  const timeOf = (text: string): string => {
    const values = JSON.parse(text) as readonly string[]
    return values.filter((_, index) => keys[index] === 'day' || keys[index] === 'hour').join()
  }
  return [...groups]
    .map(([text, group]) => ({ text, time: timeOf(text), size: group.sortKey() }))
    .toSorted((a, b) => {
      if (a.time !== b.time) return a.time < b.time ? -1 : 1
      return b.size[0] - a.size[0] || b.size[1] - a.size[1] || (a.text < b.text ? -1 : 1)
    })
    .map(({ text }) => text)
}

/** Describes the root process of a tree; `agent` is used if the process was removed. */
async function rootOf(
  uuid: Uuid,
  agent: string,
  { store, reads }: Pick<UsageRateDeps, 'store' | 'reads'>,
): Promise<NonNullable<UsageRowView['root']>> {
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

  add(row: UsageRow): void {
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
