// Places the nodes of a run in ranks, so that each edge leads to a later rank, with few crossings. Also finds the longest path by time, and
// the nodes that depend on a given node. Pure. docs/decisions/dependencies.md has the reason why no library does it.
// Test: test/tables/faces/graph-layout.test.ts.

interface GraphNode {
  readonly name: string
  readonly needs: readonly string[]
}

/** A place: its rank, and its position within the rank. Positions are at least 0, and need not be whole numbers. */
export interface Place {
  readonly rank: number
  readonly at: number
}

export interface PlacedEdge {
  readonly from: string
  readonly to: string
  /** the places from the beginning to the end, one for each rank */
  readonly points: readonly Place[]
}

export interface GraphLayout {
  readonly nodes: ReadonlyMap<string, Place>
  readonly edges: readonly PlacedEdge[]
  /** the number of ranks */
  readonly ranks: number
  /** the largest position of a node or point, plus 1 */
  readonly breadth: number
}

/** A node, or a point of an edge that passes a rank. */
interface Point {
  readonly id: string
  readonly before: string[]
  readonly after: string[]
  at: number
}

/** the number of passes over all ranks, alternately forwards and back */
const SWEEPS = 6

export function layoutGraph(nodes: readonly GraphNode[]): GraphLayout {
  const ranks = ranksOf(nodes)
  const points = new Map<string, Point>()
  const rows = Array.from({ length: Math.max(-1, ...ranks.values()) + 1 }, (): Point[] => [])
  const add = (id: string, rank: number): void => {
    const point: Point = { id, before: [], after: [], at: 0 }
    points.set(id, point)
    rows[rank]?.push(point)
  }
  for (const { name } of nodes) add(name, ranks.get(name) ?? 0)
  const chains = nodes.flatMap(({ name, needs }) =>
    needs.filter((need) => ranks.has(need)).map((need) => ({ from: need, to: name, ids: chainOf(need, name, ranks) })),
  )
  for (const { ids, from } of chains) {
    ids.slice(1, -1).forEach((id, index) => add(id, (ranks.get(from) ?? 0) + index + 1))
    for (const [index, id] of ids.slice(1).entries()) {
      points.get(id)?.before.push(ids[index] ?? '')
      points.get(ids[index] ?? '')?.after.push(id)
    }
  }
  rows.forEach((row) => row.forEach((point, index) => (point.at = index)))
  orderRanks(rows, points)
  straighten(rows, points)
  const all = [...points.values()]
  const least = Math.min(...all.map(({ at }) => at), 0)
  const placeOf = (id: string, rank: number): Place => ({ rank, at: (points.get(id)?.at ?? 0) - least })
  return {
    nodes: new Map(nodes.map(({ name }) => [name, placeOf(name, ranks.get(name) ?? 0)])),
    edges: chains.map(({ from, to, ids }) => ({
      from,
      to,
      points: ids.map((id, index) => placeOf(id, (ranks.get(from) ?? 0) + index)),
    })),
    ranks: rows.length,
    breadth: Math.max(0, ...all.map(({ at }) => at - least + 1)),
  }
}

/** The rank of a node is after the ranks of all nodes that it needs. The limit of rounds ends a cycle, which no run has. */
function ranksOf(nodes: readonly GraphNode[]): Map<string, number> {
  const ranks = new Map(nodes.map(({ name }) => [name, 0]))
  for (let round = 0, isMoved = true; isMoved && round < nodes.length; round += 1) {
    isMoved = false
    for (const { name, needs } of nodes) {
      const rank = Math.max(0, ...needs.map((need) => (ranks.get(need) ?? -1) + 1))
      if (rank === ranks.get(name)) continue
      ranks.set(name, rank)
      isMoved = true
    }
  }
  return ranks
}

/** The ids of an edge: its nodes, and a point in each rank between them. */
function chainOf(from: string, to: string, ranks: ReadonlyMap<string, number>): string[] {
  const between = (ranks.get(to) ?? 0) - (ranks.get(from) ?? 0) - 1
  return [from, ...Array.from({ length: Math.max(0, between) }, (_, index) => `${from} ${to} ${index}`), to]
}

