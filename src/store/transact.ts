// One transaction of the store: all of it or nothing, and none left open. On the way of every commit, so it runs prepared
// statements, by `get`: `run` makes an object of what was changed. Test: test/tables/store-refusals.test.ts, test/tables/store-remove.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { Statements } from './statements.ts'

/** Gives what `work` gives; what it throws comes out after the rollback. */
export function transact<T>(db: DatabaseSync, sql: Pick<Statements, 'begin' | 'commit' | 'rollback'>, work: () => T): T {
  sql.begin.get()
  try {
    const result = work()
    sql.commit.get()
    return result
  } catch (error) {
    if (db.isTransaction) sql.rollback.run()
    throw error
  }
}
