// Schemas of trees of forks, for src/api/views/lineage.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { STATUSES } from '../../../kernel/model/words.ts'
import { count, text, texts, time, usd, version } from './fields.ts'

const identity = { uuid: text, pid: count, name: text.nullable() }

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
  .describe('A process of a tree of forks. Only the ids and the name of a removed process are known.')

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

export const lineageAnswers = { lineage, compare }

export const LINEAGE_TYPES = { LineageNodeView: lineageNode, LineageView: lineage, CompareView: compare }
