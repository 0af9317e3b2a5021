// Finds workers that can review now: idle workers, and workers whose own task waits. Guarantees that the files of such a worker are not
// needed during its review. Must never change anything. Test: test/tables/kernel/crew/state/waiting-reviewers.test.ts.
import { needsReview, mayReview, isFree, tasksById, workersOf } from './queries.ts'
import { awaitsVerify } from './verify-rules.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** Whether the member can review now: it is idle, or its own task waits and its files stay unchanged during the review. */
export function canTakeReview(crew: Crew, spec: CrewSpec, member: Member): boolean {
  if (isFree(crew, member)) return true
  const ownTask = member.phase === 'awaiting_review' ? tasksById(crew).get(member.task ?? '') : undefined
  return ownTask !== undefined && ownTask.prepared && !awaitsVerify(crew, spec, ownTask) && isFree(crew, { ...member, phase: 'idle' })
}

/** The members that can review now: first the idle ones, then those whose own task waits. */
export function availableReviewers(crew: Crew, spec: CrewSpec, members: readonly Member[]): readonly Member[] {
  const available = members.filter((member) => canTakeReview(crew, spec, member))
  return [...available.filter(({ phase }) => phase === 'idle'), ...available.filter(({ phase }) => phase !== 'idle')]
}

/** Whether the task needs a review, and a worker that was not asked yet could do it now. True even if the user was asked instead. */
export function isReviewable(crew: Crew, spec: CrewSpec, task: Task): boolean {
  return (
    needsReview(task) &&
    workersOf(crew).some(
      (member) =>
        mayReview(member, task) &&
        !task.implementers.includes(member.id) &&
        !task.silent?.members.includes(member.id) &&
        canTakeReview(crew, spec, member),
    )
  )
}
