// Schemas of what an action would cost, for src/api/views/stakes.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { TASK_STATES } from '../../../kernel/model/crew/words.ts'
import { STAKES_ACTIONS, TOOL_EFFECTS } from '../../../kernel/model/words.ts'
import { count, status, text, texts, time, unbegunField, uuid, version } from './fields.ts'

const related = z.object({ uuid, pid: count, name: text.nullable() })

const inFlight = z
  .object({
    uuid: uuid.describe('the process of this open work'),
    what: text.describe('a model call, a tool call with its input, or a command'),
    since: time.nullable().describe('null: unknown'),
    effect: z.enum(TOOL_EFFECTS).nullable().describe('whether the tool call may be repeated; null: it is not a tool call'),
    unbegun: unbegunField,
    becomes: z
      .enum(['repeated', 'asked again', 'not run', 'interrupted', 'finishes', 'stands still', 'goes on'])
      .describe(
        'what the action makes of it. `repeated`: a resume makes the call again; `asked again`: a resume asks the user again before the call; `not run`: the call has not started, and never does; `interrupted`: it is cut off, and may or may not have had its effect; `finishes`: a pause waits for its end; `stands still`: it is frozen; `goes on`: the action does not affect it',
      ),
  })
  .describe('Open work: a model call, a tool call or a command that has no result yet.')

const stakes = z
  .object({
    version,
    uuid,
    pid: count,
    name: text.nullable(),
    status,
    action: z.enum(STAKES_ACTIONS),
    subtree: z.boolean(),
    refused: text.nullable().describe('why the action would be refused; null: it would not'),
    inFlight: z.array(inFlight).describe('the open work of the process, and of those that the action ends or pauses'),
    unrecorded: z
      .object({ files: count, added: count, removed: count })
      .nullable()
      .describe('files of its worktree that no record has, and their lines; null: no worktree, not asked for, or not known'),
    unmerged: z.array(z.object({ branch: text, commits: count })).describe('branches with commits that no other branch has'),
    queue: count.describe('the number of queued messages'),
    messagesLost: count.describe('the number of queued messages that no later resume delivers'),
    children: z
      .object({ goOn: z.array(related), end: z.array(related) })
      .describe('the living processes below it that go on, and those that end; at most 100 each'),
    task: z
      .object({
        id: text,
        becomes: z.enum(TASK_STATES).describe('its state right after the action'),
        worker: text.nullable().describe('the member that has it then'),
      })
      .nullable()
      .describe('the task of a crew member; null: none'),
    run: z
      .object({ blocks: texts.describe('the nodes that can no longer start') })
      .nullable()
      .describe('the compose run that the process belongs to; null: none'),
    restart: z
      .enum(['comes back', 'stays'])
      .describe(
        '`comes back`: the action ends it, and a restart policy starts it again; `stays`: it remains ended, or the action does not end it',
      ),
    kept: z
      .object({
        step: count.nullable().describe('the last whole step of the history that stays; null: no steps'),
        resumable: z.boolean().describe('true: it can continue from there'),
        worktree: text.nullable().describe('the directory of its worktree, which stays; null: none stays'),
        salvage: text.nullable().describe('the ref that gets the uncommitted files of a removed worktree, unless another ref has them'),
      })
      .describe('what is left after the action'),
    notes: texts.describe('what else follows, and what is not known, as sentences'),
  })
  .describe('What an action would cost: what is lost, what is kept, and what happens to others.')

export const stakesAnswers = { stakes }

export const STAKES_TYPES = { InFlightView: inFlight, StakesView: stakes }
