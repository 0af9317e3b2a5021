// What the API answers about collection, export and import, as zod schemas held to src/api/history-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { ExportedView, GcEntryView, GcSkippedView, GcView, ImportedView } from '../../api/history-views.ts'

const version = z.literal(1)
const count = z.int().min(0)
const time = z.iso.datetime({ offset: true })

const entry = of<GcEntryView>()(z.object({
  uuid: z.string(), pid: count, name: z.string().nullable(), agent: z.string(), exitedAt: time,
  bytes: count.nullable().describe('an estimate'), rule: z.enum(['retention_days', 'max_entries', 'max_bytes']),
})).meta({ id: 'GcEntryView', description: 'An ended process that was collected, or would be, and the rule that it falls under.' })
const skipped = of<GcSkippedView>()(z.object({ uuid: z.string(), pid: count, warning: z.string() }))

export const historyAnswers = {
  collected: of<GcView>()(z.object({
    version, dryRun: z.boolean(), rules: z.object({ retentionDays: z.number(), maxEntries: count, maxBytes: count }).describe('as configured; 0 is off'),
    count: count.describe('how many processes'), entries: z.array(entry).describe('the first 1,000 of them, the oldest first'), bytes: count.describe('what they take, estimated'),
    freedBytes: count.nullable().describe('what the store has more room for'), skipped: z.array(skipped).describe('the first 100 that could not be judged'),
    store: z.object({ bytes: count, freeBytes: count }),
  })),
  exported: of<ExportedView>()(z.object({ version, uuid: z.string(), pid: count, name: z.string().nullable(), dir: z.string(), facts: count, steps: count, bytes: count })),
  imported: of<ImportedView>()(z.object({
    version, processes: z.array(z.object({ uuid: z.string(), pid: count, name: z.string().nullable(), facts: count, dir: z.string(), warnings: z.array(z.string()) })),
  })),
}
