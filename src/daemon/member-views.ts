// Members of crews as rows of the table show them: role, phase and task, from the crew's own row; and a crew in a word.
// Tasks and phases stand nowhere else. Test: test/tables/crew-view.test.ts.
import type { Member } from '../crew/types.ts'
import type { Process } from '../kernel/types.ts'
import type { Around } from './restart-views.ts'

/** What its crew knows of it; undefined for who is no member, and when the crew has ended. */
export function memberRow({ spec }: Process, { row }: Around): Member | undefined {
  const { member } = spec
  return member && row?.(member.crew)?.crew?.members.find(({ id }) => id === member.id)
}

/** A coordinator has none. */
export function phaseOf(process: Process, around: Around): Member['phase'] | null {
  return process.spec.member?.role === 'coordinator' ? null : (memberRow(process, around)?.phase ?? null)
}

/** `2/5 tasks done`, of a crew that has some. */
export function crewNote({ crew }: Process): string | null {
  if (!crew || crew.tasks.length === 0) return null
  return `${crew.tasks.filter(({ state }) => state === 'done').length}/${crew.tasks.length} tasks done`
}
