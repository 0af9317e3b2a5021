// Who needs whom: the graph of a compose file's nodes, and of a crew's tasks. Owns its walks: a cycle, what is above and below
// one, and an order in which all come after what they need. Knows no states. A name that nobody has is passed over: that is for
// the caller to refuse. Test: test/properties/graph.test.ts.

export interface Needing {
  readonly id: string
  readonly needs: readonly string[]
}

type Graph = readonly Needing[]

/** The first cycle that there is, as names each of which needs the next; the last is the first again. Null: there is none. */
export function cycleIn(graph: Graph): readonly string[] | null {
  const byId = indexed(graph)
  const done = new Set<string>()
  for (const { id } of graph) {
    const cycle = cycleFrom(byId, id, done)
    if (cycle) return cycle
  }
  return null
}

/** Without recursion: a chain may be longer than the stack. */
function cycleFrom(byId: ReadonlyMap<string, Needing>, start: string, done: Set<string>): readonly string[] | null {
  const path: { readonly id: string; readonly left: string[] }[] = []
  const entered = new Set<string>()
  const enter = (id: string): void => {
    entered.add(id)
    path.push({ id, left: (byId.get(id)?.needs ?? []).filter((need) => byId.has(need)).toReversed() })
  }
  if (!done.has(start)) enter(start)
  for (let last = path.at(-1); last; last = path.at(-1)) {
    const next = last.left.pop()
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

/** All that these need, and what that needs, without themselves where nothing of it needs them. */
export function above(graph: Graph, ids: readonly string[]): ReadonlySet<string> {
  const byId = indexed(graph)
  return reached(ids, (id) => (byId.get(id)?.needs ?? []).filter((need) => byId.has(need)))
}

/** All that need these, directly or by others. */
export function below(graph: Graph, ids: readonly string[]): ReadonlySet<string> {
  const users = new Map<string, string[]>()
  for (const { id, needs } of graph) for (const need of needs) users.set(need, [...(users.get(need) ?? []), id])
  return reached(ids, (id) => users.get(id) ?? [])
}

/** In rows: each needs none but those of rows before; within a row in the order that they were given. Those of a cycle are in none. */
export function layers(graph: Graph): readonly (readonly string[])[] {
  const known = new Set(graph.map(({ id }) => id))
  const placed = new Set<string>()
  const rows: string[][] = []
  for (let left = [...graph]; left.length > 0; ) {
    const free = left.filter(({ needs }) => needs.every((need) => placed.has(need) || !known.has(need)))
    if (free.length === 0) break
    rows.push(free.map(({ id }) => id))
    for (const { id } of free) placed.add(id)
    left = left.filter(({ id }) => !placed.has(id))
  }
  return rows
}

function indexed(graph: Graph): ReadonlyMap<string, Needing> {
  return new Map(graph.map((one) => [one.id, one]))
}

function reached(from: readonly string[], next: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const queue = from.flatMap(next)
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (found.has(id)) continue
    found.add(id)
    queue.push(...next(id))
  }
  return found
}
