// Parses the flag `--effort` of run and resume. Test: test/e2e/cli/run.test.ts.
import type { Effort } from '../../kernel/model/spec-parts.ts'
import { UsageError } from '../errors.ts'
import { EFFORTS } from '../../kernel/model/words.ts'

/** Returns the effort; undefined: the flag is not given. Errors: usage. */
export function parseEffort(text: string | undefined): Effort | undefined {
  const level = EFFORTS.find((each) => each === text)
  if (text !== undefined && !level) throw new UsageError(`--effort ${text}: choose from ${EFFORTS.join(', ')}`)
  return level
}
