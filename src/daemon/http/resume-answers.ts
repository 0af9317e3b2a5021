// What the API answers about resuming and forks, as zod schemas held to src/api/resume-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { LineageView, ResumablesView } from '../../api/resume-views.ts'

const version = z.literal(1)
const count = z.int().min(0)
const names = { uuid: z.string(), pid: count, name: z.string().nullable() }
const statuses = ['pending', 'starting', 'ready', 'working', 'waiting', 'suspended', 'stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted'] as const
const why = (what: string) => z.string().nullable().describe(`${what}: null if it can be, else why not`)

export const resumeAnswers = {
  resumables: of<ResumablesView>()(z.object({
    version,
    processes: z.array(z.object({
      ...names, agent: z.string(), status: z.enum(statuses), step: count, checkpointStep: count.nullable(), exitedAt: z.iso.datetime({ offset: true }).nullable(),
      modes: z.object({
        continue: why('with its UUID'), fork: why('as a new process'), rerun: why('from its beginning'),
        fromStep: z.object({ from: count, to: count }).nullable().describe('the steps after which a fork can begin'),
      }),
    })),
    next: z.string().nullable().describe('`after` of the next page'),
  })),
  lineage: of<LineageView>()(z.object({
    version, uuid: z.string(), truncated: z.boolean().describe('the family is larger than what is shown'),
    processes: z.array(z.object({ ...names, status: z.enum([...statuses, 'collected']), step: count.nullable(), originUuid: z.string().nullable(), originStep: count.nullable() }))
      .describe('the eldest first, each after what it was forked from'),
  })),
}
