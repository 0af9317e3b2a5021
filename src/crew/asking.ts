// What a crew asks a person: a task for people, a gate, a review that nobody else can do. Owns the questions and their options.
// Must never decide in a person's place. Test: test/tables/crew-ways.test.ts.
import { named } from './finding.ts'
import type { CrewWork } from './crew-work.ts'
import type { AskedFor, Crew, Task } from './types.ts'

/** asks that one crew has open at a time: a person sees what comes first */
const MAX_ASKS = 30

/** None: any text is an answer. */
export const OPTIONS: { readonly [F in AskedFor]: readonly string[] } = {
  human: [],
  gate: ['approve', 'deny', 'cancel'],
  review: ['approve', 'deny', 'cancel'],
}

const QUESTIONS: { readonly [F in AskedFor]: (task: Task) => string } = {
  human: (task) => `${named(task)} is a task for you: what you answer goes to the tasks that need it.`,
  gate: (task) => `May ${named(task)} be committed? ${task.implementer ?? 'Nobody'} did it, ${task.verdict === 'APPROVED' ? `${task.reviewer ?? 'a person'} approved it` : 'nobody reviewed it'}. With deny, say what is missing.`,
  review: (task) => `${named(task)} waits for a review, and no worker can do it: ${task.implementer ?? 'nobody'} implemented it. With deny, say what is missing.`,
}

export function mayAsk({ tasks }: Crew): boolean {
  return tasks.filter(({ ask: open }) => open !== null).length < MAX_ASKS
}

export function ask(work: CrewWork, task: Task, reason: AskedFor): void {
  const id = `${task.id}.${task.asks + 1}`
  const question = QUESTIONS[reason](task)
  work.emit({ type: 'task.asked', task: task.id, id, for: reason, question, options: OPTIONS[reason] })
  work.act({ type: 'ask', task: task.id, id, question, options: OPTIONS[reason] })
}
