// What the API answers about usage, as a zod schema held to src/api/usage-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { UsageReportView } from '../../api/usage-views.ts'

const count = z.int().min(0)
const sum = {
  processes: count.describe('how many were added up'), steps: count, inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count,
  costUsd: z.number().min(0), unpriced: z.boolean().describe('some call had no known price'), estimated: z.boolean().describe('some call was cut off and charged by its estimate'),
}

export const usageAnswers = {
  usage: of<UsageReportView>()(z.object({
    version: z.literal(1), by: z.enum(['agent', 'model', 'day', 'tree']), since: z.iso.datetime({ offset: true }).nullable().describe('the beginning of the hour from which on it counts'),
    rows: z.array(z.object({
      key: z.string().describe('the agent, the model, the day, or the UUID of who began the tree'),
      root: z.object({ uuid: z.string(), pid: count.nullable(), name: z.string().nullable(), agent: z.string(), removed: z.boolean() }).nullable().describe('of a tree'), ...sum,
    })).describe('the most expensive first, days in their order; 1,000 at most'),
    more: count.describe('how many rows are left out'), total: z.object(sum).describe('of all, also of the rows that are left out'),
  })),
}
