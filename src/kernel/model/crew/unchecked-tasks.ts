// Counts unchecked tasks for texts: tasks that were marked as done without a review or a commit.
// Test: test/tables/cli/print/crew.test.ts.

/** Returns ` (2 unchecked)`, to append to the number of tasks that are done. Empty if all done tasks were reviewed or committed. */
export function uncheckedText(tasks: readonly { readonly byWord?: string | null }[]): string {
  const count = tasks.filter(({ byWord }) => (byWord ?? null) !== null).length
  return count === 0 ? '' : ` (${count} unchecked)`
}
