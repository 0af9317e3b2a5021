// What all processes have used, by agent, model, day or tree: read from the store's table when that is caught up.
// Owns the grouping, the order and the limit of the rows. Pages, with a turn of the loop between two.
// Test: test/e2e/usage.test.ts.
import { setImmediate } from 'node:timers/promises'
import { iso } from './times.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../api/usage-views.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { SpentRow, Store } from '../store/store.ts'

const HOUR_MS = 3_600_000
const PAGE = 500
const MAX_ROWS = 1_000

export interface UsageQuery {
  readonly by: UsageBy
  /** wall ms */
  readonly since?: number | undefined
}

export interface UsageParts {
  readonly store: Pick<Store, 'account' | 'spent' | 'tombstone'>
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined> }
}

export async function usageReport({ store, reads }: UsageParts, { by, since }: UsageQuery): Promise<UsageReportView> {
  await caughtUp(store)
  const sinceHour = since === undefined ? undefined : Math.floor(since / HOUR_MS)
  const all = new Group()
  const groups = new Map<string, Group>()
  for await (const row of spent(store, sinceHour)) {
    const key = keyOf(row, by)
    const group = groups.get(key) ?? new Group()
    groups.set(key, group)
    for (const each of [all, group]) each.add(row)
  }
  const keys = inOrder(groups, by)
  const rows = await Promise.all(keys.slice(0, MAX_ROWS).map(async (key): Promise<UsageRowView> => {
    const group = groups.get(key) ?? new Group()
    return { key, root: by === 'tree' ? await rootOf(key, group.agent, { store, reads }) : null, ...group.sum() }
  }))
  return { version: 1, by, since: sinceHour === undefined ? null : iso(sinceHour * HOUR_MS), rows, more: keys.length - rows.length, total: all.sum() }
}

/** All that was used is in the table. */
export async function caughtUp(store: Pick<Store, 'account'>): Promise<void> {
  while (await store.account()) await setImmediate()
}

async function *spent(store: Pick<Store, 'spent'>, sinceHour: number | undefined): AsyncGenerator<SpentRow> {
  for (let after: SpentRow | undefined; ;) {
    const page: readonly SpentRow[] = await store.spent({ limit: PAGE, ...(after ? { after } : {}), ...(sinceHour === undefined ? {} : { sinceHour }) })
    yield* page
    after = page.at(-1)
    if (page.length < PAGE) return
    await setImmediate()
  }
}

function keyOf({ agent, model, hour, root }: SpentRow, by: UsageBy): string {
  switch (by) {
    case 'agent': return agent
    case 'model': return model
    case 'tree': return root
    case 'day': return dayOf(hour)
  }
}

/** On the daemon's own clock. */
function dayOf(hour: number): string {
  const at = new Date(hour * HOUR_MS)
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}

function inOrder(groups: ReadonlyMap<string, Group>, by: UsageBy): string[] {
  const keys = [...groups.keys()].toSorted()
  if (by === 'day') return keys
  const dear = (key: string): readonly [number, number] => groups.get(key)?.dear() ?? [0, 0]
  return keys.toSorted((a, b) => dear(b)[0] - dear(a)[0] || dear(b)[1] - dear(a)[1])
}

async function rootOf(uuid: Uuid, agent: string, { store, reads }: UsageParts): Promise<UsageRowView['root']> {
  const process = await reads.find(uuid)
  if (process) return { uuid, pid: process.pid, name: process.spec.name, agent: process.spec.agent, removed: false }
  const { pid = null, name = null } = (await store.tombstone(uuid)) ?? {}
  return { uuid, pid, name, agent, removed: true }
}

class Group {
  agent = ''
  readonly #processes = new Set<Uuid>()
  readonly #sum = { steps: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpriced: false, estimated: false }

  add(row: SpentRow): void {
    // The first one began the tree.
    this.agent ||= row.agent
    this.#processes.add(row.uuid)
    const sum = this.#sum
    for (const name of ['steps', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const) sum[name] += row[name]
    sum.unpriced ||= row.unpriced
    sum.estimated ||= row.estimated
  }

  sum(): UsageSumView {
    return { processes: this.#processes.size, ...this.#sum }
  }

  /** What decides on the order: USD, then tokens. */
  dear(): readonly [usd: number, tokens: number] {
    const { costUsd, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = this.#sum
    return [costUsd, inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens]
  }
}
