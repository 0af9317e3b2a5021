// Schemas of resumable processes and of forks, for src/api/views/resume.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { STATUSES } from '../../../kernel/model/words.ts'
import { count, status, text, texts, time, usd, version } from './fields.ts'

const identity = { uuid: text, pid: count, name: text.nullable() }

const modes = z
  .object({
    continue: text.nullable().describe('continues with the same UUID, from its current state'),
    fork: text.nullable().describe('continues as a new process'),
    fromStep: z
      .object({ from: count, to: count })
      .nullable()
      .describe('the range of steps after which a fork can start; null: only in its current state, or not at all'),
    rerun: text.nullable().describe('runs again from its beginning, without its history'),
  })
  .describe('The ways to resume a process. null means that the way is possible; a text is the reason why it is not.')

const resumable = z.object({
  ...identity,
  agent: text,
  status,
  step: count,
  checkpointStep: count.nullable().describe('the step of the newest checkpoint; null: no checkpoint'),
  exitedAt: time.nullable(),
  modes,
})

const resumables = z.object({
  version,
  processes: z.array(resumable),
  next: text.nullable().describe('the value of `after` for the next page; null: this is the last page'),
})

const lineageNode = z
  .object({
    ...identity,
    status: z.enum([...STATUSES, 'collected']),
    step: count.nullable(),
    originUuid: text.nullable(),
    originStep: count.nullable(),
    createdAt: time.nullable(),
    endedAt: time.nullable(),
    costUsd: usd.nullable().describe('null: unknown'),
    exit: z.object({ code: z.int(), reason: text }).nullable(),
    model: text.nullable(),
    changed: texts.describe('the settings that differ from those of its origin, by their names'),
    lastText: text.nullable().describe('the beginning of its last text'),
  })
  .describe('A process of a tree of forks. Of a removed process only its ids and its name are known.')

const lineage = z
  .object({
    version,
    uuid: text,
    processes: z.array(lineageNode),
    truncated: z.boolean().describe('true: the tree has more processes than the list'),
  })
  .describe('The tree of forks of a process, oldest first, each after its origin.')

const compare = z.object({
  version,
  a: lineageNode,
  b: lineageNode,
  commonStep: count.nullable().describe('the last step that both have in common; null: none is known'),
  changed: z
    .array(z.object({ field: text, a: text.nullable(), b: text.nullable() }))
    .describe('the settings that differ, with their values as text or JSON'),
})

export const resumeAnswers = { resumables, lineage, compare }

export const RESUME_TYPES = {
  ResumeModesView: modes,
  ResumableView: resumable,
  ResumablesView: resumables,
  LineageNodeView: lineageNode,
  LineageView: lineage,
  CompareView: compare,
}
