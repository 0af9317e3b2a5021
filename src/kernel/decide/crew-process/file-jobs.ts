// Finds the crew jobs that use a member's files. While such a job is open, the member begins no turn. Test:
// test/tables/kernel/decide/crew-process/apply-command.test.ts.
import { needsUnusedFiles } from '../../crew/state/queries.ts'
import type { Process } from '../../model/process.ts'
import type { LiveTable } from '../../state/live-table.ts'
import type { MemberId } from '../../model/crew/words.ts'
import type { Job } from '../../model/crew/facts.ts'

/** True when the process is a crew member, and its crew has an open job that uses the member's files. */
export function areFilesChanging(table: LiveTable, { spec: { member } }: Process): boolean {
  const jobs = member && table.get(member.crew)?.crew?.jobs
  return jobs !== undefined && jobs.some((job) => job.member === member?.id && needsUnusedFiles(job))
}

/** The members whose files were used by the finished jobs. `done`: ids of the finished jobs. */
export function membersWithFinishedFileJobs(jobs: readonly Job[], done: readonly number[]): readonly MemberId[] {
  return jobs.filter((job) => done.includes(job.job) && needsUnusedFiles(job)).map(({ member }) => member)
}
