// The flag `--effort` of run and resume. Test: test/e2e/cli-run.test.ts.
import type { Effort } from '../kernel/types.ts'
import { UsageError } from './errors.ts'

export const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

export function effortOf(text: string | undefined): Effort | undefined {
  const level = EFFORTS.find((each) => each === text)
  if (text !== undefined && !level) throw new UsageError(`--effort ${text}: there is ${EFFORTS.join(', ')}`)
  return level
}
