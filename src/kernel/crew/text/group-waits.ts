// Groups tasks that wait for the same thing into one line, because hundreds of tasks may wait. Pure.
// Test: test/tables/kernel/crew/text/group-waits.test.ts.
import { taskName } from './task-text.ts'
import type { Task } from '../../model/crew/crew.ts'

/** minimum number of tasks with the same reason that become one line */
const MIN_GROUP_TASKS = 3
/** maximum number of tasks that such a line names */
const MAX_NAMED_TASKS = 5
const WAITS_PREFIX = 'waits '

export interface TaskWait {
  readonly task: Task
  /** begins with `taskName(task)` */
  readonly line: string
}

/** Joins lines with the same reason, at the place of the first. Questions to the user are never joined: each needs its own answer. */
export function groupWaits(waits: readonly TaskWait[]): readonly string[] {
  const groups = Map.groupBy(waits, (wait) => reasonOf(wait) ?? wait)
  return [...groups].flatMap(([reason, group]) =>
    typeof reason === 'string' && group.length >= MIN_GROUP_TASKS ? [groupLine(reason, group)] : group.map(({ line }) => line),
  )
}

function reasonOf({ task, line }: TaskWait): string | null {
  const reason = line.slice(taskName(task).length + 1)
  return task.ask === null && reason.startsWith(WAITS_PREFIX) ? reason.slice(WAITS_PREFIX.length) : null
}

function groupLine(reason: string, group: readonly TaskWait[]): string {
  const ids = group
    .slice(0, MAX_NAMED_TASKS)
    .map(({ task }) => task.id)
    .join(', ')
  return `${group.length} tasks wait ${reason} (${ids}${group.length > MAX_NAMED_TASKS ? ` and ${group.length - MAX_NAMED_TASKS} more` : ''})`
}
