// Handles the user's answer to a question of the crew. Has the meaning of each option. An answer to a closed question changes nothing.
// Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { closeTask } from '../release-task.ts'
import { taskName } from '../../text/task-text.ts'
import { denyTask } from './worker-reports.ts'
import type { Command } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Task } from '../../../model/crew/crew.ts'

type Answer = Extract<Command, { type: 'answered' }>

export function applyUserAnswer(draft: CrewDraft, command: Answer): string {
  const task = draft.findTask(command.task)
  if (task?.state !== 'waiting' || !task.ask || (command.id !== undefined && command.id !== task.ask.id)) return 'late: nothing was changed'
  const kind = task.ask.for
  draft.emit({ type: 'task.answered', task: task.id, option: command.option, text: command.text })
  const updatedTask = draft.requireTask(task.id)
  if (kind === 'human')
    closeTask(
      draft,
      updatedTask,
      { type: 'task.done', task: updatedTask.id, reason: command.text },
      `${taskName(updatedTask)} is done: ${command.text ?? 'answered by the user'}`,
    )
  else applyAnswer(draft, updatedTask, kind, command)
  return `${taskName(task)} is answered`
}

/** Applies an answer about a change. A text without an option is a denial, with the text as comments. */
function applyAnswer(draft: CrewDraft, task: Task, kind: 'gate' | 'review', { option, text }: Answer): void {
  if (option === 'cancel')
    return closeTask(
      draft,
      task,
      { type: 'task.cancelled', task: task.id, reason: text ?? 'cancelled by the user' },
      `${taskName(task)} was cancelled by the user`,
    )
  if (option === 'approve' && kind === 'gate') return draft.emit({ type: 'task.approved', task: task.id, by: 'user' })
  if (option === 'approve')
    return draft.emit({ type: 'task.verdict', task: task.id, member: null, verdict: 'APPROVED', comments: text ?? '' })
  denyTask(draft, task, null, text ?? 'denied by the user')
}
