// Arranges processes as a tree: each process after its parent, with the lines that connect them. A process whose parent is not in the
// list is a root, so that no process is missing. Test: test/tables/cli/print/ps-columns.test.ts.
import type { ProcessView } from '../../api/views/process.ts'

type Node = Pick<ProcessView, 'pid' | 'ppid'>

/** A process of the tree. */
export interface Branch<T> {
  readonly view: T
  /** the lines that connect it with its parent: `│  └─ ` */
  readonly branch: string
}

export function treeBranches<T extends Node>(processes: readonly T[], ascii: boolean): Branch<T>[] {
  const byPid = new Map(processes.map((view) => [view.pid, view]))
  const children = Map.groupBy(processes, (view) => (view.ppid !== view.pid && byPid.has(view.ppid) ? view.ppid : null))
  const symbols = ascii ? { mid: '|- ', last: '`- ', on: '|  ', off: '   ' } : { mid: '├─ ', last: '└─ ', on: '│  ', off: '   ' }
  const rows: Branch<T>[] = []
  const add = (views: readonly T[], indent: string, isRoot: boolean): void => {
    for (const [i, view] of views.entries()) {
      const isLast = i === views.length - 1
      rows.push({ view, branch: isRoot ? '' : indent + (isLast ? symbols.last : symbols.mid) })
      add(children.get(view.pid) ?? [], isRoot ? '' : indent + (isLast ? symbols.off : symbols.on), false)
    }
  }
  add(children.get(null) ?? [], '', true)
  return rows
}

/** Returns all descendants of a process, each after its parent. */
export function descendantsOf<T extends Node>(pid: number, processes: readonly T[]): T[] {
  const children = Map.groupBy(processes, ({ ppid }) => ppid)
  const below = (parent: number): T[] => (children.get(parent) ?? []).flatMap((view) => [view, ...below(view.pid)])
  return below(pid)
}
