// Texts about a task: its name, branch, commit and files in messages, and its description with all later edits. Also has the messages to
// workers whose task was changed or reopened. Finds the facts that hold the description. Must never decide.
// Test: test/tables/kernel/crew/decide/commands/edit-task.test.ts.
import type { CrewSpec } from '../../model/process-spec.ts'
import type { CrewFact } from '../../model/crew/facts.ts'
import type { Task } from '../../model/crew/crew.ts'
import type { Phase } from '../../model/crew/words.ts'

/** the maximum number of files that a text names */
const MAX_NAMED_FILES = 20

/** The name of a task in texts: `task-3 "Title"`. */
export function taskName({ id, title }: Pick<Task, 'id' | 'title'>): string {
  return `${id} "${title}"`
}

/** The name of the branch that keeps a task's commit until the merge, for texts. The branch outlives the worker. */
export function taskBranchText({ git }: CrewSpec, task: Pick<Task, 'id'>): string {
  return git ? `branch ${git.branch}.${task.id}` : 'no branch'
}

/** The names of the first conflicting or changed files; further files are left out. */
export function firstFileNames(files: readonly string[]): string {
  return files.slice(0, MAX_NAMED_FILES).join(', ')
}

/** The short form of a commit id. */
export function shortCommit(commit: string | null): string {
  return (commit ?? '').slice(0, 10)
}

/** Seqs of the facts that hold the task's current texts, oldest first. */
export function textSeqs({ seqs: { text, newText, newAcceptance, reopened } }: Pick<Task, 'seqs'>): readonly number[] {
  return [...new Set([text, newText, newAcceptance, reopened].filter((seq) => seq !== undefined))].toSorted((a, b) => a - b)
}

/** Whether a text has changed since the facts with these seqs were read. */
export function areTextsStale(task: Task, readSeqs: readonly number[]): boolean {
  return textSeqs(task).some((seq) => !readSeqs.includes(seq))
}

/** The current text and acceptance criteria of a task. `text` is null if it could not be read. */
export function taskTextsOf(
  task: Pick<Task, 'id'>,
  facts: readonly CrewFact[],
): { readonly text: string | null; readonly acceptance: string | null } {
  let [text, acceptance]: (string | null)[] = [null, null]
  for (const fact of facts) {
    if ((fact.type !== 'task.added' && fact.type !== 'task.edited') || fact.task !== task.id) continue
    text = fact.text ?? text ?? null
    acceptance = fact.acceptance ?? acceptance ?? null
  }
  return { text: text ?? null, acceptance: acceptance ?? null }
}

/** The paragraph about the earlier result of a reopened task. Empty for other tasks. */
export function reopenedText(task: Task, facts: readonly CrewFact[]): string {
  const fact = facts.findLast((fact) => fact.type === 'task.reopened' && fact.task === task.id)
  if (fact?.type !== 'task.reopened') return ''
  const commit = task.earlier?.commit ?? null
  return `This task was done before${commit === null ? '' : ` (${commit}, which is your starting point)`}, and the user sent it back: ${fact.comments}\n\nKeep the existing work and address these comments.`
}

const DUTY_BY_PHASE: { readonly [P in Phase]?: string } = {
  implementing: 'Implement the task as described now, then call report_implementation_complete.',
  addressing_feedback: 'Implement the task as described now, then call report_implementation_complete.',
  reviewing: 'Review the change against this description, then call report_review_verdict.',
  awaiting_review: 'The review uses this description. You have nothing to do now: call signal_ready.',
}

/** The message to an implementer or reviewer whose task was changed. */
export function changedTaskText(
  task: Task,
  { text, acceptance }: { readonly text: string | undefined; readonly acceptance: string | undefined },
  { by, phase }: { readonly by: 'user' | 'coordinator'; readonly phase: Phase },
): string {
  const parts = [
    `The ${by} changed ${taskName(task)}.`,
    text,
    acceptance === undefined ? undefined : `Accepted when: ${acceptance}`,
    DUTY_BY_PHASE[phase],
  ]
  return parts.filter((part) => part !== undefined).join('\n\n')
}
