// Crew data in the views of processes: the record and the phase of a member, and the progress of a crew as a note.
import { expect, test } from 'vitest'
import { crewNote, memberRecord, phaseOf } from '../../../../src/daemon/views/member-view.ts'
import type { Crew, Member } from '../../../../src/kernel/model/crew/crew.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const worker = { id: 'worker-1', role: 'generic', phase: 'reviewing', task: 'a' } as unknown as Member
const crew = { members: [worker], tasks: [{ state: 'done' }, { state: 'queued' }] } as unknown as Crew
const row = { crew } as Process
const memberProcess = (id: string, role = 'generic', state = 'running'): Process =>
  ({ spec: { member: { crew: 'c', id, role } }, life: { state } }) as unknown as Process
const lookup = { row: (uuid: string): Process | undefined => (uuid === 'c' ? row : undefined) }

test('a member is found in the row of its living crew', () => {
  expect(memberRecord(memberProcess('worker-1'), lookup)).toBe(worker)
  expect(phaseOf(memberProcess('worker-1'), lookup)).toBe('reviewing')
  expect(memberRecord(memberProcess('worker-2'), lookup)).toBeUndefined()
  expect(phaseOf(memberProcess('worker-1'), { row: () => undefined })).toBeNull()
  expect(phaseOf(memberProcess('coordinator', 'coordinator'), lookup)).toBeNull()
  expect(memberRecord({ spec: {}, life: { state: 'running' } } as Process, lookup)).toBeUndefined()
})

test('an ended member has no phase: the record is that of its successor', () => {
  expect(phaseOf(memberProcess('worker-1', 'generic', 'dead'), lookup)).toBeNull()
})

test('a crew shows its progress', () => {
  expect(crewNote(row)).toBe('1/2 tasks done')
  expect(crewNote({ crew: { ...crew, tasks: [] } } as unknown as Process)).toBeNull()
  expect(crewNote({} as Process)).toBeNull()
})
