// The dependency graph of a compose file's nodes, and of a crew's tasks. Finds cycles, dependencies, dependents, and a layered order. Knows
// no states. Unknown ids are skipped, so the caller must reject them. Test: test/properties/graph.test.ts.

export interface GraphNode {
  readonly id: string
  readonly needs: readonly string[]
}

type Graph = readonly GraphNode[]

/** The first cycle: a list of ids in which each node needs the next one, and the last id repeats the first. Null: no cycle. */
export function findCycle(graph: Graph): readonly string[] | null {
  const byId = indexById(graph)
  const done = new Set<string>()
  for (const { id } of graph) {
    const cycle = cycleFrom(byId, id, done)
    if (cycle) return cycle
  }
  return null
}

/** The first cycle that can be reached from `start`. Iterative, because a chain of nodes may be longer than the call stack. */
function cycleFrom(byId: ReadonlyMap<string, GraphNode>, start: string, done: Set<string>): readonly string[] | null {
  const path: { readonly id: string; readonly remaining: string[] }[] = []
  const entered = new Set<string>()
  const enter = (id: string): void => {
    entered.add(id)
    path.push({ id, remaining: (byId.get(id)?.needs ?? []).filter((need) => byId.has(need)).toReversed() })
  }
  if (!done.has(start)) enter(start)
  for (let last = path.at(-1); last; last = path.at(-1)) {
    const next = last.remaining.pop()
    if (next === undefined) {
      done.add(last.id)
      path.pop()
      continue
    }
    if (done.has(next)) continue
    if (entered.has(next)) return [...path.slice(path.findIndex(({ id }) => id === next)).map(({ id }) => id), next]
    enter(next)
  }
  return null
}

/** All dependencies of these nodes, direct and indirect. A node itself is included only as part of a cycle. */
export function dependenciesOf(graph: Graph, ids: readonly string[]): ReadonlySet<string> {
  const byId = indexById(graph)
  return collectReachable(ids, (id) => (byId.get(id)?.needs ?? []).filter((need) => byId.has(need)))
}

/** All dependents of these nodes, direct and indirect. */
export function dependentsOf(graph: Graph, ids: readonly string[]): ReadonlySet<string> {
  const users = new Map<string, string[]>()
  for (const { id, needs } of graph) for (const need of needs) users.set(need, [...(users.get(need) ?? []), id])
  return collectReachable(ids, (id) => users.get(id) ?? [])
}

/**
 * The nodes in layers: each node needs only nodes of earlier layers. Each layer keeps the given order. Nodes of a
 * cycle are omitted.
 */
export function layersOf(graph: Graph): readonly (readonly string[])[] {
  const known = new Set(graph.map(({ id }) => id))
  const placed = new Set<string>()
  const layers: string[][] = []
  for (let remaining = [...graph]; remaining.length > 0;) {
    const ready = remaining.filter(({ needs }) => needs.every((need) => placed.has(need) || !known.has(need)))
    if (ready.length === 0) break
    layers.push(ready.map(({ id }) => id))
    for (const { id } of ready) placed.add(id)
    remaining = remaining.filter(({ id }) => !placed.has(id))
  }
  return layers
}

function indexById(graph: Graph): ReadonlyMap<string, GraphNode> {
  return new Map(graph.map((node) => [node.id, node]))
}

function collectReachable(from: readonly string[], next: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const queue = from.flatMap(next)
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (found.has(id)) continue
    found.add(id)
    queue.push(...next(id))
  }
  return found
}
