// The rules of `copy`: the patterns of files that a crew copies into each new worktree. In a crew file, a single pattern needs
// no list; a request has always a list.
// Test: test/tables/config/crew/crews.test.ts.
import { z } from 'zod'

const MAX_PATTERNS = 100
const copyPattern = z
  .string()
  .trim()
  .min(1)
  .max(1_000)
  .refine((text) => !/[\r\n]/.test(text), 'must be one line')
/** The rule of `copy` in a request. */
export const copyPatterns = z.array(copyPattern).max(MAX_PATTERNS)
/** The rule of `copy` in a crew file. */
export const copyPatternsOfFile = z.union(
  [copyPattern.transform((pattern) => [pattern]), copyPatterns],
  'expected a pattern as in .gitignore, or a list of them',
)
