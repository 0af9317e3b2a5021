// The list of the fleet: which lines it has, in which order, and what is selected, folded and tagged. The filter, the order and the folds
// are in the address. In a flat order the rows keep their places until the user orders them again. Test: test/e2e/web/fleet.test.ts.
import { computed, effect, signal } from '@preact/signals'
import { meetsFilter, parseFilter } from '../../src/faces/filter.ts'
import { shortId } from '../../src/faces/format.ts'
import { FLAT_ORDERS, flatOrder, treeLines, type FlatOrder, type TreeLine } from '../../src/faces/tree.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { folded, keepFolds, selectedUuid, setFolded } from './list-state.ts'
import { daemonNow } from '../parts/clock.tsx'
import { query } from '../router.ts'
import { hasRows, rows, watchList } from '../rows.ts'

export const filterText = computed(() => query.value.get('q') ?? '')
export const order = computed((): FlatOrder | null => FLAT_ORDERS.find((name) => name === query.value.get('sort')) ?? null)
/** Whether the list has a filter: then any change of a row can change the list. */
export const isFiltered = computed(() => filterText.value !== '')

export const filterParts = computed(() => {
  // `under:` looks at the tree.
  watchList()
  return parseFilter(filterText.value, rows)
})

interface Ordered {
  readonly by: FlatOrder
  readonly at: number
  readonly uuids: readonly string[]
}

/** the flat order that was made last */
const ordered = signal<Ordered | null>(null)

/** When the flat order was made, in ms by the daemon's clock; null: the list is a tree. */
export const orderedAt = computed(() => (order.value === null ? null : (ordered.value?.at ?? null)))

/** Makes the flat order anew. */
export function orderAgain(): void {
  const by = order.peek()
  ordered.value = by === null ? null : { by, at: daemonNow(), uuids: flatOrder(rows.values(), by).map(({ uuid }) => uuid) }
}

effect(() => {
  const by = order.value
  watchList()
  if (by === null || !hasRows()) return
  if (ordered.peek()?.by !== by) orderAgain()
})

/** The lines of the list. In a flat order, processes that came after it was made are at the end. */
export const lines = computed((): readonly TreeLine[] => {
  watchList()
  const parts = filterParts.value
  const now = parts.length === 0 ? 0 : daemonNow()
  const isMatch = parts.length === 0 ? undefined : (row: RowView) => meetsFilter(parts, row, now)
  if (order.value === null) return treeLines(rows, { folded: folded.value, isMatch })
  const placed = ordered.value?.uuids ?? []
  const known = new Set(placed)
  const all = [...placed, ...[...rows.keys()].filter((uuid) => !known.has(uuid))]
  return all.flatMap((uuid) => {
    const row = rows.get(uuid)
    return row && (isMatch?.(row) ?? true) ? { uuid, depth: 0, hasChildren: false, isFolded: false, isContext: false } : []
  })
})

const indexes = computed(() => new Map(lines.value.map(({ uuid }, index) => [uuid, index])))

export const selectedIndex = computed(() => (selectedUuid.value === null ? null : (indexes.value.get(selectedUuid.value) ?? null)))

/** Selects the line at an index, or the nearest one. */
export function selectLine(index: number): void {
  const line = lines.value[Math.max(0, Math.min(index, lines.value.length - 1))]
  if (line) selectedUuid.value = line.uuid
}

/** Selects the parent of a row, if the list shows it. */
export function selectParent(uuid: string): void {
  const parent = rows.get(uuid)?.parent ?? null
  if (parent !== null && indexes.value.has(parent)) selectedUuid.value = parent
}

// When a fold hides the selected row, the folded row is selected instead.
effect(() => {
  const shut = folded.value
  const uuid = selectedUuid.peek()
  if (uuid === null || indexes.peek().has(uuid)) return
  for (let at = rows.get(uuid)?.parent ?? null; at !== null; at = rows.get(at)?.parent ?? null)
    if (shut.has(at) && indexes.peek().has(at)) {
      selectedUuid.value = at
      return
    }
})

/** The tagged processes. */
export const tagged = signal<ReadonlySet<string>>(new Set())

export function toggleTag(uuid: string): void {
  const next = new Set(tagged.value)
  if (!next.delete(uuid)) next.add(uuid)
  tagged.value = next
}

/** The rows that actions apply to: the tagged ones, else the selected one. Rows that the list does not show are left out. */
export function actionTargets(): RowView[] {
  const uuids = tagged.value.size > 0 ? [...tagged.value] : selectedUuid.value === null ? [] : [selectedUuid.value]
  return uuids.flatMap((uuid) => (indexes.value.has(uuid) ? (rows.get(uuid) ?? []) : []))
}

// A process that has left the rows is no longer tagged.
effect(() => {
  watchList()
  const left = [...tagged.peek()].filter((uuid) => rows.has(uuid))
  if (hasRows() && left.length < tagged.peek().size) tagged.value = new Set(left)
})

/** Folds the deepest open level of all trees, or unfolds the highest folded one. */
export function changeLevel(way: 'fold' | 'unfold'): void {
  const open = lines.value.filter(({ hasChildren, isFolded }) => hasChildren && isFolded === (way === 'unfold'))
  const depths = open.map(({ depth }) => depth)
  if (depths.length === 0) return
  const level = depths.reduce((one, other) => (way === 'fold' ? Math.max(one, other) : Math.min(one, other)))
  const next = new Set(folded.value)
  for (const { uuid, depth } of open) if (depth === level) next[way === 'fold' ? 'add' : 'delete'](uuid)
  setFolded(next)
}

/** whether the folds in the address were read */
let areFoldsRead = false

/** Reads the folds from the address, once the first rows are there. Every later call writes the folds to the address of the list. */
export function syncFoldsWithAddress(): void {
  if (!hasRows()) return
  if (areFoldsRead) return keepFolds()
  areFoldsRead = true
  const wanted = new Set((query.peek().get('fold') ?? '').split('.'))
  const found = [...rows.keys()].filter((uuid) => wanted.has(shortId(uuid)))
  if (found.length > 0) folded.value = new Set([...folded.peek(), ...found])
}
