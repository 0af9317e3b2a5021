// The JSON of what was used by all processes together. Types only, as views.ts.
// Test: test/e2e/usage.test.ts.

export type UsageBy = 'agent' | 'model' | 'day' | 'tree'

/** Tokens and USD of several processes. */
export interface UsageSumView {
  /** how many processes were added up */
  processes: number
  steps: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number
  /** some call had no known price, so `costUsd` is a lower bound */
  unpriced: boolean
  /** some call was cut off and charged by its estimate */
  estimated: boolean
}

export interface UsageRowView extends UsageSumView {
  /** the agent, the model (empty: nobody said which), the day of the daemon's clock, or the UUID of the process that began the tree */
  key: string
  /** of a tree: who began it; `pid` and `name` are null if nothing is left of it */
  root: { uuid: string; pid: number | null; name: string | null; agent: string; removed: boolean } | null
}

export interface UsageReportView {
  version: 1
  by: UsageBy
  /** the beginning of the hour from which on it counts; null: from the beginning */
  since: string | null
  /** the most expensive first, days in their order; 1,000 at most */
  rows: UsageRowView[]
  /** how many rows are left out */
  more: number
  /** of all, also of the rows that are left out */
  total: UsageSumView
}

/** What processes have used together. Tokens, and USD. */
export interface UsageSum {
  /** how many processes were added up */
  readonly processes: number
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly costUsd: number
  /** some call had no known price, so `costUsd` is a lower bound */
  readonly unpriced: boolean
  /** some call was cut off and charged by its estimate */
  readonly estimated: boolean
}
