// The tools with which a coordinator leads its crew. Most of them send one command to the crew, which refuses an unsuitable command with a
// hint. Three read-only tools show the current crew. Test: test/e2e/mcp/crew.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import { sendCommand, viewCrew } from './crew-call.ts'
import { defineOwnTool, type OwnToolDefinition } from './tool.ts'
import type { LeadCommand } from '../../kernel/model/crew/commands.ts'
import type { MemberId } from '../../kernel/model/crew/words.ts'
import { CREW_OUTCOMES, WORKER_ROLES } from '../../kernel/model/crew/words.ts'

const MAX_TEXT = 100_000
const text = z.string().min(1).max(MAX_TEXT)
const reason = z.string().min(1).max(2_000)
const task = z.string().min(1).max(40).describe('id of a task')
const member = z
  .string()
  .regex(/^(worker|coordinator)(-\d{1,9})?$/, 'must be the id of a member, such as worker-1')
  .transform((id) => id as MemberId)
/** Schemas without limits, which are shorter: each schema costs tokens in each model call, and the crew checks the limits anyway. */
const [id, anyText] = [z.string(), z.string()]
const role = z.enum(WORKER_ROLES)
const leadToolDefaults = { who: 'coordinator', effect: 'idempotent' } as const

const addTask = defineOwnTool({
  name: 'add_task',
  ...leadToolDefaults,
  description: 'Adds a task and answers with its id. With kind `human` the task is a question for the user, whose answer is its result.',
  input: z.strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/)
      .exactOptional(),
    title: z.string().min(1).max(200),
    text,
    acceptance: z.string().min(1).max(MAX_TEXT).exactOptional().describe('how to check that it is done'),
    needs: z.array(task).max(100).exactOptional().describe('tasks that must be done first'),
    kind: z.enum(['work', 'human']).exactOptional(),
    role: role.exactOptional(),
    reviews: z.boolean().exactOptional(),
    priority: z.int().exactOptional(),
  }),
  example: {
    id: 'login',
    title: 'Return to the page that opened the login',
    text: 'After the login, users land on / instead of the page that they came from.',
    acceptance: 'npm test passes with a new test.',
  },
  run: (input, context) => sendCommand(context, { type: 'add_task', ...input }),
})

/** Defines a tool whose input has the same fields as its command. */
function defineLeadTool<Input extends z.ZodObject>(
  name: LeadCommand['type'],
  description: string,
  input: Input,
  example: z.input<Input>,
): OwnToolDefinition {
  return defineOwnTool({
    name,
    ...leadToolDefaults,
    description,
    input,
    example,
    run: (fields, context) => sendCommand(context, { type: name, ...fields } as unknown as LeadCommand),
  })
}

