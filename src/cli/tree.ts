// Processes as a tree: each row after its parent, with the branches that lead to it. A row whose parent is not in the
// list is a root, so that none is ever left out. Test: test/tables/cli-views.test.ts.
import type { ProcessView } from '../api/views.ts'

export interface Row {
  readonly view: ProcessView
  readonly branch: string
}

export function branches(processes: readonly ProcessView[], ascii: boolean): Row[] {
  const byPid = new Map(processes.map((view) => [view.pid, view]))
  const children = Map.groupBy(processes, (view) => (view.ppid !== view.pid && byPid.has(view.ppid) ? view.ppid : null))
  const art = ascii ? { mid: '|- ', last: '`- ', on: '|  ', off: '   ' } : { mid: '├─ ', last: '└─ ', on: '│  ', off: '   ' }
  const rows: Row[] = []
  const add = (views: readonly ProcessView[], indent: string, isRoot: boolean): void => {
    for (const [i, view] of views.entries()) {
      const isLast = i === views.length - 1
      rows.push({ view, branch: isRoot ? '' : indent + (isLast ? art.last : art.mid) })
      add(children.get(view.pid) ?? [], isRoot ? '' : indent + (isLast ? art.off : art.on), false)
    }
  }
  add(children.get(null) ?? [], '', true)
  return rows
}
