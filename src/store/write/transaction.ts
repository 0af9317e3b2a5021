// Runs one transaction of the store: all of its writes are applied or none, and no transaction stays open. This is a hot path of
// every commit, so it uses prepared statements. It calls `get`, because `run` would build an object with the number of changes.
// Test: test/tables/store/write/refusals.test.ts, test/tables/store/write/remove.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { Statements } from '../statements.ts'

/** Returns the result of `work`. An error of `work` is thrown again after the rollback. */
export function inTransaction<T>(db: DatabaseSync, sql: Pick<Statements, 'begin' | 'commit' | 'rollback'>, work: () => T): T {
  sql.begin.get()
  try {
    const result = work()
    sql.commit.get()
    return result
  } catch (error) {
    // After some errors, such as a full disk, SQLite has rolled back by itself.
    if (db.isTransaction) sql.rollback.run()
    throw error
  }
}
