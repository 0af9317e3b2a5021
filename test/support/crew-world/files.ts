// The files in the simulated world of a crew: each edit makes a new version, and a commit contains the current version. A commit
// is compared with the reviewed files, as the daemon does with git. Used mainly by regular-work.ts and random-faults.ts.
import type { MemberProcess, CrewWorld } from './world.ts'
import type { Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>

/** Changes a member's files. */
export function editFiles(world: CrewWorld, proc: MemberProcess): void {
  if (world.repository) return world.repository.edit(proc)
  proc.isDirty = true
  world.editCount += 1
  proc.files = `files-${world.editCount}`
}

export function commitFiles(world: CrewWorld, proc: MemberProcess): void {
  if (world.repository) return world.repository.commit(proc)
  proc.commit = addCommit(world, proc, proc.files)
  proc.isDirty = false
}

/** Resets a member's files to the base. */
export function resetFiles(proc: MemberProcess): void {
  Object.assign(proc, { files: 'base', isDirty: false, commit: null })
}

function addCommit(world: CrewWorld, { id }: MemberProcess, files: string): string {
  const name = `${id}-${world.nextNumber()}`
  world.filesByCommit.set(name, files)
  return name
}

/** Saves files on the task's ref, for its next implementer. */
export function keepFiles(world: CrewWorld, task: string, files: string): void {
  world.filesByCommit.set(`ref of ${task}`, files)
}

export function keptFiles(world: CrewWorld, { keeps, task }: JobOf<'prepare'>): string {
  return (keeps && world.filesByCommit.get(`ref of ${task}`)) ?? 'base'
}

/** The commit for a reviewer: a commit under a new review, the verified files, or the current ones. */
export function reviewCommitOf(world: CrewWorld, proc: MemberProcess | undefined, job: JobOf<'brief'>): string {
  if (job.commit !== undefined) return job.commit
  const { check } = world.crew.tasks.find(({ id }) => id === job.task) ?? {}
  const files = (check?.ok ? check.tree : null) ?? proc?.files ?? 'base'
  world.filesByCommit.set(`view-${files}`, files)
  keepFiles(world, job.task, files)
  return `view-${files}`
}

export function commitResult(world: CrewWorld, proc: MemberProcess, { reviewed, force, instead }: JobOf<'commit'>): JobResult {
  if (reviewed === undefined) {
    if (proc.commit === null && force && proc.isDirty) commitFiles(world, proc)
    return { type: 'committed', commit: proc.commit, dirty: proc.isDirty }
  }
  const files = world.filesByCommit.get(reviewed) ?? 'base'
  if (proc.commit !== null && world.filesByCommit.get(proc.commit) === files)
    return { type: 'committed', commit: proc.commit, dirty: false }
  if (proc.commit !== null && !instead) return { type: 'differs', commit: proc.commit, from: reviewed, files: ['a.ts'] }
  if (proc.commit === null && proc.isDirty && !force) return { type: 'committed', commit: null, dirty: true }
  return { type: 'committed', commit: files === 'base' && proc.commit === null ? null : addCommit(world, proc, files), dirty: false }
}
