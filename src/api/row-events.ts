// The events of the stream of rows (`GET /v1/rows?follow=1`), and how they change the rows and needs that a reader holds. Pure.
// Tests: test/e2e/rows/rows.test.ts, test/e2e/rows/needs-stream.test.ts.
import type { NeedView } from './views/needs.ts'
import type { RowView, SumsView } from './views/rows.ts'

/** The changed fields of a row, or all fields of a new one. */
export type RowPatch = Partial<RowView> & Pick<RowView, 'uuid'>

interface RowsState {
  /** the position in the stream; a new request continues after it */
  readonly cursor: string
  /** the newest event that the rows include */
  readonly seq: number
}

export type RowEvent =
  /** all rows, which replace those that the reader has */
  | (RowsState & {
      readonly type: 'reset'
      readonly now: string
      readonly rows: readonly RowView[]
      readonly sums: SumsView
      readonly needs: readonly NeedView[]
    })
  | (RowsState & {
      readonly type: 'rows'
      /** new and changed rows */
      readonly up: readonly RowPatch[]
      /** the UUIDs of removed rows */
      readonly gone: readonly string[]
      /** the UUIDs of processes that were removed for good, also of older ones that the stream did not send */
      readonly removed?: readonly string[]
      readonly sums?: SumsView
      /** the changed and new needs */
      readonly needs?: readonly NeedView[]
      /** all needs in order; absent: none has changed */
      readonly needIds?: readonly string[]
    })
  /** a sign of life, every 2.5 s */
  | (RowsState & { readonly type: 'alive'; readonly now: string })

/** Applies an event to the rows by UUID. */
export function applyRowEvent(rows: Map<string, RowView>, event: RowEvent): void {
  if (event.type === 'alive') return
  if (event.type === 'reset') {
    rows.clear()
    for (const row of event.rows) rows.set(row.uuid, row)
    return
  }
  for (const patch of event.up) rows.set(patch.uuid, { ...rows.get(patch.uuid), ...patch } as RowView)
  for (const uuid of event.gone) rows.delete(uuid)
}

/** Returns the needs after an event, in the order of their urgency. `before`: the needs that the reader has. */
export function needsAfter(before: readonly NeedView[], event: RowEvent): readonly NeedView[] {
  if (event.type === 'reset') return event.needs
  if (event.type === 'alive' || event.needIds === undefined) return before
  const byId = new Map([...before, ...(event.needs ?? [])].map((need) => [need.id, need]))
  return event.needIds.flatMap((id) => byId.get(id) ?? [])
}