const COMMAND_TOOLS: readonly OwnToolDefinition[] = [
  addTask,
  defineLeadTool(
    'spawn_worker',
    'Starts a worker of a role, or one that suits a `task`. A task that you assign to it waits until it is ready.',
    z.strictObject({ role, task: id.exactOptional() }),
    { role: 'implementer' },
  ),
  defineLeadTool(
    'assign_task',
    'Gives a queued task to an idle worker. All tasks that it needs must be done.',
    z.strictObject({ task, member }),
    {
      task: 'login',
      member: 'worker-1',
    },
  ),
  defineLeadTool(
    'assign_review',
    'Gives a task that awaits its review to an idle worker, never to its implementer.',
    z.strictObject({ task, member }),
    { task: 'login', member: 'worker-2' },
  ),
  defineLeadTool(
    'approve_commit',
    "Approves the commit of a reviewed task, if the crew's gate is the coordinator.",
    z.strictObject({ task }),
    {
      task: 'login',
    },
  ),
  defineLeadTool(
    'send_message',
    'Sends a message to a worker, or to all. With `task` it joins that thread. It begins a turn; with `now` a native agent reads it before its next model call.',
    z.strictObject({ to: z.union([member, z.literal('all')]), text, task: task.exactOptional(), now: z.boolean().exactOptional() }),
    { to: 'worker-1', text: 'Use the helper in src/url.ts.' },
  ),
  defineLeadTool(
    'replace_worker',
    'Starts a successor for a worker, or for you, with the task, the files and your summary. The old member leaves when the new one is ready.',
    z.strictObject({ member, summary: text }),
    { member: 'worker-1', summary: 'The parser is done, the tests are not. Begin with test/parser.test.ts.' },
  ),
  defineLeadTool(
    'retire_worker',
    'Retires a worker for good. Its unfinished task returns to the queue.',
    z.strictObject({ member, reason }),
    {
      member: 'worker-2',
      reason: 'nothing left to review',
    },
  ),
  defineLeadTool(
    'stop_worker',
    'Stops a worker. Its task returns to the queue; its files and messages stay.',
    z.strictObject({ member, reason }),
    {
      member: 'worker-3',
      reason: 'it goes in circles',
    },
  ),
  defineLeadTool(
    'cancel_task',
    'Cancels a task; with `requeue` it returns to the queue instead. Its changes are saved on a ref.',
    z.strictObject({ task, reason, requeue: z.boolean().default(false) }),
    { task: 'login', reason: 'the text was wrong', requeue: false },
  ),
  defineLeadTool(
    'retry_task',
    'Queues a failed or cancelled task again, with new attempts, and the tasks that failed because of it. At most three times.',
    z.strictObject({ task: id }),
    { task: 'login' },
  ),
  defineLeadTool(
    'edit_task',
    'Changes a task that is not approved yet. The given fields are replaced. Its worker is notified. Needs change only in the queue.',
    z.strictObject({ task: id, text: anyText.exactOptional(), acceptance: anyText.exactOptional(), needs: z.array(id).exactOptional() }),
    { task: 'login', acceptance: 'npm test passes with a new test, also without cookies.' },
  ),
  defineLeadTool(
    'set_priority',
    'Sets the priority of an open task (default 0, higher first), or puts it directly before another.',
    z.strictObject({ task: id, priority: z.int().exactOptional(), before: id.exactOptional() }),
    { task: 'login', before: 'logout' },
  ),
  defineLeadTool(
    'mark_task_done',
    "Marks a task that needs no commit as done. Nothing is reviewed or committed, and the user's report shows it.",
    z.strictObject({ task, reason }),
    { task: 'look', reason: 'answered in the thread' },
  ),
  defineLeadTool(
    'mark_task_failed',
    'Marks a task that cannot be done as failed. Tasks that need it fail, too.',
    z.strictObject({ task, reason }),
    { task: 'login', reason: 'there is no such page any more' },
  ),
  defineLeadTool(
    'notify_user',
    'Notifies the user of something that needs no answer.',
    z.strictObject({ text: z.string().min(1).max(2_000) }),
    {
      text: 'Half of the tasks are done.',
    },
  ),
  defineLeadTool(
    'complete_crew',
    'Ends the crew when every task is done or cannot be done. Its workers leave. The summary is for the user.',
    z.strictObject({ summary: text, outcome: z.enum(CREW_OUTCOMES) }),
    { summary: 'All five tasks are committed on reeve/shop.', outcome: 'completed' },
  ),
]

const listWorkers = defineOwnTool({
  name: 'list_workers',
  who: 'coordinator',
  effect: 'read',
  description: 'Lists your workers: role, state, phase, task, and context use.',
  input: z.strictObject({}),
  example: {},
  async run(_, context) {
    const { members } = await viewCrew(context)
    return { workers: members.filter(({ role: memberRole }) => memberRole !== 'coordinator') }
  },
})

const listTasks = defineOwnTool({
  name: 'list_tasks',
  who: 'coordinator',
  effect: 'read',
  description: 'Lists all tasks: state, worker, needs, attempts.',
  input: z.strictObject({ open: z.boolean().default(false).describe('omits tasks that are done, failed or cancelled') }),
  example: { open: true },
  async run({ open }, context) {
    const { tasks } = await viewCrew(context)
    return { tasks: tasks.filter(({ state }) => !open || !['done', 'failed', 'cancelled'].includes(state)) }
  },
})

const getTask = defineOwnTool({
  name: 'get_task',
  who: 'coordinator',
  effect: 'read',
  description: 'Shows one task with its text and its thread.',
  input: z.strictObject({ task }),
  example: { task: 'login' },
  async run({ task: id }, context) {
    const { tasks } = await viewCrew(context, id)
    const found = tasks.find(({ id: otherId }) => otherId === id)
    if (!found)
      throw new KernelError(
        'NOT_FOUND',
        `there is no task ${id}`,
        undefined,
        `There are: ${tasks.map(({ id: otherId }) => otherId).join(', ') || 'none'}.`,
      )
    return found
  },
})

export const COORDINATOR_TOOLS: readonly OwnToolDefinition[] = [listWorkers, listTasks, getTask, ...COMMAND_TOOLS]
