// Defines which rows a viewer wants, and in which form. Tests: test/tables/daemon/rows/row-feed.test.ts, test/e2e/rows/rows.test.ts.
import type { Uuid } from '../../kernel/model/ids.ts'

/**
 * `live`: the processes that have not ended. `recent`: also what ended in the last 24 hours, and the ancestors of all these. `all`: all
 * that are stored. `subtree`: `root`, however long ago it ended, and the recent rows below it.
 */
export type RowScope = { readonly of: 'live' | 'recent' | 'all' } | { readonly of: 'subtree'; readonly root: Uuid }

/** `columns`: a list of values for each field; `objects`: a list of rows. */
export type RowShape = 'columns' | 'objects'

/** A text that is equal for equal scopes. */
export function scopeKey(scope: RowScope): string {
  return scope.of === 'subtree' ? `subtree:${scope.root}` : scope.of
}
