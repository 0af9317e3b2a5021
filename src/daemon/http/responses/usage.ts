// Schemas of the usage of all processes, for src/api/views/usage.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { USAGE_GROUPS } from '../../../kernel/model/words.ts'
import { costFields, count, text, time, tokenFields, usd, version } from './fields.ts'

const by = z.enum(USAGE_GROUPS)
const sumFields = { processes: count.describe('the number of processes'), steps: count, ...tokenFields, ...costFields }
const sum = z.object(sumFields).describe('Tokens and USD of several processes.')

const root = z.object({ uuid: text, pid: count.nullable(), name: text.nullable(), agent: text, removed: z.boolean() })

const row = z.object({
  key: text.describe(
    'the agent, model, directory, day or hour, the value of the label, or the UUID of the process or root process. Empty: not known, or no such label. Days and hours are those of the time zone of the daemon',
  ),
  part: text.nullable().describe('the value of the second group, written as `key`; null: there is no second group'),
  root: root.nullable().describe('the process, or the root process of a tree; `pid` and `name` are null if its record is gone'),
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
  split: by.nullable().describe('the second group; null: there is none'),
  label: text.nullable().describe('the key of the label of the group `label`; null: no group is a label'),
  since: time.nullable().describe('the start of the first hour that counts; null: all usage counts'),
  until: time.nullable().describe('the end of the last hour that counts; null: up to now'),
  under: z
    .object({ uuid: text, pid: count, name: text.nullable() })
    .nullable()
    .describe('the process whose tree counts; null: all processes count'),
  rows: z.array(row).describe('at most 1,000 rows: times in order, else the most expensive first'),
  more: count.describe('the number of omitted rows'),
  unread: count.describe('the number of usage entries that are in no sum, because their process is unknown'),
  home: z
    .object({ day: period, month: period })
    .describe('what all processes have spent in this calendar day and month, in the time zone of the daemon'),
  total: sum.describe('the sum of all rows, omitted ones included'),
})

const rates = z
  .array(z.object({ minutes: count, costUsd: usd, tokens: z.number().min(0) }))
  .describe('USD and tokens per minute, over the last 1, 5 and 60 minutes')

const usdByMinute = z.array(usd).describe('USD of each of the last 30 minutes, the oldest first; the last one still goes on')

const rateReport = z.object({
  version,
  since: time.describe('the start of the daemon: what was spent before it is not in the rates'),
  total: rates,
  usdByMinute,
  projectedUsd: z
    .object({ day: usd, month: usd })
    .describe('what this calendar day and month will have cost at their ends, at the rate of the last 60 minutes'),
  trees: z.array(z.object({ root, rates, usdByMinute })).describe('the trees that have spent in the last hour, the most expensive first'),
})

export const usageAnswers = { usage: report, usageRate: rateReport }

export const USAGE_TYPES = { UsageBy: by, UsageSumView: sum, UsageRowView: row, UsageReportView: report, UsageRateView: rateReport }
