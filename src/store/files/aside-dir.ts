// The directory for files that reeve sets aside and never removes. It has copies of rejected write-ahead logs. It also has worktrees
// and records of processes that the store has never known. reeve logs each file that it sets aside.
import { join } from 'node:path'

export function asideDir(state: string): string {
  return join(state, 'aside')
}
