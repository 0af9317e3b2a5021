// The directory for files that reeve sets aside and never removes: copies of rejected write-ahead logs, and the worktrees and records of
// processes that the store has never known. reeve logs each.
import { join } from 'node:path'

export function asideDir(state: string): string {
  return join(state, 'aside')
}
