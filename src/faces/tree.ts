// Arranges rows for lists: as a tree with folds, or flat in a chosen order. In the tree the place of a row depends only on its parent and
// the time of its creation, so that rows never move. Pure. Test: test/tables/faces/tree.test.ts.
import type { RowView } from '../api/views/rows.ts'

/** A row in its place. */
export interface TreeLine {
  readonly uuid: string
  /** 0: a root */
  readonly depth: number
  readonly hasChildren: boolean
  readonly isFolded: boolean
  /** true: the row does not match the filter, and is shown because a row below it matches */
  readonly isContext: boolean
}

type Created = Pick<RowView, 'uuid'>
type Placed = Created & Pick<RowView, 'parent'>

/** UUIDs begin with the time of their creation, so their order is the order of creation. */
const byCreation = (a: Created, b: Created): number => (a.uuid < b.uuid ? -1 : a.uuid > b.uuid ? 1 : 0)

/**
 * Returns the visible rows of the tree, each after its parent. A row whose parent is not in the list is a root. With `isMatch`, only
 * matching rows and their ancestors are visible, and folds of ancestors of a match are open.
 */
export function treeLines<T extends Placed>(
  rows: ReadonlyMap<string, T>,
  { folded = new Set(), isMatch }: { readonly folded?: ReadonlySet<string>; readonly isMatch?: ((row: T) => boolean) | undefined } = {},
): TreeLine[] {
  const shown = isMatch && matchesAndAncestors(rows, isMatch)
  const children = childrenByParent(rows, shown)
  const lines: TreeLine[] = []
  const add = (row: T, depth: number): void => {
    const below = children.get(row.uuid) ?? NONE
    const isContext = shown?.get(row.uuid) === 'ancestor'
    const isFolded = below.length > 0 && !isContext && folded.has(row.uuid)
    lines.push({ uuid: row.uuid, depth, hasChildren: below.length > 0, isFolded, isContext })
    if (!isFolded) for (const child of below) add(child, depth + 1)
  }
  for (const root of children.get(null) ?? NONE) add(root, 0)
  return lines
}

const NONE: readonly never[] = []

/** `shown`: the rows that count; absent: all. */
function childrenByParent<T extends Placed>(rows: ReadonlyMap<string, T>, shown?: ReadonlyMap<string, unknown>): Map<string | null, T[]> {
  const children = new Map<string | null, T[]>()
  for (const row of rows.values()) {
    if (shown && !shown.has(row.uuid)) continue
    const parent = row.parent !== null && rows.has(row.parent) ? row.parent : null
    const siblings = children.get(parent)
    if (siblings) siblings.push(row)
    else children.set(parent, [row])
  }
  for (const siblings of children.values()) if (!isSorted(siblings)) siblings.sort(byCreation)
  return children
}

/** Rows mostly come in the order of their creation. */
function isSorted(rows: readonly Created[]): boolean {
  for (let index = 1; index < rows.length; index += 1) if ((rows[index - 1]?.uuid ?? '') > (rows[index]?.uuid ?? '')) return false
  return true
}

/** The rows to show; undefined: all. */
function matchesAndAncestors<T extends Placed>(
  rows: ReadonlyMap<string, T>,
  isMatch: (row: T) => boolean,
): Map<string, 'match' | 'ancestor'> | undefined {
  if ([...rows.values()].every((row) => isMatch(row))) return undefined
  const shown = new Map<string, 'match' | 'ancestor'>()
  for (const row of rows.values()) {
    if (!isMatch(row)) continue
    shown.set(row.uuid, 'match')
    for (let up = parentOf(rows, row); up && !shown.has(up.uuid); up = parentOf(rows, up)) shown.set(up.uuid, 'ancestor')
  }
  return shown
}

function parentOf<T extends Placed>(rows: ReadonlyMap<string, T>, { parent }: T): T | undefined {
  return parent === null ? undefined : rows.get(parent)
}

/** The flat orders of a list. */
export const FLAT_ORDERS = ['urgency', 'recent', 'cost', 'name'] as const
export type FlatOrder = (typeof FLAT_ORDERS)[number]

type Sorted = Pick<RowView, 'uuid' | 'attention' | 'since' | 'cost' | 'name' | 'about'>

const byNumber = (a: number, b: number): number => b - a

/** Sorts rows in each order. What an order compares is computed once for each row. */
const ORDERS: Readonly<Record<FlatOrder, <T extends Sorted>(rows: readonly T[]) => T[]>> = {
  urgency: (rows) => sortedBy(rows, ({ attention }) => attention, byNumber),
  recent: (rows) => sortedBy(rows, ({ since }) => Date.parse(since), byNumber),
  cost: (rows) => sortedBy(rows, ({ cost }) => cost.usd ?? 0, byNumber),
  name: (rows) =>
    sortedBy(
      rows,
      ({ name, about }) => name ?? about,
      (a, b) => a.localeCompare(b),
    ),
}

/** Returns the rows in a flat order; equal rows stay in the order of creation. */
export function flatOrder<T extends Sorted>(rows: Iterable<T>, order: FlatOrder): T[] {
  const created = [...rows]
  if (!isSorted(created)) created.sort(byCreation)
  return ORDERS[order](created)
}

function sortedBy<T, K>(rows: readonly T[], keyOf: (row: T) => K, compare: (a: K, b: K) => number): T[] {
  return rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ row }) => row)
}

/** Returns the UUIDs of a process and of all rows below it. */
export function subtreeOf<T extends Placed>(rows: ReadonlyMap<string, T>, root: string): Set<string> {
  const children = childrenByParent(rows)
  const found = new Set<string>()
  const queue = [root]
  for (let uuid = queue.pop(); uuid !== undefined; uuid = queue.pop()) {
    found.add(uuid)
    for (const child of children.get(uuid) ?? []) queue.push(child.uuid)
  }
  return found
}
