// The commands that the user can give to a crew, to one of its tasks or to one of its members. Each has the condition under which the page
// offers it, its fields, its request, and the command line that does the same. The crew may still refuse it.
// Test: test/tables/web/crew-commands.test.ts.
import type { CrewCommandBody, CrewMemberView, CrewTaskView, CrewView, TaskDetailView } from '../../src/api/views/crew.ts'
import { crewCommandName } from '../../src/api/text/answer-command.ts'
import type { Field, Values } from '../parts/forms/field-values.ts'
import { CREW_OUTCOMES, WORKER_ROLES } from '../word-lists.ts'

export interface CrewCommand {
  readonly title: string
  readonly right: 'steer' | 'start'
  /** what the dialog asks for; a command without fields is sent without a dialog */
  readonly fields: readonly Field[]
  readonly body: (values: Values) => CrewCommandBody
  /** the words after `reeve crew`; null: the command line has no such command */
  readonly words: ((values: Values) => string[]) | null
}

type Crew = Pick<CrewView, 'pid' | 'name' | 'exitedAt' | 'ending' | 'coordinator'> & {
  readonly members: readonly Pick<CrewMemberView, 'id' | 'role' | 'state' | 'phase'>[]
  readonly tasks: readonly Pick<CrewTaskView, 'id'>[]
}
type Task = Pick<CrewTaskView, 'id' | 'kind' | 'state' | 'priority'>
type TaskTexts = Pick<TaskDetailView, 'title' | 'text' | 'acceptance' | 'needs'>

const REASON = 'at the request of the user'
const CLOSED: ReadonlySet<CrewTaskView['state']> = new Set(['done', 'failed', 'cancelled'])
const reasonField: Field = { name: 'reason', label: 'Reason', kind: 'line', value: REASON, isRequired: true }

/** The value of a field without the spaces around it; undefined: nothing was filled in. */
function filled(values: Values, name: string): string | undefined {
  const text = (values[name] ?? '').trim()
  return text === '' ? undefined : text
}

const listOf = (text: string | undefined): string[] => (text ?? '').split(/[\s,]+/).filter((id) => id !== '')
const flag = (name: string, value: string | undefined): string[] => (value === undefined ? [] : [`--${name}`, value])
const accepts = ({ exitedAt, ending }: Crew): boolean => exitedAt === null && ending === null
const present = ({ members }: Crew): Crew['members'] => members.filter(({ state }) => state === 'on' || state === 'starting')

/** The commands for the crew as a whole. */
export function crewCommands(crew: Crew): CrewCommand[] {
  if (!accepts(crew)) return []
  return [addTask(crew), message(crew), newWorker(crew), finish()]
}

function addTask(crew: Crew): CrewCommand {
  const name = crewCommandName(crew)
  const isHuman = (values: Values): boolean => values['human'] === 'yes'
  const hasNoReview = (values: Values): boolean => values['unreviewed'] === 'yes'
  return {
    title: 'Add a task …',
    right: 'steer',
    fields: [
      { name: 'text', label: 'What to do', kind: 'text', isRequired: true },
      { name: 'acceptance', label: 'It is done when', kind: 'text' },
      { name: 'id', label: 'Id', kind: 'line', placeholder: 'task-N' },
      { name: 'needs', label: 'Tasks that it needs', kind: 'line', placeholder: crew.tasks.at(-1)?.id ?? '' },
      { name: 'priority', label: 'Priority', kind: 'number', placeholder: '0' },
      { name: 'human', label: 'a question for you, whose answer is the result', kind: 'check' },
      { name: 'unreviewed', label: 'without a review', kind: 'check' },
    ],
    body: (values) => {
      const [id, acceptance, priority] = ['id', 'acceptance', 'priority'].map((field) => filled(values, field))
      const needs = listOf(values['needs'])
      return {
        type: 'add_task',
        text: filled(values, 'text') ?? '',
        ...(id === undefined ? {} : { id }),
        ...(acceptance === undefined ? {} : { acceptance }),
        ...(needs.length === 0 ? {} : { needs }),
        ...(priority === undefined ? {} : { priority: Number(priority) }),
        ...(isHuman(values) ? { kind: 'human' } : {}),
        ...(hasNoReview(values) ? { reviews: false } : {}),
      }
    },
    words: (values) => [
      'add',
      ...flag('id', filled(values, 'id')),
      ...flag('acceptance', filled(values, 'acceptance')),
      ...flag('needs', listOf(values['needs']).join(',') || undefined),
      ...flag('priority', filled(values, 'priority')),
      ...(isHuman(values) ? ['--human'] : []),
      ...(hasNoReview(values) ? ['--no-reviews'] : []),
      name,
      filled(values, 'text') ?? '…',
    ],
  }
}

