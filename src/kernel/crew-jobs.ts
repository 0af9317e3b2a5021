// Jobs of a crew as far as the kernel must know of them: while the files of a member are brought to another place, it begins no turn.
// Test: test/tables/crewing.test.ts.
import type { Job, MemberId } from '../crew/types.ts'
import type { Process } from './types.ts'
import type { View } from './view.ts'

/** Jobs that change the files of their member. */
const CHANGING: ReadonlySet<Job['type']> = new Set(['prepare', 'reset'])

/** Its crew, if that lives, has asked for it and waits for the answer. */
export function areFilesChanged(view: View, { spec: { member } }: Process): boolean {
  const jobs = member && view.get(member.crew)?.crew?.jobs
  return jobs !== undefined && jobs.some((job) => job.member === member?.id && CHANGING.has(job.type))
}

/** Whose job it was. */
export function membersOf(jobs: readonly Job[], done: readonly number[]): readonly MemberId[] {
  return jobs.filter(({ job, type }) => done.includes(job) && CHANGING.has(type)).map(({ member }) => member)
}
