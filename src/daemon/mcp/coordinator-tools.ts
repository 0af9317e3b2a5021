// The tools by which a coordinator leads its crew. Each is one command of src/crew, which says no with a hint where it does not
// fit; the three that only look read the crew as it is. Test: test/e2e/mcp-crew.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import { commandOf, crewOf } from './crew-call.ts'
import { define, type OwnDefinition } from './tool.ts'
import type { LeadCommand } from '../../crew/commands.ts'
import type { MemberId } from '../../crew/types.ts'

const MAX_TEXT = 100_000
const text = z.string().min(1).max(MAX_TEXT)
const reason = z.string().min(1).max(2_000)
const task = z.string().min(1).max(40).describe('id of a task')
const member = z.string().regex(/^(worker|coordinator)(-\d{1,9})?$/, 'it is one such as worker-1').transform((id) => id as MemberId)
const role = z.enum(['generic', 'implementer', 'reviewer', 'researcher'])
const once = { who: 'coordinator', effect: 'idempotent' } as const

const addTask = define({
  name: 'add_task', ...once,
  description: 'Adds a task. With kind `human` it is a question for a person, whose answer is its result. Answers with the id.',
  input: z.strictObject({
    id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,39}$/).exactOptional(), title: z.string().min(1).max(200), text,
    acceptance: z.string().min(1).max(MAX_TEXT).exactOptional().describe('how one sees that it is done'),
    needs: z.array(task).max(100).exactOptional().describe('tasks that must be done before'),
    kind: z.enum(['work', 'human']).exactOptional(), role: role.exactOptional(), reviews: z.boolean().exactOptional(),
  }),
  example: { id: 'login', title: 'Keep the target of the login', text: 'After the login one lands on / instead of where one came from.', acceptance: 'npm test passes with a new test.' },
  run: (input, called) => commandOf(called, { type: 'add_task', ...input }),
})

/** One that takes what its command takes. */
function lead<Input extends z.ZodObject>(name: LeadCommand['type'], description: string, input: Input, example: z.input<Input>): OwnDefinition {
  return define({ name, ...once, description, input, example, run: (given, called) => commandOf(called, { type: name, ...given } as unknown as LeadCommand) })
}

const COMMANDS: readonly OwnDefinition[] = [
  addTask,
  lead('spawn_worker', 'Starts another worker of a role. It says that it is ready before it can be given a task.', z.strictObject({ role }), { role: 'implementer' }),
  lead('assign_task', 'Gives a task that is queued to a worker that is idle.', z.strictObject({ task, member }), { task: 'login', member: 'worker-1' }),
  lead('assign_review', 'Lets a worker review a task that awaits it: never the one who implemented it.', z.strictObject({ task, member }), { task: 'login', member: 'worker-2' }),
  lead('approve_commit', 'Says yes to the commit of a task that was approved, where the crew\'s gate is yours.', z.strictObject({ task }), { task: 'login' }),
  lead('send_message', 'Writes to a worker, or to all of them; with `task` it stands in its thread, too. It begins a turn.', z.strictObject({ to: z.union([member, z.literal('all')]), text, task: task.exactOptional() }), { to: 'worker-1', text: 'Use the helper in src/url.ts.' }),
  lead('replace_worker', 'Starts a successor for a worker (or for yourself), which goes on with its task and knows your summary. The old one leaves when that is there.', z.strictObject({ member, summary: text }), { member: 'worker-1', summary: 'The parser is done, the tests are not. Begin with test/parser.test.ts.' }),
  lead('retire_worker', 'Lets a worker go for good. An unfinished task of its goes back to the queue.', z.strictObject({ member, reason }), { member: 'worker-2', reason: 'nothing left to review' }),
  lead('stop_worker', 'Stops a worker; its task goes back to the queue, its files and messages stay.', z.strictObject({ member, reason }), { member: 'worker-3', reason: 'it goes in circles' }),
  lead('cancel_task', 'Takes a task back: to the queue with `requeue`, else it is cancelled. What was changed for it is saved on a ref.', z.strictObject({ task, reason, requeue: z.boolean().default(false) }), { task: 'login', reason: 'the text was wrong', requeue: false }),
  lead('mark_task_done', 'Says that a task is done, whatever its state: use it for what needs no commit.', z.strictObject({ task, reason }), { task: 'look', reason: 'answered in the thread' }),
  lead('mark_task_failed', 'Says that a task cannot be done; what needs it fails with it.', z.strictObject({ task, reason }), { task: 'login', reason: 'there is no such page any more' }),
  lead('notify_user', 'Tells the person something that does not have to be answered.', z.strictObject({ text: z.string().min(1).max(2_000) }), { text: 'Half of the tasks are done.' }),
  lead('complete_crew', 'Ends the crew: all that was to be done is done, or cannot be. Its workers leave. The summary is for the person.', z.strictObject({ summary: text, outcome: z.enum(['completed', 'failed', 'cancelled']) }), { summary: 'All five tasks are committed on reeve/shop.', outcome: 'completed' }),
]

const listWorkers = define({
  name: 'list_workers', who: 'coordinator', effect: 'read',
  description: 'Your workers: role, state, phase, task, how full their context is.',
  input: z.strictObject({}), example: {},
  async run(_, called) {
    const { members } = await crewOf(called)
    return { workers: members.filter(({ role: one }) => one !== 'coordinator') }
  },
})

const listTasks = define({
  name: 'list_tasks', who: 'coordinator', effect: 'read',
  description: 'All tasks in short: state, who holds it, what it needs, tries.',
  input: z.strictObject({ open: z.boolean().default(false).describe('only those that are not done, failed or cancelled') }), example: { open: true },
  async run({ open }, called) {
    const { tasks } = await crewOf(called)
    return { tasks: tasks.filter(({ state }) => !open || !['done', 'failed', 'cancelled'].includes(String(state))) }
  },
})

const getTask = define({
  name: 'get_task', who: 'coordinator', effect: 'read',
  description: 'One task whole, with its text and its thread.',
  input: z.strictObject({ task }), example: { task: 'login' },
  async run({ task: id }, called) {
    const { tasks } = await crewOf(called, id)
    const found = tasks.find((one) => one.id === id)
    if (!found) throw new KernelError('NOT_FOUND', `there is no task ${id}`, undefined, `There are: ${tasks.map((one) => one.id).join(', ') || 'none'}.`)
    return found
  },
})

export const COORDINATOR_TOOLS: readonly OwnDefinition[] = [listWorkers, listTasks, getTask, ...COMMANDS]
