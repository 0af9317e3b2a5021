// The order of a crew's tasks: higher priority first. Tasks of equal priority keep the order in which they were added, unless a task was
// moved before another. Handles the command `set_priority`. `sortByRank` in queries.ts applies the order. Must never change the worker of a
// task. Test: test/tables/kernel/crew/decide/commands/task-order.test.ts.
import { refusalError } from '../refusal-error.ts'
import { stateText } from '../../state/phases.ts'
import { priorityOf } from '../../state/queries.ts'
import { taskName } from '../../text/task-text.ts'
import { senderOfIssuer, checkPriority } from './task-commands.ts'
import { isClosed } from '../../state/task-states.ts'
import type { Command } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Task } from '../../../model/crew/crew.ts'
import type { TaskId } from '../../../model/crew/words.ts'

/** Errors: NOT_FOUND, INVALID, CONFLICT. */
export function setPriority(draft: CrewDraft, { task: id, priority, before }: Extract<Command, { type: 'set_priority' }>): string {
  const task = requireOpen(draft, id)
  if ((priority === undefined) === (before === undefined))
    throw refusalError('INVALID', 'either `priority` or `before` is required', 'Give exactly one of them.')
  checkPriority(priority ?? 0)
  const other = before === undefined ? undefined : requireOpen(draft, before)
  if (other?.id === id) throw refusalError('INVALID', `${taskName(task)} cannot come before itself`, 'Name another task.')
  const newPriority = other ? priorityOf(other) : (priority ?? 0)
  draft.emit({ type: 'task.ordered', task: id, priority: newPriority, ...(other ? { before: other.id } : {}), by: senderOfIssuer(draft) })
  return other ? `${taskName(task)} comes before ${taskName(other)}` : `${taskName(task)} has priority ${newPriority}`
}

function requireOpen(draft: CrewDraft, id: TaskId): Task {
  const task = draft.requireTask(id)
  if (isClosed(task)) throw refusalError('CONFLICT', `${taskName(task)} is ${stateText(task.state)}`, 'Only open tasks can be ordered.')
  return task
}
