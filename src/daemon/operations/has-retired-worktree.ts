// Checks whether the worktree of a process can be removed because the process has retired.
// Test: test/e2e/worktree/retired-worktree.test.ts.
import type { Process } from '../../kernel/model/process.ts'

/** True if the process has retired, is dead, and was started with a worktree. */
export function hasRetiredWorktree({ life, retiredAt, spec }: Process): boolean {
  return life.state === 'dead' && retiredAt !== null && spec.worktree !== undefined
}
