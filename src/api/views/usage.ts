// The JSON of the API: the usage of all processes. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit.
// Test: test/e2e/limits/usage.test.ts.

export type UsageBy = 'agent' | 'model' | 'day' | 'tree' | 'hour' | 'process' | 'project' | 'label'

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
  /** true: the price of some call is unknown, so the cost is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
}

export interface UsageRowView {
  /**
   * the agent, model, directory, day or hour, the value of the label, or the UUID of the process or root process. Empty: not known, or no
   * such label. Days and hours are those of the time zone of the daemon
   */
  key: string
  /** the value of the second group, written as `key`; null: there is no second group */
  part: string | null
  /** the process, or the root process of a tree; `pid` and `name` are null if its record is gone */
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
  /** true: the price of some call is unknown, so the cost is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
}

export interface UsageReportView {
  version: 1
  by: UsageBy
  /** the second group; null: there is none */
  split: UsageBy | null
  /** the key of the label of the group `label`; null: no group is a label */
  label: string | null
  /** the start of the first hour that counts; null: all usage counts */
  since: string | null
  /** the end of the last hour that counts; null: up to now */
  until: string | null
  /** the process whose tree counts; null: all processes count */
  under: { uuid: string; pid: number; name: string | null } | null
  /** at most 1,000 rows: times in order, else the most expensive first */
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

export interface UsageRateView {
  version: 1
  /** the start of the daemon: what was spent before it is not in the rates */
  since: string
  /** USD and tokens per minute, over the last 1, 5 and 60 minutes */
  total: { minutes: number; costUsd: number; tokens: number }[]
  /** USD of each of the last 30 minutes, the oldest first; the last one still goes on */
  usdByMinute: number[]
  /** what this calendar day and month will have cost at their ends, at the rate of the last 60 minutes */
  projectedUsd: { day: number; month: number }
  /** the trees that have spent in the last hour, the most expensive first */
  trees: {
    root: {
      uuid: string
      pid: number | null
      name: string | null
      agent: string
      removed: boolean
    }
    /** USD and tokens per minute, over the last 1, 5 and 60 minutes */
    rates: { minutes: number; costUsd: number; tokens: number }[]
    /** USD of each of the last 30 minutes, the oldest first; the last one still goes on */
    usdByMinute: number[]
  }[]
}
