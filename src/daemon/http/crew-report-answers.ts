// What the API answers about what a crew did, as a zod schema held to src/api/crew-report-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { CrewReportView, ReportGitView, ReportMemberView, ReportTaskView, ReportUsageView } from '../../api/crew-report-views.ts'
import type { Status } from '../../api/views.ts'

const count = z.int().min(0)
const ms = z.number().min(0)
const time = z.iso.datetime({ offset: true })
const text = z.string()
const states = z.enum(['queued', 'implementing', 'awaiting_review', 'in_review', 'addressing_feedback', 'approved', 'committing', 'merging', 'waiting', 'done', 'failed', 'cancelled'])

const usage = of<ReportUsageView>()(z.object({
  steps: count, turns: count, toolCalls: count, inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count, costUsd: z.number().min(0),
  unpriced: z.boolean().describe('some call had no known price, so `costUsd` is a lower bound'), estimated: z.boolean().describe('some call was cut off and charged by its estimate'),
})).meta({ id: 'ReportUsageView' })

const task = of<ReportTaskView>()(z.object({
  id: text, kind: z.enum(['work', 'human', 'conflict']), title: text, state: states, needs: z.array(text), implementer: text.nullable(), implementers: z.array(text), reviewer: text.nullable(), reviewers: z.array(text),
  attempts: count.describe('tries that have failed, for any reason'), denials: count, base: text.nullable(), commit: text.nullable(), merged: text.nullable(), conflict: text.nullable(), reason: text.nullable(),
  addedAt: time, startedAt: time.nullable(), endedAt: time.nullable(),
  tries: z.array(z.object({ member: text, startedAt: time, endedAt: time.nullable(), outcome: z.enum(['done', 'requeued', 'handed over', 'failed', 'cancelled']).nullable(), reason: text.nullable() })),
  verdicts: z.array(z.object({ by: text.nullable().describe('null: a person'), at: time, verdict: z.enum(['APPROVED', 'DENIED']), comments: text })),
  note: text.nullable().describe('what is to be known of its commit'), usage, workedMs: ms.describe('as long as somebody was in a turn about it'), waitedMs: ms, askedMs: ms.describe('as long as a person was asked about it'),
})).meta({ id: 'ReportTaskView' })

const branch = { name: text, commit: text, commits: count }

const git = of<ReportGitView>()(z.object({
  branch: z.object({ ...branch, base: text, taken: z.boolean().describe('what is checked out in the repository has all of it') }),
  unmerged: z.array(z.object(branch)), salvaged: z.array(z.object({ ref: text, commit: text, at: time, subject: text })),
  worktrees: z.array(z.object({ member: text, uuid: text, dir: text, branch: text })),
}))

export function crewReportAnswers(status: z.ZodType<Status>) {
  const member = of<ReportMemberView>()(z.object({
    id: text, role: z.enum(['coordinator', 'generic', 'implementer', 'reviewer', 'researcher']), uuid: text.nullable(), agent: text.nullable(), model: text.nullable(), status: status.nullable(),
    leave: z.object({ how: z.enum(['retired', 'stopped', 'lost', 'replaced']), reason: text }).nullable(), usage,
  }))
  return {
    crewReport: of<CrewReportView>()(z.object({
      version: z.literal(1), uuid: text, name: text.nullable(), status, coordinator: z.enum(['engine', 'agent']), gate: z.enum(['auto', 'coordinator', 'human']), merge: z.enum(['auto', 'leave']), reviews: z.boolean(),
      createdAt: time, exitedAt: time.nullable(), elapsedMs: ms, ending: z.object({ outcome: z.enum(['completed', 'failed', 'cancelled']), summary: text }).nullable(),
      tasks: z.array(task), members: z.array(member),
      totals: z.object({ tasks: z.partialRecord(states, count), commits: count, attempts: count, denials: count, usage, apart: usage }).describe('`apart`: of `usage`, what was about no task'),
      git: git.nullable(), open: z.array(z.object({ what: text, how: text.nullable() })), problems: z.array(text),
    })),
  }
}
