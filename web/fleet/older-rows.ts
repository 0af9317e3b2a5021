// The rows of processes that ended over 24 hours ago. The stream sends such a row only for a short time: when its process has changed, or
// has just become too old. Pure. Test: test/tables/web/older-rows.test.ts.
import { applyRowEvent, type RowEvent } from '../../src/api/row-events.ts'
import type { RowView } from '../../src/api/views/rows.ts'

/** The stream sends ended processes for this time, in ms. A minute less: the clocks of page and daemon differ a little. */
const RECENT_MS = 86_400_000 - 60_000

export class OlderRows {
  /** those that the stream does not send now */
  readonly #older = new Map<string, RowView>()
  /** those that were read on request, whether the stream sends them now or not */
  readonly #read = new Set<string>()
  #keepsAll = false

  /** Whether the stream does not send the row. */
  has(uuid: string): boolean {
    return this.#older.has(uuid)
  }

  /** Adds rows that were read on request to `rows`. Those that the stream sends are newer, and stay. Returns the added UUIDs. */
  add(rows: Map<string, RowView>, added: readonly RowView[]): string[] {
    return added.flatMap((row) => {
      this.#read.add(row.uuid)
      if (rows.has(row.uuid) && !this.#older.has(row.uuid)) return []
      this.#put(rows, row)
      return [row.uuid]
    })
  }

  /** From now on, each row that becomes too old stays. Without this, only those stay that were read. */
  keepAll(): void {
    this.#keepsAll = true
  }

  /** Removes the older rows from `rows`. Returns their UUIDs. */
  drop(rows: Map<string, RowView>): string[] {
    const dropped = [...this.#older.keys()]
    for (const uuid of dropped) rows.delete(uuid)
    this.#older.clear()
    this.#read.clear()
    this.#keepsAll = false
    return dropped
  }

  /** Applies an event of the stream to `rows`. A row that the stream sends is not an older one. `now`: of the daemon, wall ms. */
  apply(rows: Map<string, RowView>, event: RowEvent, now: number): void {
    if (event.type === 'alive') return
    const leaving = this.#leaving(rows, event, now)
    applyRowEvent(rows, event)
    for (const { uuid } of event.type === 'reset' ? event.rows : event.up) this.#older.delete(uuid)
    if (event.type === 'rows') this.#forget(rows, event)
    for (const row of leaving) if (!rows.has(row.uuid)) this.#put(rows, row)
    if (event.type === 'reset') for (const [uuid, row] of this.#older) rows.set(uuid, row)
  }

  /** A row that is gone is no older one until it is put back. A removed process has no page that its row could lead to. */
  #forget(rows: Map<string, RowView>, { gone, removed = [] }: Extract<RowEvent, { type: 'rows' }>): void {
    for (const uuid of [...gone, ...removed]) this.#older.delete(uuid)
    for (const uuid of removed) {
      this.#read.delete(uuid)
      rows.delete(uuid)
    }
  }

  /** The rows that an event may take away only because they are too old, and that stay. */
  #leaving(rows: ReadonlyMap<string, RowView>, event: Exclude<RowEvent, { type: 'alive' }>, now: number): RowView[] {
    const removed = new Set(event.type === 'rows' ? event.removed : [])
    const uuids = event.type === 'rows' ? event.gone.filter((uuid) => !removed.has(uuid)) : this.#keepsAll ? rows.keys() : this.#read
    return [...uuids].flatMap((uuid) => {
      const row = rows.get(uuid)
      if (!row || !(this.#keepsAll || this.#read.has(uuid))) return []
      return row.endedAt !== null && Date.parse(row.endedAt) < now - RECENT_MS ? [row] : []
    })
  }

  /** An old end counts as seen: it has no mark, and neither the filter for unseen ends nor their count has it. */
  #put(rows: Map<string, RowView>, row: RowView): void {
    const seen = { ...row, unseen: false }
    this.#older.set(row.uuid, seen)
    rows.set(row.uuid, seen)
  }
}