function message(crew: Crew): CrewCommand {
  const workers = present(crew).filter(({ role }) => role !== 'coordinator' || crew.coordinator === 'agent')
  return {
    title: 'Message …',
    right: 'steer',
    fields: [
      { name: 'to', label: 'To', kind: 'choice', options: ['all', ...workers.map(({ id }) => id)], value: 'all' },
      { name: 'text', label: 'Message', kind: 'text', isRequired: true },
      { name: 'now', label: 'before the next model call', kind: 'check' },
    ],
    body: (values) => ({
      type: 'send_message',
      to: values['to'] ?? 'all',
      text: filled(values, 'text') ?? '',
      ...(values['now'] === 'yes' ? { now: true } : {}),
    }),
    words: (values) => [
      ...['send', '--to', values['to'] ?? 'all'],
      ...(values['now'] === 'yes' ? ['--now'] : []),
      crewCommandName(crew),
      filled(values, 'text') ?? '…',
    ],
  }
}

function newWorker(crew: Crew): CrewCommand {
  const roleOf = (values: Values): (typeof WORKER_ROLES)[number] => WORKER_ROLES.find((role) => role === values['role']) ?? 'generic'
  return {
    title: 'New worker …',
    right: 'start',
    fields: [{ name: 'role', label: 'Role', kind: 'choice', options: WORKER_ROLES, value: 'generic' }],
    body: (values) => ({ type: 'spawn_worker', role: roleOf(values) }),
    words: (values) => ['spawn', crewCommandName(crew), roleOf(values)],
  }
}

function finish(): CrewCommand {
  return {
    title: 'Finish …',
    right: 'steer',
    fields: [
      { name: 'outcome', label: 'Outcome', kind: 'choice', options: CREW_OUTCOMES, value: 'completed' },
      { name: 'summary', label: 'Summary', kind: 'text', isRequired: true },
    ],
    body: (values) => ({
      type: 'complete_crew',
      outcome: CREW_OUTCOMES.find((word) => word === values['outcome']) ?? 'completed',
      summary: filled(values, 'summary') ?? '',
    }),
    words: null,
  }
}

/** The commands for a task in its present state. The answer to a question of the task is not among them: actions.ts sends it. */
export function taskCommands(crew: Crew, task: Task, texts: TaskTexts | null): CrewCommand[] {
  if (!accepts(crew)) return []
  const name = crewCommandName(crew)
  const { id, kind, state } = task
  const simple = (title: string, type: 'retry_task', word: string): CrewCommand => ({
    title,
    right: 'steer',
    fields: [],
    body: () => ({ type, task: id }),
    words: () => [word, name, id],
  })
  const isWork = kind !== 'human'
  const idle = present(crew).filter(({ phase, role }) => phase === 'idle' && role !== 'coordinator')
  return [
    ...(state === 'queued' && isWork && idle.length > 0 ? [assign(name, id, idle, 'assign_task')] : []),
    ...(state === 'awaiting_review' && idle.length > 0 ? [assign(name, id, idle, 'assign_review')] : []),
    ...(state === 'failed' || state === 'cancelled' ? [simple('Retry', 'retry_task', 'retry')] : []),
    ...(state === 'done' && isWork ? [reopen(name, id)] : []),
    ...(state !== 'done' && texts !== null ? [edit(name, id, texts)] : []),
    ...(state === 'queued' ? [setPriority(name, task)] : []),
    ...(!CLOSED.has(state) && state !== 'queued' && isWork ? [cancel(name, id, 'requeue')] : []),
    ...(CLOSED.has(state) ? [] : [cancel(name, id, 'for good')]),
  ]
}

function assign(crew: string, task: string, idle: Crew['members'], type: 'assign_task' | 'assign_review'): CrewCommand {
  const ids = idle.map(({ id }) => id)
  const memberOf = (values: Values): string => values['member'] ?? ids[0] ?? ''
  return {
    title: type === 'assign_task' ? 'Assign …' : 'Assign its review …',
    right: 'steer',
    fields: [{ name: 'member', label: 'To', kind: 'choice', options: ids, value: ids[0] ?? '' }],
    body: (values) => ({ type, task, member: memberOf(values) }),
    words: (values) => ['assign', crew, task, memberOf(values)],
  }
}

