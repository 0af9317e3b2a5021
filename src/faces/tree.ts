// Arranges rows for lists: as a tree with folds, or flat in a chosen order. In the tree the place of a row depends only on its parent and
// its birth, so that rows never move. Pure. Test: test/tables/faces/tree.test.ts.
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

type Placed = Pick<RowView, 'uuid' | 'parent'>

/** UUIDs begin with the time of their birth, so their order is the order of birth. */
const byBirth = (a: Placed, b: Placed): number => (a.uuid < b.uuid ? -1 : a.uuid > b.uuid ? 1 : 0)

/**
 * Returns the visible rows of the tree, each after its parent. A row whose parent is not in the list is a root. With `isMatch`, only
 * matching rows and their ancestors are visible, and folds of ancestors of a match are open.
 */
export function treeLines<T extends Placed>(
  rows: ReadonlyMap<string, T>,
  { folded = new Set(), isMatch }: { readonly folded?: ReadonlySet<string>; readonly isMatch?: ((row: T) => boolean) | undefined } = {},
): TreeLine[] {
  const children = childrenByParent(rows)
  const shown = isMatch && matchesAndAncestors(rows, isMatch)
  const lines: TreeLine[] = []
  const add = (row: T, depth: number): void => {
    const below = (children.get(row.uuid) ?? []).filter(({ uuid }) => !shown || shown.has(uuid))
    const isContext = shown?.get(row.uuid) === 'ancestor'
    const isFolded = below.length > 0 && !isContext && folded.has(row.uuid)
    lines.push({ uuid: row.uuid, depth, hasChildren: below.length > 0, isFolded, isContext })
    if (!isFolded) for (const child of below) add(child, depth + 1)
  }
  for (const root of children.get(null) ?? []) if (!shown || shown.has(root.uuid)) add(root, 0)
  return lines
}

function childrenByParent<T extends Placed>(rows: ReadonlyMap<string, T>): Map<string | null, T[]> {
  const children = new Map<string | null, T[]>()
  for (const row of rows.values()) {
    const parent = row.parent !== null && rows.has(row.parent) ? row.parent : null
    const siblings = children.get(parent)
    if (siblings) siblings.push(row)
    else children.set(parent, [row])
  }
  for (const siblings of children.values()) siblings.sort(byBirth)
  return children
}

function matchesAndAncestors<T extends Placed>(
  rows: ReadonlyMap<string, T>,
  isMatch: (row: T) => boolean,
): Map<string, 'match' | 'ancestor'> {
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

const COMPARE: Readonly<Record<FlatOrder, (a: Sorted, b: Sorted) => number>> = {
  urgency: (a, b) => b.attention - a.attention,
  recent: (a, b) => Date.parse(b.since) - Date.parse(a.since),
  cost: (a, b) => (b.cost.usd ?? 0) - (a.cost.usd ?? 0),
  name: (a, b) => (a.name ?? a.about).localeCompare(b.name ?? b.about),
}

/** Returns the rows in a flat order; equal rows stay in the order of birth. */
export function flatOrder<T extends Sorted>(rows: Iterable<T>, order: FlatOrder): T[] {
  return [...rows].sort((a, b) => COMPARE[order](a, b) || (a.uuid < b.uuid ? -1 : 1))
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
