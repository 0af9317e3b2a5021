// What the API answers about crews, as zod schemas held to their views in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { CrewsView, CrewMemberView, CrewTaskView, CrewView, TaskDetailView } from '../../api/crew-views.ts'
import type { RolesView } from '../../api/role-views.ts'
import type { AskView, Status } from '../../api/views.ts'

const count = z.int().min(0)
const usd = z.number().min(0)
const time = z.iso.datetime({ offset: true })
const text = z.string()
const role = z.enum(['coordinator', 'generic', 'implementer', 'reviewer', 'researcher'])

const taskFields = {
  id: text, kind: z.enum(['work', 'human', 'conflict']), title: text,
  state: z.enum(['queued', 'implementing', 'awaiting_review', 'in_review', 'addressing_feedback', 'approved', 'committing', 'merging', 'waiting', 'done', 'failed', 'cancelled']),
  needs: z.array(text), role: text.nullable(), reviews: z.boolean(), implementer: text.nullable().describe('who holds it, or held it when it was done'), implementers: z.array(text), reviewer: text.nullable(),
  verdict: z.enum(['APPROVED', 'DENIED']).nullable(), attempts: count.describe('tries that have failed, for any reason'), denials: count, base: text.nullable(), commit: text.nullable(),
  merged: text.nullable().describe("the crew's branch after the merge"), conflict: text.nullable().describe('the task that resolves its conflict'), reason: text.nullable(),
  salvaged: text.nullable().describe('a ref with what an earlier try left uncommitted'), asks: z.enum(['human', 'gate', 'review']).nullable().describe('what a person is asked about it'),
  spent: z.object({ inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count, costUsd: usd, unpriced: z.boolean() }),
  addedAt: time, startedAt: time.nullable(), endedAt: time.nullable(),
}

/** Crews are shown with words of processes, whose schemas stand in answers.ts. */
export function crewAnswers<P extends z.ZodType>(status: z.ZodType<Status>, ask: z.ZodType<AskView>, process: P) {
  const task = of<CrewTaskView>()(z.object(taskFields)).meta({ id: 'CrewTaskView' })
  const member = of<CrewMemberView>()(z.object({
    id: text, role, state: z.enum(['starting', 'on', 'leaving', 'gone']), phase: z.enum(['idle', 'implementing', 'awaiting_review', 'reviewing', 'addressing_feedback', 'committing']),
    task: text.nullable(), leave: z.object({ how: z.enum(['retired', 'stopped', 'lost', 'replaced']), reason: text }).nullable(), uuid: text.nullable(), pid: count.nullable(), agent: text.nullable(),
    status: status.nullable(), worktree: z.object({ dir: text, branch: text }).nullable(), queueCount: count, contextTokens: count, contextWindow: count.nullable(),
    costUsd: usd, unpriced: z.boolean(), elapsedMs: z.number().min(0), note: text.nullable(),
  })).meta({ id: 'CrewMemberView' })
  const crew = of<CrewView>()(z.object({
    uuid: text, pid: count, name: text.nullable(), status, cwd: text, coordinator: z.enum(['engine', 'agent']), gate: z.enum(['auto', 'coordinator', 'human']), merge: z.enum(['auto', 'leave']),
    reviews: z.boolean(), branch: text.nullable(), base: text.nullable(), createdAt: time, exitedAt: time.nullable(), elapsedMs: z.number().min(0), costUsd: usd, unpriced: z.boolean(),
    note: text.nullable(), waitsFor: z.array(text), asks: z.array(ask), ending: z.object({ outcome: z.enum(['completed', 'failed', 'cancelled']), summary: text }).nullable(),
    exit: z.object({ code: z.int(), reason: text }).nullable(), tasks: z.array(task), members: z.array(member),
  })).meta({ id: 'CrewView', description: 'A crew: a coordinator, its workers and their tasks.' })
  const version = z.literal(1)
  return {
    roles: of<RolesView>()(z.object({ version, roles: z.array(z.object({ role, source: z.enum(['project', 'user', 'built-in']), file: text.nullable(), prompt: text })), errors: z.array(z.object({ role, file: text, line: count, message: text })) })),
    crewUp: z.object({ version, process, branch: text.nullable(), base: text.nullable(), tasks: count, notes: z.array(text).describe('what a person should know of how it begins') }),
    crews: of<CrewsView>()(z.object({ version, crews: z.array(crew) })),
    crew: z.object({ version, crew }),
    crewSteer: z.object({ version, crew, note: text.nullable().describe('what came of it, in words') }),
    crewTask: z.object({ version, task: of<TaskDetailView>()(z.object({
      ...taskFields, text, acceptance: text.nullable(), report: text.nullable(), comments: text.nullable(),
      history: z.array(z.object({ seq: count, at: time, type: text, what: text, text: text.nullable() })),
    })) }),
  }
}
