// Edits a task after it was added: its texts, needs, role, agent, limits, or reviews. Decides whether an edit is possible, and notifies the
// implementer and the reviewer, who read this at their next turn. Must never change an approved task.
// Test: test/tables/kernel/crew/decide/commands/edit-task.test.ts.
import { refusalError } from '../refusal-error.ts'
import { stateText } from '../../state/phases.ts'
import { currentImplementer } from '../../state/queries.ts'
import { findCycle } from '../../../util/graph.ts'
import { senderOfIssuer, checkTaskTexts, toOneLine } from './task-commands.ts'
import { changedTaskText, taskName } from '../../text/task-text.ts'
import { toTaskAgent } from '../../state/eligible-workers.ts'
import type { Command } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Task } from '../../../model/crew/crew.ts'
import type { TaskState, TaskAgent } from '../../../model/crew/words.ts'
import { TASK_ROLES } from '../../../model/crew/words.ts'

type Edit = Extract<Command, { type: 'edit_task' }>
type Change = Omit<Edit, 'type' | 'task' | 'agent' | 'model'> & { readonly who?: TaskAgent }

/** States without an implementer: every field may change. */
const WITHOUT_IMPLEMENTER: ReadonlySet<TaskState> = new Set(['queued', 'failed', 'cancelled'])
/** States with an implementer or a reviewer: only texts may change, and both members are notified. */
const WITH_WORKER: ReadonlySet<TaskState> = new Set(['implementing', 'awaiting_review', 'in_review', 'addressing_feedback'])
/** States before the report: `reviews` may still change. */
const UNREPORTED: ReadonlySet<TaskState> = new Set([...WITHOUT_IMPLEMENTER, 'implementing', 'addressing_feedback'])

/** Errors: NOT_FOUND, INVALID, CONFLICT. */
export function editTask(draft: CrewDraft, { task: id, ...fields }: Edit): string {
  const task = draft.requireTask(id)
  const { type: _, agent, model, ...otherFields } = { ...fields, ...(fields.title === undefined ? {} : { title: toOneLine(fields.title) }) }
  const edit: Change = {
    ...otherFields,
    ...(agent === undefined && model === undefined
      ? {}
      : { who: toTaskAgent({ ...(agent ? { agent } : {}), ...(model ? { model } : {}) }) ?? {} }),
  }
  if (Object.keys(edit).length === 0)
    throw refusalError('INVALID', 'no change is given', 'Give a title, text, acceptance, needs, role, limits, agent, model, or reviews.')
  checkEditable(draft, task, edit)
  checkTaskTexts({
    id,
    title: edit.title ?? task.title,
    text: edit.text ?? 'unchanged',
    ...(edit.acceptance === undefined ? {} : { acceptance: edit.acceptance }),
  })
  checkNeeds(draft, task, edit.needs)
  if (edit.role && !TASK_ROLES.some((word) => word === edit.role))
    throw refusalError('INVALID', `a ${edit.role} cannot implement a task`, `Use one of ${TASK_ROLES.join(', ')}.`)
  const role = edit.role ?? task.role
  if (edit.reviews && (task.kind !== 'work' || role === 'researcher'))
    throw refusalError(
      'INVALID',
      `${taskName(task)} is ${task.kind === 'human' ? 'a question for the user' : 'a research task'}, which has no review`,
      'Leave `reviews` out.',
    )
  draft.emit({
    type: 'task.edited',
    task: id,
    ...edit,
    ...(edit.needs ? { needs: [...new Set(edit.needs)] } : {}),
    ...(role === 'researcher' && task.reviews ? { reviews: false } : {}),
    by: senderOfIssuer(draft),
  })
  const readers = notifyWorkers(draft, draft.requireTask(id), edit)
  return `${taskName(draft.requireTask(id))} is changed${readers.length > 0 ? `; ${readers.join(' and ')} ${readers.length === 1 ? 'reads' : 'read'} it next` : ''}`
}

function checkEditable(draft: CrewDraft, task: Task, { needs, role, reviews, limits, who }: Change): void {
  const status = `${taskName(task)} is ${stateText(task.state)}`
  if (draft.crew.ending) throw refusalError('CONFLICT', 'the crew is ending', 'Its tasks can no longer change.')
  if (task.state === 'done') throw refusalError('CONFLICT', status, 'The user can reopen it with comments: `reeve crew reopen`.')
  if (task.state === 'waiting')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} waits for the user`,
      task.ask?.for === 'human' ? '`reeve answer` answers it.' : '`reeve crew deny` sends it back with comments.',
    )
  if (!WITHOUT_IMPLEMENTER.has(task.state) && !WITH_WORKER.has(task.state))
    throw refusalError('CONFLICT', status, 'An approved task cannot change. Cancel it with requeue first, or reopen it when it is done.')
  if (!WITHOUT_IMPLEMENTER.has(task.state) && [needs, role, limits, who].some((value) => value !== undefined))
    throw refusalError(
      'CONFLICT',
      `${status} and has begun`,
      'Its needs, role, agent, model and limits can change only in the queue: cancel it with requeue first.',
    )
  if (task.kind === 'human' && (limits ?? who) !== undefined)
    throw refusalError('INVALID', `${taskName(task)} is a question for the user`, 'It has no limits, agent or model.')
  if (task.kind === 'conflict' && who !== undefined)
    throw refusalError(
      'INVALID',
      `${taskName(task)} resolves a conflict, and any worker may do that`,
      'Change the agent and the model of the task itself.',
    )
  if (!UNREPORTED.has(task.state) && reviews !== undefined)
    throw refusalError('CONFLICT', `${status} and was reported`, 'approve_commit skips the review.')
}

function checkNeeds(draft: CrewDraft, { id }: Task, needs: readonly string[] | undefined): void {
  if (needs === undefined) return
  for (const need of needs) {
    const { state } = draft.requireTask(need)
    if (state === 'failed' || state === 'cancelled')
      throw refusalError(
        'CONFLICT',
        `${need} ${state === 'failed' ? 'failed' : 'was cancelled'}`,
        'A task that needs it would fail at once: retry it first.',
      )
  }
  const cycle = findCycle(draft.crew.tasks.map((task) => (task.id === id ? { id, needs } : task)))
  if (cycle) throw refusalError('INVALID', `the tasks need each other in a circle: ${cycle.join(' → ')}`, 'Remove one of the needs.')
}

/** Notifies the implementer and the reviewer, unless their instructions are still to come. Returns the ids of the notified members. */
function notifyWorkers(draft: CrewDraft, task: Task, { title, text, acceptance }: Change): readonly string[] {
  if (!WITH_WORKER.has(task.state) || (title === undefined && text === undefined && acceptance === undefined)) return []
  const by = draft.context.by.type === 'member' ? ('coordinator' as const) : ('user' as const)
  const worker = task.prepared ? currentImplementer(draft.crew, task) : undefined
  const reviewer = task.state === 'in_review' && task.briefed ? draft.findMember(task.reviewer) : undefined
  const recipients = [worker, reviewer].filter((member) => member !== undefined && member.state === 'on')
  for (const member of recipients)
    if (member)
      draft.send(member.id, { from: by, task: task.id, text: changedTaskText(task, { text, acceptance }, { by, phase: member.phase }) })
  return recipients.flatMap((member) => member?.id ?? [])
}
