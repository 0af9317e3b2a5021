// The keys of the rows of a list that draws only the visible ones. Pure. Test: test/tables/web/row-slots.test.ts.

/** the number of slots is a multiple of this, so that it stays the same while the list is scrolled */
const SLOTS = 200

/** The slot of a row in a list that draws `drawn` rows: a row that appears reuses the nodes of one that has left. */
export function slotOf(index: number, drawn: number): number {
  return index % (SLOTS * Math.max(1, Math.ceil(drawn / SLOTS)))
}
