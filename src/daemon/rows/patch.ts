// The difference of two rows: the fields that turn the first row into the second. Pure. Test: test/properties/rows.test.ts.
import type { RowPatch } from '../../api/row-events.ts'
import type { RowView } from '../../api/views/rows.ts'

/** Returns the changed fields of a row, all fields of a new one, or null if nothing has changed. */
export function patchOf(before: RowView | null, after: RowView): RowPatch | null {
  if (before === null) return after
  const changed = Object.entries(after).filter(([field, value]) => !isSame(before[field as keyof RowView], value))
  return changed.length === 0 ? null : { ...Object.fromEntries(changed), uuid: after.uuid }
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && JSON.stringify(a) === JSON.stringify(b))
}
