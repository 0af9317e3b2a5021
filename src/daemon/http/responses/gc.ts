// Schemas of the collection of ended processes, for src/api/views/gc.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { GC_RULES } from '../../../kernel/state/gc-selection.ts'
import { count, text, time, version } from './fields.ts'

const entry = z
  .object({
    uuid: text,
    pid: count,
    name: text.nullable(),
    agent: text,
    exitedAt: time,
    bytes: count.nullable().describe('the estimated size; null if unknown'),
    rule: z.enum(GC_RULES).describe('the rule of the configuration that applies'),
  })
  .meta({ id: 'GcEntryView', description: 'A process that is collected, or would be collected without `dryRun`.' })

const skipped = z
  .object({ uuid: text, pid: count, warning: text })
  .describe('A process that cannot be collected: its row cannot be read, or has no exit time.')

const collected = z.object({
  version,
  dryRun: z.boolean().describe('true: nothing was removed'),
  rules: z.object({ retentionDays: z.number(), maxEntries: count, maxBytes: count }).describe('the configured rules; 0 turns a rule off'),
  count: count.describe('the number of collected processes'),
  entries: z.array(entry).describe('the first 1,000 collected processes, oldest first'),
  bytes: count.describe('the estimated size of the entries'),
  freedBytes: count.nullable().describe('the measured space that became free in the store; null: nothing was removed'),
  skipped: z.array(skipped).describe('the first 100 processes that cannot be collected'),
  store: z.object({ bytes: count, freeBytes: count }).describe('the size of the store file after the collection, and the free part of it'),
})

export const gcAnswers = { collected }

export const GC_TYPES = {
  GcEntryView: entry,
  GcSkippedView: skipped,
  GcView: collected,
}
