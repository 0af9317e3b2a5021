// The JSON of what keeps, collects and carries histories: collection, export, import. Types only, as views.ts.
// Test: test/e2e/gc.test.ts, test/e2e/archive.test.ts.
import type { GcRule } from '../kernel/collecting.ts'

/** PIN: `pinned` false takes it back. */
export interface PinBody { pinned: boolean }

/** What was collected, or would be. */
export interface GcEntryView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  exitedAt: string
  /** an estimate; null where nobody knows */
  bytes: number | null
  /** the rule of the configuration that it falls under */
  rule: GcRule
}

/** A row that cannot be judged: it cannot be read, or has no time of death. */
export interface GcSkippedView { uuid: string; pid: number; warning: string }

export interface GcView {
  version: 1
  /** nothing was done */
  dryRun: boolean
  /** as configured; 0 is off */
  rules: { retentionDays: number; maxEntries: number; maxBytes: number }
  /** how many processes; `entries` are the first 1,000 of them, the oldest first */
  count: number
  entries: GcEntryView[]
  /** what the entries took, estimated; `freedBytes` is what the store has more room for, measured when all was cleared away */
  bytes: number
  freedBytes: number | null
  /** the first 100 of the rows that were passed over */
  skipped: GcSkippedView[]
  /** the store's file when it was done, and how much of it is free */
  store: { bytes: number; freeBytes: number }
}

/** A directory of the client: an absolute path. */
export interface DirBody { dir: string }

export interface ExportedView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /** what was made: DIR/steps/UUID */
  dir: string
  facts: number
  steps: number
  bytes: number
}

export interface ImportedView {
  version: 1
  processes: {
    uuid: string
    pid: number
    name: string | null
    facts: number
    /** where it came from */
    dir: string
    /** what was not as it should be, and was helped */
    warnings: string[]
  }[]
}
