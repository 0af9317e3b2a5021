// Merges as the daemon does: creates a candidate, then moves the branch to it. If the branch has moved meanwhile, the merge
// starts again. For tests that check only the result of a merge.
import { landCandidate, makeCandidate } from '../../../src/drivers/git/crew/merge.ts'
import type { CandidateEnd, CrewBranch, LandEnd, MergeRequest } from '../../../src/drivers/git/crew/merge.ts'
import type { Git } from '../../../src/drivers/git/git.ts'

const REF = 'refs/reeve/merge/test'

export async function mergeIntoBranch(
  git: Git,
  crew: CrewBranch,
  request: Omit<MergeRequest, 'ref'>,
): Promise<Exclude<CandidateEnd, { type: 'candidate' }>> {
  for (;;) {
    const candidate = await makeCandidate(git, crew, { ...request, ref: REF })
    if (candidate.type !== 'candidate') return candidate
    const landing: LandEnd = await landCandidate(git, crew, { ...request, ref: REF, candidate: candidate.commit, head: candidate.head })
    if (landing.type !== 'moved') return landing
  }
}
