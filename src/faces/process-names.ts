// How lists and command lines name a process. A name, and what a process is about, may have any characters: the texts for lists show hidden
// ones as escapes. Pure. Test: test/tables/faces/process-names.test.ts.
import type { RowView } from '../api/views/rows.ts'
import { visibleText } from './visible-text.ts'

/** What lists call a process: its name, what it is about, or its PID. */
export function titleOf({ name, about, pid }: Pick<RowView, 'name' | 'about' | 'pid'>): string {
  return visibleText(name ?? (about === '' ? `process ${pid}` : about))
}

/** The name of a process, or else its PID after a word such as `process` or `run`. */
export function nameOf({ name, pid }: Pick<RowView, 'name' | 'pid'>, what = 'process'): string {
  return name === null ? `${what} ${pid}` : visibleText(name)
}

/** How the command line names a process. */
export function commandName({ name, pid }: Pick<RowView, 'name' | 'pid'>): string {
  return name !== null && /^[\w.-]+$/.test(name) ? name : String(pid)
}

/** The most useful command for a process: one that ends its wait, or else one that shows it. */
export function mainCommand(row: Pick<RowView, 'name' | 'pid' | 'asks' | 'status' | 'endedAt' | 'kind'>): string {
  const name = commandName(row)
  if (row.asks > 0) return `reeve answer ${name}`
  if (row.status === 'suspended') return `reeve resume ${name}`
  return row.endedAt === null && row.kind === 'agent' ? `reeve attach ${name}` : `reeve inspect ${name}`
}
