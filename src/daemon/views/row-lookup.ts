// The type of the lookup by which views find other processes. Test: test/tables/daemon/views/process-view.test.ts.
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** A lookup in the table, and the time. Both are absent for a process that is not in the table, such as one read from a file. */
export interface RowLookup {
  /** returns a row of the table */
  readonly row?: (uuid: Uuid) => Process | undefined
  /** returns the time now, in wall ms */
  readonly wall?: () => number
}
