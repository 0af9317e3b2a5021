// Finds the last step that the histories of two processes have in common. They have one if a process is a fork of the other, or both are
// forks of a third one. Tests: test/e2e/worktree/files.test.ts, test/e2e/lifecycle/compare.test.ts.
import type { Process } from '../../../kernel/model/process.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'

/** The greatest number of origins that are followed. */
const MAX_ORIGINS = 1_000

/** Finds a process, dead or alive. */
interface ProcessFinder {
  find(uuid: Uuid): Promise<Process | undefined>
}

/** Returns the last common step; null if the processes are not related, or an origin that would show it was removed. */
export async function findCommonStep(reads: ProcessFinder, a: Process, b: Process): Promise<number | null> {
  const steps = await sharedSteps(reads, a)
  for (const [uuid, step] of await sharedSteps(reads, b)) {
    const other = steps.get(uuid)
    if (other !== undefined) return Math.min(step, other)
  }
  return null
}

/** Returns the process and its origins, each with the last step of it that belongs to the history of the process. */
async function sharedSteps(reads: ProcessFinder, process: Process): Promise<Map<Uuid, number>> {
  const steps = new Map([[process.uuid, process.progress.step]])
  let limit = process.progress.step
  for (let fork: Process | undefined = process; fork?.originUuid && steps.size < MAX_ORIGINS; fork = await reads.find(fork.originUuid)) {
    limit = Math.min(limit, fork.originStep ?? 0)
    steps.set(fork.originUuid, limit)
  }
  return steps
}
