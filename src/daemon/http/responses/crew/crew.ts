// Schemas of crews, their members and their tasks, for src/api/views/crew.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { taskLimits } from '../../../../config/crew/tasks.ts'
import {
  ASKED_FOR,
  COMMIT_GATES,
  CREW_OUTCOMES,
  LEAVES,
  MERGE_MODES,
  PHASES,
  REVIEW_VERDICTS,
  ROLES,
  TASK_STATES,
  VERIFY_STAGES,
  TASK_KINDS,
  MEMBER_STATES,
} from '../../../../kernel/model/crew/words.ts'
import { count, ms, status, text, texts, time, tokenFields, usd, version } from '../fields.ts'
import { ask, hold } from '../process.ts'

export const role = z.enum(ROLES)
export const departure = z
  .object({ how: z.enum(LEAVES), reason: text })
  .nullable()
  .describe('how and why the member left, or is leaving; null: it stays')
export const ending = z.object({ outcome: z.enum(CREW_OUTCOMES), summary: text }).nullable()
/** The settings of a crew's decisions. */
export const rules = {
  coordinator: z.enum(['engine', 'agent']),
  gate: z.enum(COMMIT_GATES),
  merge: z.enum(MERGE_MODES),
  reviews: z.boolean(),
}

const check = z
  .object({
    stage: z.enum(VERIFY_STAGES),
    command: text,
    ok: z.boolean(),
    code: z.int().nullable(),
    ms: count,
    commit: text.nullable().describe('the commit whose files were checked; null: no commit'),
    tree: text.nullable(),
  })
  .describe('The result of a `verify` command. `stage`: whether the reported work or the merged branch was checked.')

export const taskFields = {
  id: text,
  kind: z.enum(TASK_KINDS),
  title: text,
  state: z.enum(TASK_STATES),
  needs: texts,
  role: text.nullable(),
  reviews: z.boolean(),
  priority: z.int().describe('tasks with a higher priority are assigned, reviewed and merged first; default: 0'),
  limits: taskLimits.nullable().describe('limits of one attempt, with its reviews'),
  agent: text.nullable().describe('the agent that the task names; null: the agent of its role'),
  model: text.nullable(),
  implementer: text.nullable().describe('the member that does the task, or has done it'),
  check: check.nullable().describe('the last result of the verify command in this attempt; null: the command has not run'),
  verify: z
    .enum(['own', 'none'])
    .nullable()
    .describe('`own`: the task has its own command; `none`: it has no command; null: it has the command of the crew'),
  implementers: texts.describe('all members that have worked on the task'),
  reviewer: text.nullable(),
  verdict: z.enum(REVIEW_VERDICTS).nullable(),
  attempts: count.describe('the number of failed attempts, for any reason'),
  denials: count.describe('the number of attempts that a reviewer or the user denied'),
  base: text.nullable(),
  commit: text.nullable(),
  merged: text.nullable().describe('the commit of the crew branch after the merge; null: not merged'),
  conflict: text.nullable().describe('the id of the task that resolves the merge conflict; null: no conflict'),
  reason: text.nullable().describe('why the task ended, or why the last attempt failed'),
  byWord: text.nullable().describe('who declared the task done without a review or a commit; null for all other tasks'),
  salvaged: text.nullable().describe('the git ref with the uncommitted files of an earlier attempt; null: none'),
  asks: z
    .enum(ASKED_FOR)
    .nullable()
    .describe('what the user is asked about the task: its content, its commit, or its review; null: nothing'),
  spent: z.object({ ...tokenFields, costUsd: usd.nullable(), unpriced: z.boolean() }).describe('the usage of all turns about this task'),
  addedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
}
const task = z.object(taskFields).meta({ id: 'CrewTaskView', description: 'A task of a crew.' })

const member = z
  .object({
    id: text,
    role,
    state: z.enum(MEMBER_STATES),
    phase: z.enum(PHASES),
    task: text.nullable(),
    leave: departure,
    uuid: text.nullable().describe('null: the member is still being started'),
    pid: count.nullable(),
    agent: text.nullable(),
    status: status.nullable(),
    worktree: z.object({ dir: text, branch: text }).nullable().describe('null: the member has no worktree, or not yet'),
    queueCount: count,
    contextTokens: count,
    contextWindow: count.nullable(),
    costUsd: usd.nullable(),
    unpriced: z.boolean(),
    elapsedMs: ms,
    note: text.nullable().describe('the text of the NOTE column'),
    holds: z.array(hold).describe('why the process is suspended'),
    asks: z.array(ask).describe('the open questions for the user'),
  })
  .meta({ id: 'CrewMemberView', description: 'A member of a crew.' })

const crew = z
  .object({
    uuid: text,
    pid: count,
    name: text.nullable(),
    status,
    cwd: text,
    ...rules,
    branch: text.nullable().describe('the branch of the crew; null: it works without a repository'),
    base: text.nullable(),
    createdAt: time,
    exitedAt: time.nullable(),
    elapsedMs: ms,
    costUsd: usd.nullable(),
    unpriced: z.boolean(),
    note: text.nullable().describe('the text of the NOTE column'),
    waitsFor: texts.describe('what the crew waits for, as text'),
    holds: z.array(hold).describe('why the process is suspended'),
    asks: z.array(ask).describe('the open questions for the user'),
    ending,
    exit: z.object({ code: z.int(), reason: text }).nullable(),
    resumable: z.boolean().describe('true: the crew ended before its work was done, and can be resumed'),
    tasks: z.array(task),
    members: z.array(member),
  })
  .meta({ id: 'CrewView', description: 'A crew: a coordinator, its workers and their tasks.' })

const taskEvent = z
  .object({ seq: count, at: time, type: text, what: text, text: text.nullable() })
  .describe('An event of a task. `text`: the complete message, report or verdict.')

const taskDetail = z
  .object({
    ...taskFields,
    text,
    acceptance: text.nullable(),
    report: text.nullable(),
    comments: text.nullable(),
    history: z.array(taskEvent),
  })
  .describe('A task with its texts. `history` includes its messages.')

const crews = z.object({ version, crews: z.array(crew) })
const crewSteer = z.object({ version, crew, note: text.nullable().describe('the outcome of the command, as text') })

export const crewAnswers = {
  crews,
  crew: z.object({ version, crew }),
  crewSteer,
  crewTask: z.object({ version, task: taskDetail }),
}

export const CREW_TYPES = {
  VerifyView: check,
  CrewTaskView: task,
  CrewMemberView: member,
  CrewView: crew,
  TaskEventView: taskEvent,
  TaskDetailView: taskDetail,
  CrewsView: crews,
  CrewSteerView: crewSteer,
}
