// Finds all processes below a process, living and ended, from the facts about its children. A removed child is known by its UUID alone, and
// its own children are then unknown. Tests: test/tables/daemon/views/spans.test.ts, test/e2e/cli/logs.test.ts.
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Store } from '../../store/store.ts'

/** The greatest number of processes of a tree that is read. */
const MAX_TREE = 10_000
const PAGE_FACTS = 100

export interface TreeDeps {
  readonly store: Pick<Store, 'tail'>
  readonly slices: SliceQueue
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined> }
}

export interface ProcessTree {
  /** the process itself, then its descendants, parents first */
  readonly processes: readonly Process[]
  /** the UUIDs of all of them, also of removed ones */
  readonly uuids: ReadonlySet<Uuid>
}

/** Returns a process with all its descendants, up to a limit. */
export async function readTree({ store, reads, slices }: TreeDeps, root: Process): Promise<ProcessTree> {
  const uuids = new Set([root.uuid])
  const processes = [root]
  for (const process of processes) {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      await slices.next()
      const page = await store.tail(process.uuid, PAGE_FACTS, ['child.spawned'], before)
      for (const { uuid, body } of page) {
        // A fork has the facts of its origin, whose children are not its own.
        if (uuid !== process.uuid || body.type !== 'child.spawned' || uuids.has(body.child) || uuids.size >= MAX_TREE) continue
        uuids.add(body.child)
        const child = await reads.find(body.child)
        if (child) processes.push(child)
      }
      if (page.length < PAGE_FACTS) break
      before = page[0]?.seq ?? 0
    }
  }
  return { processes, uuids }
}
