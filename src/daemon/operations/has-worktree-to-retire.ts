// Checks whether a process that has retired may still have its worktree.
// Test: test/e2e/worktree/retired-worktree.test.ts.
import type { Process } from '../../kernel/model/process.ts'

/** True if the process has retired, is dead, and was started with a worktree. The worktree may be removed already. */
export function hasWorktreeToRetire({ life, retiredAt, spec }: Process): boolean {
  return life.state === 'dead' && retiredAt !== null && spec.worktree !== undefined
}