function reopen(crew: string, task: string): CrewCommand {
  return {
    title: 'Reopen …',
    right: 'steer',
    fields: [{ name: 'comments', label: 'What is missing', kind: 'text', isRequired: true }],
    body: (values) => ({ type: 'reopen_task', task, comments: filled(values, 'comments') ?? '' }),
    words: (values) => ['reopen', '--comments', filled(values, 'comments') ?? '…', crew, task],
  }
}

/** The command that edits a task. It sends only what was changed. */
function edit(crew: string, task: string, { title, text, acceptance, needs }: TaskTexts): CrewCommand {
  const before: Readonly<Record<string, string>> = { title, text, acceptance: acceptance ?? '', needs: needs.join(', ') }
  const changed = (values: Values, name: string): string | undefined => {
    const value = filled(values, name)
    return value === undefined || value === before[name]?.trim() ? undefined : value
  }
  const newNeeds = (values: Values): string[] | undefined => {
    const list = listOf(values['needs'] ?? before['needs'])
    return list.join() === needs.join() ? undefined : list
  }
  return {
    title: 'Edit …',
    right: 'steer',
    fields: [
      { name: 'title', label: 'Title', kind: 'line', value: title, isRequired: true },
      { name: 'text', label: 'What to do', kind: 'text', value: text, isRequired: true },
      { name: 'acceptance', label: 'It is done when', kind: 'text', value: acceptance ?? '' },
      { name: 'needs', label: 'Tasks that it needs', kind: 'line', value: before['needs'] ?? '' },
    ],
    body: (values) => {
      const [newTitle, newText, newAcceptance] = ['title', 'text', 'acceptance'].map((name) => changed(values, name))
      const list = newNeeds(values)
      return {
        type: 'edit_task',
        task,
        ...(newTitle === undefined ? {} : { title: newTitle }),
        ...(newText === undefined ? {} : { text: newText }),
        ...(newAcceptance === undefined ? {} : { acceptance: newAcceptance }),
        ...(list === undefined ? {} : { needs: list }),
      }
    },
    words: (values) => [
      'edit',
      ...flag('title', changed(values, 'title')),
      ...(changed(values, 'text') === undefined ? [] : ['--text', '-']),
      ...flag('acceptance', changed(values, 'acceptance')),
      ...flag('needs', newNeeds(values)?.join(',') || (newNeeds(values) ? 'none' : undefined)),
      crew,
      task,
    ],
  }
}

function setPriority(crew: string, { id, priority }: Task): CrewCommand {
  const numberOf = (values: Values): number => Number(values['priority'] ?? priority)
  return {
    title: 'Priority …',
    right: 'steer',
    fields: [{ name: 'priority', label: 'Priority: higher is earlier', kind: 'number', value: String(priority), isRequired: true }],
    body: (values) => ({ type: 'set_priority', task: id, priority: numberOf(values) }),
    words: (values) => ['priority', crew, id, ...(numberOf(values) < 0 ? ['--'] : []), String(numberOf(values))],
  }
}

function cancel(crew: string, task: string, how: 'requeue' | 'for good'): CrewCommand {
  const requeue = how === 'requeue'
  return {
    title: requeue ? 'Back to the queue …' : 'Cancel …',
    right: 'steer',
    fields: [reasonField],
    body: (values) => ({ type: 'cancel_task', task, reason: filled(values, 'reason') ?? REASON, requeue }),
    words: (values) => ['cancel', ...(requeue ? ['--requeue'] : []), crew, task, filled(values, 'reason') ?? REASON],
  }
}

/** The commands for a member; none while it starts or leaves. */
export function memberCommands(crew: Crew, member: Crew['members'][number]): CrewCommand[] {
  if (!accepts(crew) || member.state !== 'on') return []
  const name = crewCommandName(crew)
  const { id: of, role, phase } = member
  const replace: CrewCommand = {
    title: 'Replace …',
    right: 'steer',
    fields: [{ name: 'summary', label: 'What its successor must know', kind: 'text', isRequired: true }],
    body: (values) => ({ type: 'replace_worker', member: of, summary: filled(values, 'summary') ?? '' }),
    words: (values) => ['replace', name, of, filled(values, 'summary') ?? '…'],
  }
  const retire: CrewCommand = {
    title: 'Retire …',
    right: 'steer',
    fields: [reasonField],
    body: (values) => ({ type: 'retire_worker', member: of, reason: filled(values, 'reason') ?? REASON }),
    words: (values) => ['retire', name, of, filled(values, 'reason') ?? REASON],
  }
  if (role === 'coordinator') return crew.coordinator === 'agent' ? [replace] : []
  return phase === 'committing' ? [] : [replace, retire]
}
