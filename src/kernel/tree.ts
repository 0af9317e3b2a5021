// The tree of processes as it is now: descendants and ancestors by `parent`, which orphans change and `parentUuid` does not.
// Owns no state. Test: test/properties/kernel.test.ts.
import { isLiving } from './status.ts'
import type { Process, Uuid } from './types.ts'
import type { View } from './view.ts'

/** The process and all its living descendants, each parent before its children. */
export function livingSubtree(view: View, root: Uuid): Process[] {
  const found: Process[] = []
  const queue: Uuid[] = [root]
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const process = view.get(next)
    if (!process) continue
    if (isLiving(process)) found.push(process)
    queue.push(...view.children(next))
  }
  return found
}

/** Living ancestors in the tree, nearest first; without PID 0. */
export function livingAncestors(view: View, process: Process): Process[] {
  const found: Process[] = []
  for (let uuid = process.parent; uuid !== null; ) {
    const ancestor = view.get(uuid)
    if (!ancestor || !isLiving(ancestor)) break
    found.push(ancestor)
    uuid = ancestor.parent
  }
  return found
}

export function livingChildren(view: View, uuid: Uuid): Process[] {
  const found: Process[] = []
  for (const child of view.children(uuid)) {
    const process = view.get(child)
    if (process && isLiving(process)) found.push(process)
  }
  return found
}
