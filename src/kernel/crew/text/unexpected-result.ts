// The text about a job that does not have the result that its task needs. Test: test/tables/kernel/crew/decide/lost-files.test.ts.
import type { JobResult } from '../../model/crew/facts.ts'

/** Explains why a job does not have the expected result. */
export function unexpectedResultText(result: JobResult): string {
  return result.type === 'error' ? result.error : `the daemon answered with ${result.type}`
}
