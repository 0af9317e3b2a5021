// Processes as a tree: each row after its parent, with the branches that lead to it. A row whose parent is not in the
// list is a root, so that none is ever left out. Test: test/tables/cli-views.test.ts.
import type { ProcessView } from '../api/views.ts'

type Node = Pick<ProcessView, 'pid' | 'ppid'>

export interface Branch<T> {
  readonly view: T
  readonly branch: string
}

export function branches<T extends Node>(processes: readonly T[], ascii: boolean): Branch<T>[] {
  const byPid = new Map(processes.map((view) => [view.pid, view]))
  const children = Map.groupBy(processes, (view) => (view.ppid !== view.pid && byPid.has(view.ppid) ? view.ppid : null))
  const art = ascii ? { mid: '|- ', last: '`- ', on: '|  ', off: '   ' } : { mid: '├─ ', last: '└─ ', on: '│  ', off: '   ' }
  const rows: Branch<T>[] = []
  const add = (views: readonly T[], indent: string, isRoot: boolean): void => {
    for (const [i, view] of views.entries()) {
      const isLast = i === views.length - 1
      rows.push({ view, branch: isRoot ? '' : indent + (isLast ? art.last : art.mid) })
      add(children.get(view.pid) ?? [], isRoot ? '' : indent + (isLast ? art.off : art.on), false)
    }
  }
  add(children.get(null) ?? [], '', true)
  return rows
}

/** All below a process, each after its parent. */
export function descendants<T extends Node>(pid: number, processes: readonly T[]): T[] {
  const children = Map.groupBy(processes, ({ ppid }) => ppid)
  const below = (parent: number): T[] => (children.get(parent) ?? []).flatMap((view) => [view, ...below(view.pid)])
  return below(pid)
}
