// How lists and command lines name a process. Pure. Test: test/tables/faces/process-names.test.ts.
import type { RowView } from '../api/views/rows.ts'

/** What lists call a process: its name, what it is about, or its PID. */
export function titleOf({ name, about, pid }: Pick<RowView, 'name' | 'about' | 'pid'>): string {
  return name ?? (about === '' ? `process ${pid}` : about)
}

/** How the command line names a process. */
export function commandName({ name, pid }: Pick<RowView, 'name' | 'pid'>): string {
  return name !== null && /^[\w.-]+$/.test(name) ? name : String(pid)
}
