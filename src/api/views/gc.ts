// The JSON of the API: the collection of ended processes. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not
// edit. Test: test/e2e/daemon/gc.test.ts.
import type { GcRule } from '../../kernel/state/gc-selection.ts'

/** A process that is collected, or would be collected without `dryRun`. */
export interface GcEntryView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  exitedAt: string
  /** the estimated size; null if unknown */
  bytes: number | null
  /** the rule of the configuration that applies */
  rule: GcRule
}

/** A process that cannot be collected: its row cannot be read, or has no exit time. */
export interface GcSkippedView {
  uuid: string
  pid: number
  warning: string
}

export interface GcView {
  version: 1
  /** true: nothing was removed */
  dryRun: boolean
  /** the configured rules; 0 turns a rule off */
  rules: { retentionDays: number; maxEntries: number; maxBytes: number }
  /** the number of collected processes */
  count: number
  /** the first 1,000 collected processes, oldest first */
  entries: GcEntryView[]
  /** the estimated size of the entries */
  bytes: number
  /** the measured space that became free in the store; null: nothing was removed */
  freedBytes: number | null
  /** the first 100 processes that cannot be collected */
  skipped: GcSkippedView[]
  /** the size of the store file after the collection, and the free part of it */
  store: { bytes: number; freeBytes: number }
}
