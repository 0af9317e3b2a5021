// Walks through the current process tree by `parent`, which changes when a process is reparented; `parentUuid` does not.
// Test: test/properties/kernel.test.ts.
import { isLiving } from '../model/status.ts'
import type { Process } from '../model/process.ts'
import type { LiveTable } from './live-table.ts'
import type { Uuid } from '../model/ids.ts'

/** The process and all its living descendants, each parent before its children. */
export function livingSubtree(table: LiveTable, root: Uuid): Process[] {
  const found: Process[] = []
  const queue: Uuid[] = [root]
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const process = table.get(next)
    if (!process) continue
    if (isLiving(process)) found.push(process)
    queue.push(...table.children(next))
  }
  return found
}

/** The living ancestors of a process, nearest first, without PID 0. */
export function livingAncestors(table: LiveTable, process: Process): Process[] {
  const found: Process[] = []
  for (let uuid = process.parent; uuid !== null;) {
    const ancestor = table.get(uuid)
    if (!ancestor || !isLiving(ancestor)) break
    found.push(ancestor)
    uuid = ancestor.parent
  }
  return found
}

export function livingChildren(table: LiveTable, uuid: Uuid): Process[] {
  const found: Process[] = []
  for (const child of table.children(uuid)) {
    const process = table.get(child)
    if (process && isLiving(process)) found.push(process)
  }
  return found
}
