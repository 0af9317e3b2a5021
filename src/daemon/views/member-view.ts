// Reads the phase and task of a member, and the progress of a crew as a note, from the row of the crew.
// Test: test/tables/daemon/views/member-view.test.ts.
import type { Member } from '../../kernel/model/crew/crew.ts'
import type { Process } from '../../kernel/model/process.ts'
import { uncheckedText } from '../../kernel/model/crew/unchecked-tasks.ts'
import type { RowLookup } from './row-lookup.ts'

/**
 * Returns the record of a member in its crew. Returns undefined for other processes, and if the process or its crew has ended. The record
 * of an ended member belongs to its successor.
 */
export function memberRecord({ spec, life }: Process, { row }: RowLookup): Member | undefined {
  const { member } = spec
  if (life.state === 'dead') return undefined
  return member && row?.(member.crew)?.crew?.members.find(({ id }) => id === member.id)
}

/** The phase of a worker; null for a coordinator and for other processes. */
export function phaseOf(process: Process, lookup: RowLookup): Member['phase'] | null {
  return process.spec.member?.role === 'coordinator' ? null : (memberRecord(process, lookup)?.phase ?? null)
}

/** The progress of a crew, such as `2/5 tasks done`; null without tasks. */
export function crewNote({ crew }: Process): string | null {
  if (!crew || crew.tasks.length === 0) return null
  return `${crew.tasks.filter(({ state }) => state === 'done').length}/${crew.tasks.length} tasks done${uncheckedText(crew.tasks)}`
}
