// The directory for files that reeve sets aside and never removes. It has copies of rejected write-ahead logs, and the logs of replaced
// stores. It also has worktrees and records of processes that the store has never known. `reeve doctor` lists them.
// Tests: test/tables/store/files/replaced-files.test.ts, test/tables/store/files/identity.test.ts.
import { join } from 'node:path'

export function asideDir(state: string): string {
  return join(state, 'aside')
}
