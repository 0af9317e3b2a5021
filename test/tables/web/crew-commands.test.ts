// What the page offers for a crew, a task and a member, in each state, and which request and command line a command becomes.
import { expect, test } from 'vitest'
import { crewCommands, memberCommands, taskCommands, type CrewCommand } from '../../../web/crew/commands.ts'
import { crewUpBody, crewUpCommand, emptyForm, emptyTask } from '../../../web/crew/start-form.ts'
import { TASK_STATES } from '../../../src/kernel/model/crew/words.ts'

const member = (id: string, phase: 'idle' | 'implementing' | 'committing' = 'idle') => ({
  id,
  role: 'generic' as const,
  state: 'on' as const,
  phase,
})
const crew = {
  pid: 12,
  name: 'fix',
  exitedAt: null,
  ending: null,
  coordinator: 'engine' as const,
  members: [member('worker-1'), member('worker-2', 'implementing')],
  tasks: [{ id: 'lexer' }],
}
const texts = { title: 'The lexer', text: 'Write it.', acceptance: null, needs: ['grammar'] }
const titles = (commands: readonly CrewCommand[]): string => commands.map(({ title }) => title.replace(' …', '')).join(', ')
const findCommand = (commands: readonly CrewCommand[], title: string): CrewCommand => {
  const command = commands.find((one) => one.title.startsWith(title))
  if (!command) throw new Error(`there is no command ${title}`)
  return command
}

test('a task has the commands that are possible in its state, and none after the crew has exited', () => {
  const offered = TASK_STATES.map((state) => [state, titles(taskCommands(crew, { id: 'lexer', kind: 'work', state, priority: 0 }, texts))])
  expect(Object.fromEntries(offered)).toEqual({
    queued: 'Assign, Edit, Priority, Cancel',
    implementing: 'Edit, Back to the queue, Cancel',
    awaiting_review: 'Assign its review, Edit, Back to the queue, Cancel',
    in_review: 'Edit, Back to the queue, Cancel',
    addressing_feedback: 'Edit, Back to the queue, Cancel',
    approved: 'Edit, Back to the queue, Cancel',
    committing: 'Edit, Back to the queue, Cancel',
    merging: 'Edit, Back to the queue, Cancel',
    waiting: 'Edit, Back to the queue, Cancel',
    done: 'Reopen',
    failed: 'Retry, Edit',
    cancelled: 'Retry, Edit',
  })
  expect(taskCommands({ ...crew, exitedAt: 'now' }, { id: 'lexer', kind: 'work', state: 'queued', priority: 0 }, texts)).toEqual([])
})

test('a member that commits has no commands, and a coordinator can be replaced only if it is an agent', () => {
  expect(titles(crewCommands(crew))).toBe('Add a task, Message, New worker, Finish')
  expect(titles(memberCommands(crew, member('worker-1')))).toBe('Replace, Retire')
  expect(memberCommands(crew, member('worker-1', 'committing'))).toEqual([])
  const coordinator = { ...member('coordinator'), role: 'coordinator' as const }
  expect(memberCommands(crew, coordinator)).toEqual([])
  expect(titles(memberCommands({ ...crew, coordinator: 'agent' }, coordinator))).toBe('Replace')
})

test('a command sends what was filled in, and shows the command line that does the same', () => {
  const add = findCommand(crewCommands(crew), 'Add')
  const values = { text: ' Write it. ', id: 'parser', needs: 'lexer, grammar', priority: '2', unreviewed: 'yes' }
  expect(add.body(values)).toEqual({
    type: 'add_task',
    text: 'Write it.',
    id: 'parser',
    needs: ['lexer', 'grammar'],
    priority: 2,
    reviews: false,
  })
  expect(add.words?.(values)).toEqual([
    'add',
    '--id',
    'parser',
    '--needs',
    'lexer,grammar',
    '--priority',
    '2',
    '--no-reviews',
    'fix',
    'Write it.',
  ])
  const priority = findCommand(taskCommands(crew, { id: 'lexer', kind: 'work', state: 'queued', priority: 0 }, texts), 'Priority')
  expect(priority.words?.({ priority: '-1' })).toEqual(['priority', 'fix', 'lexer', '--', '-1'])
  expect(priority.body({ priority: '-1' })).toEqual({ type: 'set_priority', task: 'lexer', priority: -1 })
})

test('an edit sends only the fields that have changed', () => {
  const edit = findCommand(taskCommands(crew, { id: 'lexer', kind: 'work', state: 'failed', priority: 0 }, texts), 'Edit')
  const same = { title: 'The lexer', text: 'Write it.', acceptance: '', needs: 'grammar' }
  expect(edit.body(same)).toEqual({ type: 'edit_task', task: 'lexer' })
  expect(edit.body({ ...same, needs: '', text: 'Write it well.' })).toEqual({
    type: 'edit_task',
    task: 'lexer',
    text: 'Write it well.',
    needs: [],
  })
  expect(edit.words?.({ ...same, needs: '', text: 'Write it well.' })).toEqual(['edit', '--text', '-', '--needs', 'none', 'fix', 'lexer'])
})

test('the request and the command line of a new crew have only what was filled in', () => {
  expect(crewUpBody(emptyForm, '/src/app')).toEqual({ cwd: '/src/app' })
  expect(crewUpCommand(emptyForm, '/src/app')).toEqual(['reeve', 'crew', 'up', '-d', '--cwd', '/src/app'])
  const form = {
    ...emptyForm,
    crew: 'fix',
    workers: '3',
    gate: 'human',
    budget: '5',
    tasks: [{ ...emptyTask, text: 'Write it.', needs: 'grammar lexer' }],
  }
  expect(crewUpBody(form, '/src/app')).toEqual({
    cwd: '/src/app',
    crew: 'fix',
    workers: 3,
    gate: 'human',
    limits: { budgetUsd: 5 },
    tasks: [{ text: 'Write it.', needs: ['grammar', 'lexer'] }],
  })
  expect(crewUpCommand(form, '/src/app').slice(6)).toEqual([
    '--workers',
    '3',
    '--gate',
    'human',
    '--budget-usd',
    '5',
    '--tasks',
    'tasks.md',
    'fix',
  ])
})