/** Sorts each rank by the mean position of its neighbours, forwards and back, and keeps the order with the fewest crossings. */
function orderRanks(rows: Point[][], points: ReadonlyMap<string, Point>): void {
  let best = rows.map((row) => row.map(({ id }) => id))
  let fewest = countCrossings(rows, points)
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep += 1) {
    const isForward = sweep % 2 === 0
    for (const row of isForward ? rows : rows.toReversed()) {
      const wanted = new Map(row.map((point) => [point.id, meanAt(isForward ? point.before : point.after, points) ?? point.at]))
      row.sort((a, b) => (wanted.get(a.id) ?? 0) - (wanted.get(b.id) ?? 0) || a.at - b.at)
      row.forEach((point, index) => (point.at = index))
    }
    const count = countCrossings(rows, points)
    if (count >= fewest) continue
    fewest = count
    best = rows.map((row) => row.map(({ id }) => id))
  }
  for (const [rank, ids] of best.entries()) {
    rows[rank]?.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
    rows[rank]?.forEach((point, index) => (point.at = index))
  }
}

function meanAt(ids: readonly string[], points: ReadonlyMap<string, Point>): number | null {
  return ids.length === 0 ? null : ids.reduce((sum, id) => sum + (points.get(id)?.at ?? 0), 0) / ids.length
}

function countCrossings(rows: readonly (readonly Point[])[], points: ReadonlyMap<string, Point>): number {
  let count = 0
  for (const row of rows) {
    const edges = row.flatMap((point) => point.after.map((id) => [point.at, points.get(id)?.at ?? 0] as const))
    for (const [index, one] of edges.entries())
      for (const other of edges.slice(index + 1)) if ((one[0] - other[0]) * (one[1] - other[1]) < 0) count += 1
  }
  return count
}

/** Moves points towards their neighbours, at least one place apart. */
function straighten(rows: readonly (readonly Point[])[], points: ReadonlyMap<string, Point>): void {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1)
    for (const row of sweep % 2 === 0 ? rows : rows.toReversed()) {
      const wanted = row.map(({ before, after, at }) => meanAt([...before, ...after], points) ?? at)
      let end = -Infinity
      row.forEach((point, index) => (end = point.at = Math.max(wanted[index] ?? 0, end + 1)))
      const shift = row.reduce((sum, { at }, index) => sum + (wanted[index] ?? 0) - at, 0) / Math.max(1, row.length)
      for (const point of row) point.at += shift
    }
}

/** The nodes of the longest path by time, from its beginning. They decide when the run ends. */
export function criticalPath(nodes: readonly (GraphNode & { readonly elapsedMs: number })[]): string[] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const known = new Map<string, { readonly ms: number; readonly path: readonly string[] }>()
  const longest = (name: string): { readonly ms: number; readonly path: readonly string[] } => {
    const before = known.get(name)
    if (before) return before
    known.set(name, { ms: 0, path: [] })
    const node = byName.get(name)
    const above = (node?.needs ?? []).map(longest).reduce((a, b) => (b.ms > a.ms ? b : a), { ms: 0, path: [] as readonly string[] })
    const result = { ms: above.ms + (node?.elapsedMs ?? 0), path: [...above.path, name] }
    known.set(name, result)
    return result
  }
  const paths = nodes.filter(({ elapsedMs }) => elapsedMs > 0).map(({ name }) => longest(name))
  return [...paths.reduce((a, b) => (b.ms > a.ms ? b : a), { ms: 0, path: [] as readonly string[] }).path]
}

/** The nodes that need the node `name`, directly or through others. */
export function dependentsOf(nodes: readonly GraphNode[], name: string): Set<string> {
  const found = new Set<string>()
  for (let isMore = true; isMore;) {
    isMore = false
    for (const node of nodes) {
      if (found.has(node.name) || !node.needs.some((need) => need === name || found.has(need))) continue
      found.add(node.name)
      isMore = true
    }
  }
  return found
}
