// Links from a waiting process to what it waits for: a process, a task, or the limit that holds it. Pure.
// Test: test/tables/faces/row-verbs.test.ts.
import type { RowView } from '../api/views/rows.ts'

/**
 * True if a budget of the home holds the process. After a restart of the daemon the limit is not known, but only such a hold has an end.
 */
export function isHeldByHome({ why }: Pick<RowView, 'why'>): boolean {
  if (why?.kind !== 'hold:budget') return false
  return why.limit === undefined ? why.until !== undefined : why.limit === 'dailyUsd' || why.limit === 'monthlyUsd'
}

/** Where the cause of a wait is shown. */
export interface WaitLink {
  readonly address: string
  readonly text: string
}

/** Where the limit that holds a process is changed, or shown for a limit of the home. Null: no limit holds it. */
export function limitLink(
  row: Pick<RowView, 'uuid' | 'why' | 'parent'>,
  rows: ReadonlyMap<string, Pick<RowView, 'uuid' | 'name' | 'pid' | 'kind' | 'parent'>>,
): WaitLink | null {
  const { uuid, why } = row
  if (why?.kind !== 'hold:budget') return null
  if (isHeldByHome(row)) return { address: '/cost', text: 'See the budget of the home' }
  const owner = waitLink(row, rows)
  if (owner !== null) return { address: `${owner.address}/limits`, text: `Change the limit of ${owner.text} …` }
  // The tab also lists the limits of processes above.
  return { address: `/p/${uuid}/limits`, text: why.on === undefined ? 'Change its limit …' : 'See the limits above it' }
}

/** The process or task that a process waits for, if the list has it. */
export function waitLink(
  { uuid, why, parent }: Pick<RowView, 'uuid' | 'why' | 'parent'>,
  rows: ReadonlyMap<string, Pick<RowView, 'uuid' | 'name' | 'pid' | 'kind' | 'parent'>>,
): WaitLink | null {
  const on = why?.on
  if (on === undefined || on === uuid) return null
  const owner = rows.get(on)
  if (owner) return { address: `/p/${on}`, text: owner.name ?? `process ${owner.pid}` }
  if (why?.kind !== 'task' && why?.kind !== 'slot') return null
  for (let above = rows.get(parent ?? ''); above; above = rows.get(above.parent ?? ''))
    if (above.kind === 'crew') return { address: `/p/${above.uuid}/board/${encodeURIComponent(on)}`, text: `task ${on}` }
  return null
}
