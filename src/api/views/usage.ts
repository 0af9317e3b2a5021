// The JSON of the API: the usage of all processes. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit.
// Test: test/e2e/limits/usage.test.ts.

export type UsageBy = 'agent' | 'model' | 'day' | 'tree'

/** Tokens and USD of several processes. */
export interface UsageSumView {
  /** the number of processes */
  processes: number
  steps: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** true: the price of some call is unknown, so `costUsd` is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
}

export interface UsageRowView {
  /** the agent, the model (empty: unknown), the day in the time zone of the daemon, or the UUID of the root process */
  key: string
  /** the root process of a tree; `pid` and `name` are null if its record is gone */
  root: {
    uuid: string
    pid: number | null
    name: string | null
    agent: string
    removed: boolean
  } | null
  /** the number of processes */
  processes: number
  steps: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** true: the price of some call is unknown, so `costUsd` is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
}

export interface UsageReportView {
  version: 1
  by: UsageBy
  /** the start of the first hour that counts; null: all usage counts */
  since: string | null
  /** at most 1,000 rows: the most expensive first, or days in order */
  rows: UsageRowView[]
  /** the number of omitted rows */
  more: number
  /** the number of usage entries that are in no sum, because their process is unknown */
  unread: number
  /** what all processes have spent in this calendar day and month, in the time zone of the daemon */
  home: {
    day: {
      costUsd: number
      /** `budgets` of config.yaml; null: there is no budget */
      budgetUsd: number | null
      /** when the next period begins */
      endsAt: string
    }
    month: {
      costUsd: number
      /** `budgets` of config.yaml; null: there is no budget */
      budgetUsd: number | null
      /** when the next period begins */
      endsAt: string
    }
  }
  /** the sum of all rows, omitted ones included */
  total: UsageSumView
}
