// The names of a crew's branches and refs in the user's repository: branches of members and of tasks, and refs under `refs/reeve/`. The
// branches and refs are created and removed in git.ts. Test: test/processes/crew/jobs.test.ts.
import { HANDOVER_REFS } from '../../../drivers/git/salvage.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { MemberId, TaskId } from '../../../kernel/model/crew/words.ts'
import type { CrewGitSpec } from '../../../kernel/model/process-spec.ts'

const CREW_BRANCH_PREFIX = 'reeve/'
/** the prefix of all refs with salvaged files */
export const SALVAGE_REFS = 'refs/reeve/salvage/'

/** The prefix of the refs with salvaged files of a crew's members. */
export function salvagePrefix({ branch }: CrewGitSpec): string {
  return `${SALVAGE_REFS}${branch.slice(CREW_BRANCH_PREFIX.length)}`
}

/** The branch of a member. Its name has a dot and no slash, because git allows no branch below another one. */
export function memberBranch({ branch }: CrewGitSpec, member: MemberId): string {
  return `${branch}.${member}`
}

export function taskBranch({ branch }: CrewGitSpec, task: TaskId): string {
  return `${branch}.${task}`
}

/** The review ref, which keeps the files under review. It is deleted when they have landed. */
export function reviewRef({ branch }: CrewGitSpec, task: TaskId): string {
  return `refs/reeve/review/${branch.slice(CREW_BRANCH_PREFIX.length)}/${task}`
}

/** The ref of the approved files merged with the crew's branch. A commit that differs is compared with this ref. */
export function approvedRef({ branch }: CrewGitSpec, task: TaskId): string {
  return `refs/reeve/approved/${branch.slice(CREW_BRANCH_PREFIX.length)}/${task}`
}

/** The ref of the merge candidate, to which no branch points yet. */
export function mergeRef({ branch }: CrewGitSpec, task: TaskId): string {
  return `refs/reeve/merge/${branch.slice(CREW_BRANCH_PREFIX.length)}/${task}`
}

/**
 * The refs of an ended crew that keep files under review, and files for successors. Empty for a crew that has not ended.
 * `until`: the end of the crew, in wall ms.
 */
export function temporaryRefsOf(
  { crew, life, clock: { exitedAt } }: Process,
  spec: CrewGitSpec,
): { readonly refs: readonly string[]; readonly until: number } {
  if (life.state !== 'dead' || exitedAt === null) return { refs: [], until: 0 }
  const reviewed = (crew?.tasks ?? []).flatMap(({ id, merged }) => (merged === null ? [reviewRef(spec, id)] : []))
  const handedOver = (crew?.members ?? []).flatMap(({ uuid }) => (uuid === null ? [] : [`${HANDOVER_REFS}${uuid}`]))
  return { refs: [...reviewed, ...handedOver], until: exitedAt }
}
