// A crew's row as people see it: copies of what it has, its members with what their processes say, and notes for the table.
import { expect, test } from 'vitest'
import { crewNote, memberRow, phaseOf } from '../../src/daemon/member-views.ts'
import type { Crew, Member } from '../../src/crew/types.ts'
import type { Process } from '../../src/kernel/types.ts'

const worker = { id: 'worker-1', role: 'generic', phase: 'reviewing', task: 'a' } as unknown as Member
const crew = { members: [worker], tasks: [{ state: 'done' }, { state: 'queued' }] } as unknown as Crew
const row = { crew } as Process
const member = (id: string, role = 'generic'): Process => ({ spec: { member: { crew: 'c', id, role } } }) as unknown as Process
const around = { row: (uuid: string): Process | undefined => (uuid === 'c' ? row : undefined) }

test('a member is found in the row of its crew, while that lives', () => {
  expect(memberRow(member('worker-1'), around)).toBe(worker)
  expect(phaseOf(member('worker-1'), around)).toBe('reviewing')
  expect(memberRow(member('worker-2'), around)).toBeUndefined()
  expect(phaseOf(member('worker-1'), { row: () => undefined })).toBeNull()
  expect(phaseOf(member('coordinator', 'coordinator'), around)).toBeNull()
  expect(memberRow({ spec: {} } as Process, around)).toBeUndefined()
})

test('a crew says how far it is', () => {
  expect(crewNote(row)).toBe('1/2 tasks done')
  expect(crewNote({ crew: { ...crew, tasks: [] } } as unknown as Process)).toBeNull()
  expect(crewNote({} as Process)).toBeNull()
})
