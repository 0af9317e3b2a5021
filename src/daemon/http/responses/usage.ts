// Schemas of the usage of all processes, for src/api/views/usage.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { USAGE_GROUPS } from '../../../kernel/model/words.ts'
import { costFields, count, text, time, tokenFields, usd, version } from './fields.ts'

const by = z.enum(USAGE_GROUPS)
const sumFields = { processes: count.describe('the number of processes'), steps: count, ...tokenFields, ...costFields }
const sum = z.object(sumFields).describe('Tokens and USD of several processes.')

const row = z.object({
  key: text.describe('the agent, the model (empty: unknown), the day in the time zone of the daemon, or the UUID of the root process'),
  root: z
    .object({ uuid: text, pid: count.nullable(), name: text.nullable(), agent: text, removed: z.boolean() })
    .nullable()
    .describe('the root process of a tree; `pid` and `name` are null if its record is gone'),
  ...sumFields,
})

const period = z.object({
  costUsd: usd,
  budgetUsd: usd.nullable().describe('`budgets` of config.yaml; null: there is no budget'),
  endsAt: time.describe('when the next period begins'),
})

const report = z.object({
  version,
  by,
  since: time.nullable().describe('the start of the first hour that counts; null: all usage counts'),
  rows: z.array(row).describe('at most 1,000 rows: the most expensive first, or days in order'),
  more: count.describe('the number of omitted rows'),
  unread: count.describe('the number of usage entries that are in no sum, because their process is unknown'),
  home: z
    .object({ day: period, month: period })
    .describe('what all processes have spent in this calendar day and month, in the time zone of the daemon'),
  total: sum.describe('the sum of all rows, omitted ones included'),
})

export const usageAnswers = { usage: report }

export const USAGE_TYPES = { UsageBy: by, UsageSumView: sum, UsageRowView: row, UsageReportView: report }
