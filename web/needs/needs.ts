// What waits for the user, as the stream of rows has it, for all parts that show it. Test: test/e2e/web/needs-strip.test.ts.
import { computed } from '@preact/signals'
import type { NeedView } from '../../src/api/views/needs.ts'
import { flatOrder } from '../../src/faces/tree.ts'
import { isSnoozed } from '../../src/faces/attention.ts'
import { allNeeds, clockOffset, rows, rowsWithNeeds } from '../rows.ts'
import { now } from '../connection-state.ts'

/** The needs that are not put off, the most urgent first; null: the first rows have not come. */
export const needs = computed((): readonly NeedView[] | null => {
  const all = allNeeds.value
  if (!all?.some(({ snoozedUntil }) => snoozedUntil !== null)) return all
  const at = now.value + clockOffset.value
  return all.filter((need) => !isSnoozed(need, at))
})

/**
 * The processes that need the user, in the order of their needs, which all faces share. Rows alone decide which these are, so that a
 * narrow session has them, too.
 */
export const urgentUuids = computed((): readonly string[] => {
  const some = [...rowsWithNeeds.value].flatMap((uuid) => rows.get(uuid) ?? [])
  const byRow = flatOrder(some, 'urgency').map(({ uuid }) => uuid)
  const known = new Set(byRow)
  const byNeed = (allNeeds.value ?? []).map(({ uuid }) => uuid).filter((uuid) => known.has(uuid))
  return [...new Set([...byNeed, ...byRow])]
})
