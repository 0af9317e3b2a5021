// The needs of the processes of a projection, in the order of urgency. Each need is kept as the JSON that all viewers get. Must not depend
// on the time of the request: a snoozed need stays in the list, after the others.
// Tests: test/properties/rows.test.ts, test/e2e/rows/needs-stream.test.ts.
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import { needView } from '../needs/need-view.ts'
import type { Need } from '../needs/needs-of.ts'
import { compareNeeds } from '../needs/order.ts'
import { askView } from '../views/ask-view.ts'
import { holdView } from '../views/process-view.ts'

/** The largest number of needs that a viewer gets. */
const MAX_NEEDS = 100

/** A need as it is sent. */
export interface RowNeed {
  readonly id: string
  readonly uuid: Uuid
  /** the topmost living process above it, or the process itself */
  readonly root: Uuid
  /** the JSON of its view */
  readonly text: string
}

interface Item extends RowNeed {
  readonly need: Need
  readonly isSnoozed: boolean
}

export interface RowNeedsContext {
  readonly table: LiveTable
  /** monotonic ms, for limits of time */
  readonly mono: number
  /** the note of the row */
  readonly note: string | null
}

export class RowNeeds {
  readonly #items = new Map<Uuid, readonly Item[]>()
  #sorted: readonly Item[] | null = null
  /** grows with each change */
  version = 0

  /** Notes all needs of a process. */
  put(process: Process, needs: readonly Need[], context: RowNeedsContext): void {
    const before = this.#items.get(process.uuid)
    if (needs.length === 0 && before === undefined) return
    const items = itemsOf(process, needs, context)
    if (before?.length === items.length && items.every(({ text }, index) => text === before[index]?.text)) return
    if (items.length === 0) this.#items.delete(process.uuid)
    else this.#items.set(process.uuid, items)
    this.#noteChange()
  }

  remove(uuid: Uuid): void {
    if (this.#items.delete(uuid)) this.#noteChange()
  }

  /** The processes that have needs. */
  get processes(): Iterable<Uuid> {
    return this.#items.keys()
  }

  /** The most urgent needs of some processes. */
  first(isIncluded: (uuid: Uuid) => boolean): RowNeed[] {
    this.#sorted ??= [...this.#items.values()].flat().sort(compareItems)
    const found: RowNeed[] = []
    for (const item of this.#sorted) {
      if (found.length === MAX_NEEDS) break
      if (isIncluded(item.uuid)) found.push(item)
    }
    return found
  }

  #noteChange(): void {
    this.#sorted = null
    this.version += 1
  }
}

function itemsOf(process: Process, needs: readonly Need[], { table, mono, note }: RowNeedsContext): Item[] {
  const { uuid, life } = process
  const holds = life.state === 'running' ? life.holds.map((hold) => holdView(hold, process, { context: { table }, mono })) : []
  const view = { note, holds, asks: life.state === 'dead' ? [] : openAsks(process).map(askView) }
  return needs.map((need) => {
    const needed = needView(need, { table, wall: -Infinity, top: null, view })
    return {
      id: need.id,
      uuid,
      root: needed.root,
      text: JSON.stringify(needed),
      need,
      isSnoozed: needed.snoozedUntil !== null,
    }
  })
}

function compareItems(a: Item, b: Item): number {
  return Number(a.isSnoozed) - Number(b.isSnoozed) || compareNeeds(a.need, b.need)
}
