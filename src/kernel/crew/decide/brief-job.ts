// Requests the texts for a worker's instructions. Only facts hold these texts, so the daemon must read them.
// Must never touch files; the job `prepare` does that. Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { textSeqs } from '../text/task-text.ts'
import type { CrewDraft } from './draft.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'
import type { MemberId } from '../../model/crew/words.ts'

/** Seqs of the task's texts, of the results of needed tasks, and of the report about the kept files. */
export function seqsToRead({ tasks }: Crew, task: Task): readonly number[] {
  const { seqs, needs, keeps } = task
  const ownSeqs = [...textSeqs(task), seqs.verdict, seqs.handover, seqs.verify ?? null, keeps ? seqs.report : null]
  const resultSeqs = tasks.filter(({ id }) => needs.includes(id)).map((need) => need.seqs.answer ?? need.seqs.report)
  return [...ownSeqs, ...resultSeqs].filter((seq) => seq !== null)
}

/** Requests a `brief` job. Its result becomes the review request for a reviewer, or repeated instructions for the implementer. */
export function briefWorker(draft: CrewDraft, task: Task, member: MemberId): void {
  const { report } = task.seqs
  const seqs = member === task.reviewer ? [...textSeqs(task), report].filter((seq) => seq !== null) : seqsToRead(draft.crew, task)
  const { differs } = task.landing ?? {}
  draft.requestJob({
    type: 'brief',
    member,
    task: task.id,
    implementer: task.implementer,
    read: seqs,
    ...(differs ? { commit: differs.commit } : {}),
  })
}
