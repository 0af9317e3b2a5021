// Which texts somebody needs who is told what to do: they stand in facts alone, so the daemon is asked to read them.
// Must never touch files: that is the job `prepare`. Test: test/tables/crew-ways.test.ts.
import type { CrewWork } from './crew-work.ts'
import type { Crew, MemberId, Task } from './types.ts'

/** Its own texts, and what those that it needs came to. */
export function textsFor({ tasks }: Crew, { seqs, needs }: Task): readonly number[] {
  const own = [seqs.text, seqs.verdict, seqs.handover]
  const others = tasks.filter(({ id }) => needs.includes(id)).map((need) => need.seqs.answer ?? need.seqs.report)
  return [...own, ...others].filter((seq) => seq !== null)
}

/** A reviewer is told what to review; an implementer hears again what it has to do. */
export function brief(work: CrewWork, task: Task, member: MemberId): void {
  const { text, report } = task.seqs
  const read = member === task.reviewer ? [text, report].filter((seq) => seq !== null) : textsFor(work.crew, task)
  work.job({ type: 'brief', member, task: task.id, implementer: task.implementer, read })
}
