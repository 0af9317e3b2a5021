// Sums over the tree of processes: how many live, work, ask, are held or have failed, at each process with all below it. The parent of a
// process is the one that spawned it, which never changes. So a change costs one step per level of the tree. Money is not counted here:
// the accounts of the table have it. Test: test/properties/rows.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const COUNTS = ['live', 'working', 'asking', 'held', 'failed'] as const
export type Counts = { readonly [K in (typeof COUNTS)[number]]: number }

const NO_COUNTS: Counts = { live: 0, working: 0, asking: 0, held: 0, failed: 0 }

/** What one process adds to the sums. */
export function countsOf({ status, asks, endedAt }: Pick<RowView, 'status' | 'asks' | 'endedAt'>): Counts {
  return {
    live: endedAt === null ? 1 : 0,
    working: status === 'working' ? 1 : 0,
    asking: asks > 0 ? 1 : 0,
    held: status === 'suspended' ? 1 : 0,
    failed: status === 'failed' ? 1 : 0,
  }
}

interface Node {
  readonly parent: Uuid | null
  own: Counts
  /** the own counts and those of all nodes below */
  total: Counts
}

export class TreeSums {
  readonly #nodes = new Map<Uuid, Node>()
  readonly #children = new Map<Uuid, Set<Uuid>>()
  /** the sum over all nodes */
  all: Counts = NO_COUNTS

  /** Adds a node, or changes what it counts. A node may come before its parent. */
  put(uuid: Uuid, parent: Uuid | null, own: Counts): void {
    const node = this.#nodes.get(uuid)
    const change = node ? combine(own, node.own, -1) : own
    this.all = combine(this.all, change, 1)
    if (node) {
      node.own = own
      this.#addFrom(uuid, change)
      return
    }
    const below = [...this.children(uuid)].reduce((sum, child) => combine(sum, this.total(child), 1), NO_COUNTS)
    const total = combine(own, below, 1)
    this.#nodes.set(uuid, { parent, own, total })
    if (parent === null) return
    const siblings = this.#children.get(parent)
    if (siblings) siblings.add(uuid)
    else this.#children.set(parent, new Set([uuid]))
    this.#addFrom(parent, total)
  }

  /** Removes a node. The nodes below it stay, and count for none above it. */
  remove(uuid: Uuid): void {
    const node = this.#nodes.get(uuid)
    if (!node) return
    this.all = combine(this.all, node.own, -1)
    this.#nodes.delete(uuid)
    if (node.parent === null) return
    const siblings = this.#children.get(node.parent)
    siblings?.delete(uuid)
    if (siblings?.size === 0) this.#children.delete(node.parent)
    this.#addFrom(node.parent, combine(NO_COUNTS, node.total, -1))
  }

  total(uuid: Uuid): Counts {
    return this.#nodes.get(uuid)?.total ?? NO_COUNTS
  }

  hasChildren(uuid: Uuid): boolean {
    return this.#children.has(uuid)
  }

  children(uuid: Uuid): Iterable<Uuid> {
    return this.#children.get(uuid) ?? []
  }

  /** The nodes above a node, the nearest first. */
  *above(uuid: Uuid): Generator<Uuid> {
    for (let parent = this.#nodes.get(uuid)?.parent ?? null; parent !== null && this.#nodes.has(parent);) {
      yield parent
      parent = this.#nodes.get(parent)?.parent ?? null
    }
  }

  #addFrom(from: Uuid, change: Counts): void {
    if (COUNTS.every((name) => change[name] === 0)) return
    for (let uuid: Uuid | null = from; uuid !== null;) {
      const node: Node | undefined = this.#nodes.get(uuid)
      if (!node) return
      node.total = combine(node.total, change, 1)
      uuid = node.parent
    }
  }
}

function combine(a: Counts, b: Counts, sign: 1 | -1): Counts {
  return {
    live: a.live + sign * b.live,
    working: a.working + sign * b.working,
    asking: a.asking + sign * b.asking,
    held: a.held + sign * b.held,
    failed: a.failed + sign * b.failed,
  }
}
