// Questions of a crew to the user: a human task, a commit gate, a review that no worker can do. Has their texts and options. Must never
// answer for the user. Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { stateText } from '../state/phases.ts'
import { mayReview, workersOf } from '../state/queries.ts'
import { taskName } from '../text/task-text.ts'
import type { CrewDraft } from './draft.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'
import type { AskedFor } from '../../model/crew/words.ts'

/** maximum number of open questions per crew, so that the user can keep track of them */
const MAX_OPEN_QUESTIONS = 30

/** The options of each kind of question. An empty list: any text is an answer. */
export const ANSWER_OPTIONS: { readonly [F in AskedFor]: readonly string[] } = {
  human: [],
  gate: ['approve', 'deny', 'cancel'],
  review: ['approve', 'deny', 'cancel'],
}

const QUESTIONS: { readonly [F in AskedFor]: (task: Task, crew: Crew) => string } = {
  human: (task) => `${taskName(task)} is a question for you. Your answer goes to the tasks that need it.`,
  gate: (task) =>
    `May ${taskName(task)} be committed? ${task.implementer ?? 'No worker'} implemented it, and ${task.verdict === 'APPROVED' ? `${task.reviewer ?? 'the user'} approved it` : 'no one reviewed it'}. To deny, write what is missing.`,
  review: (task, crew) =>
    `${taskName(task)} waits for a review: ${noReviewReason(task, crew)}. ${task.implementer ?? 'No worker'} implemented it. To deny, write what is missing.`,
}

/** The reason why no worker reviews the task. */
function noReviewReason(task: Task, crew: Crew): string {
  const { silent, implementers } = task
  if (silent) return `${joinNames(silent.members)} gave no verdict; the last reason: ${silent.reason}`
  const others = workersOf(crew).filter((member) => mayReview(member, task))
  if (others.length === 0) return 'no other worker can review'
  const busy = others.filter(({ id }) => !implementers.includes(id))
  return busy.length === 0
    ? `${joinNames(others.map(({ id }) => id))} worked on it earlier`
    : `no other worker is free (${busy.map(({ id, phase, task }) => `${id} is ${stateText(phase)}${task ? ` (${task})` : ''}`).join(', ')})`
}

function joinNames(ids: readonly string[]): string {
  return ids.length < 2 ? ids.join('') : `${ids.slice(0, -1).join(', ')} and ${ids.at(-1)}`
}

export function canAskUser({ tasks }: Crew): boolean {
  return tasks.filter(({ ask: question }) => question !== null).length < MAX_OPEN_QUESTIONS
}

export function askUser(draft: CrewDraft, task: Task, reason: AskedFor): void {
  const id = `${task.id}.${task.asks + 1}`
  const question = QUESTIONS[reason](task, draft.crew)
  draft.emit({ type: 'task.asked', task: task.id, id, for: reason, question, options: ANSWER_OPTIONS[reason] })
  draft.addAct({ type: 'ask', task: task.id, id, question, options: ANSWER_OPTIONS[reason] })
}
