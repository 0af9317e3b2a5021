// Schemas of a crew's report, for src/api/views/crew-report.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { REVIEW_VERDICTS, TASK_STATES, VERIFY_STAGES, COMMAND_ENDS } from '../../../../kernel/model/crew/words.ts'
import { ending, departure, role, rules, taskFields } from './crew.ts'
import { costFields, count, ms, status, text, texts, time, tokenFields, version } from '../fields.ts'

const usage = z
  .object({ steps: count, turns: count, toolCalls: count, ...tokenFields, ...costFields })
  .meta({ id: 'ReportUsageView', description: 'Tokens and USD of a part of a crew.' })

const attempt = z
  .object({
    member: text,
    startedAt: time,
    endedAt: time.nullable().describe('null: the attempt is not over'),
    outcome: z.enum(['done', 'requeued', 'handed over', 'failed', 'cancelled']).nullable(),
    reason: text.nullable().describe('why the task was taken away, or failed'),
  })
  .describe('An attempt at a task: from its assignment to a member until it was done or taken away.')

const verdict = z.object({ by: text.nullable().describe('null: the user'), at: time, verdict: z.enum(REVIEW_VERDICTS), comments: text })

const check = z
  .object({
    member: text.describe('the member whose files were checked'),
    at: time,
    stage: z.enum(VERIFY_STAGES),
    command: text,
    ok: z.boolean(),
    end: z
      .enum(COMMAND_ENDS)
      .describe('how the command ended. `exited`: by itself; `late`: after its time limit; `unable`: it could not be started'),
    code: z.int().nullable(),
    signal: text.nullable(),
    ms,
    commit: text.nullable().describe('the commit with the checked files; null: not in a repository'),
    output: text.describe('the end of its output'),
    changed: texts.describe('the files that the command changed, which reeve restored'),
  })
  .describe('A run of the verify command of a task.')

const task = z
  .object(taskFields)
  .omit({ role: true, reviews: true, priority: true, limits: true, agent: true, model: true, check: true, verify: true, verdict: true })
  .omit({ salvaged: true, asks: true, spent: true })
  .extend({
    reviewers: texts.describe('all reviewers so far'),
    tries: z.array(attempt).describe('the last 100 attempts'),
    verdicts: z.array(verdict).describe('the last 100 verdicts'),
    checks: z.array(check).describe('the last 100 runs of the verify command'),
    note: text.nullable().describe('a remark about its commit, for the user'),
    usage,
    workedMs: ms.describe('the time in which a member had a turn about the task'),
    waitedMs: ms.describe('the time since the task was added, until its end, that of the crew, or now; minus `workedMs`'),
    askedMs: ms.describe('the part of `waitedMs` in which a question about the task waited for the user'),
  })
  .meta({
    id: 'ReportTaskView',
    description: 'The outcome of a task. `usage` is that of all turns about the task, including those of its reviewers.',
  })

const setup = z
  .object({
    at: time,
    ok: z.boolean(),
    command: text.nullable(),
    code: z.int().nullable(),
    ms,
    output: text.describe('the end of its output'),
    copied: count.describe('the number of copied files'),
    skipped: texts.describe('some of the files that were not copied, with the reason'),
  })
  .describe('The setup of the worktree of a member.')

const member = z
  .object({
    id: text,
    role,
    uuid: text.nullable(),
    agent: text.nullable().describe('null: the process of the member was removed'),
    model: text.nullable(),
    status: status.nullable(),
    leave: departure,
    usage,
    setup: setup.nullable().describe('null: its worktree needed no setup'),
  })
  .describe('A member of the crew. `usage` includes the processes that the member has started.')

const branchFields = {
  name: text,
  commit: text,
  commits: count.describe('the number of commits that the crew branch does not have; for the crew branch: the number since its start'),
}
const branch = z.object(branchFields)
const git = z.object({
  branch: z.object({
    ...branchFields,
    base: text,
    taken: z.boolean().describe('true: the checked-out branch contains all its commits'),
  }),
  unmerged: z.array(branch).describe('other branches with commits that the crew branch does not have'),
  salvaged: z.array(z.object({ ref: text, commit: text, at: time, subject: text })).describe('refs with uncommitted files, newest first'),
  worktrees: z
    .array(z.object({ member: text, uuid: text, dir: text, branch: text }))
    .describe('worktrees of members that left without retiring'),
})

const crewReport = z.object({
  version,
  uuid: text,
  name: text.nullable(),
  status,
  ...rules,
  createdAt: time,
  exitedAt: time.nullable(),
  elapsedMs: ms.describe('the time from its start to its end, or until now, including time in which it was stopped or paused'),
  ending,
  tasks: z.array(task),
  members: z.array(member),
  totals: z
    .object({
      tasks: z.partialRecord(z.enum(TASK_STATES), count).describe('the number of tasks in each state'),
      commits: count,
      attempts: count,
      denials: count,
      usage,
      apart: usage,
    })
    .describe('`usage` is that of the whole crew; `apart` is the part of it that belongs to no task'),
  git: git.nullable().describe('null: the crew works without a repository, or the repository cannot be read (`problems` has the reason)'),
  open: z
    .array(z.object({ what: text, how: text.nullable() }))
    .describe('the open points for the user, each with a command if there is one'),
  problems: texts.describe('which parts of the report are missing, and why'),
})

export const crewReportAnswers = { crewReport }

export const CREW_REPORT_TYPES = {
  ReportUsageView: usage,
  ReportTryView: attempt,
  ReportVerdictView: verdict,
  ReportCheckView: check,
  ReportTaskView: task,
  ReportSetupView: setup,
  ReportMemberView: member,
  ReportBranchView: branch,
  ReportGitView: git,
  CrewReportView: crewReport,
}
