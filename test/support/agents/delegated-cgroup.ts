// Creates a cgroup that an ordinary user owns, as systemd does. The user owns its directory and the files that cgroup v2 lists for
// delegation. This needs root and a writable cgroup v2; tests are skipped elsewhere.
import { chownSync, mkdtempSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnCgroup } from '../../../src/drivers/contain/backends/cgroup-root.ts'
import { waitUntil } from '../wait-until.ts'

/** '' is the directory itself */
const DELEGATED_FILES = ['', 'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control']

export interface DelegatedCgroup extends AsyncDisposable {
  readonly dir: string
  /** a prefix of a command line; with it the program runs in the cgroup */
  readonly commandPrefix: readonly string[]
}

/** Whether this process is root, and can create a cgroup. */
export function canDelegate(): boolean {
  if (process.geteuid?.() !== 0) return false
  try {
    rmdirSync(mkdtempSync(join(findOwnCgroup() ?? '/nowhere', 'reeve-t-')))
    return true
  } catch {
    return false
  }
}

/** Creates a cgroup that `user` (a UID) owns. Its disposal kills all programs in it. */
export function createDelegatedCgroup(user: number): DelegatedCgroup {
  const dir = mkdtempSync(join(findOwnCgroup() ?? '/nowhere', 'reeve-t-'))
  for (const file of DELEGATED_FILES) chownSync(join(dir, file), user, user)
  return {
    dir,
    commandPrefix: ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(dir, 'cgroup.procs')],
    async [Symbol.asyncDispose]() {
      writeFileSync(join(dir, 'cgroup.kill'), '1')
      await waitUntil(() => tryRemove(dir), 'the cgroup is removed')
    },
  }
}

/** Returns the names of the direct child cgroups. */
export function cgroupsIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
}

/** Tries to remove the cgroup with all below it; true if it is gone. A guardian may remove the directory at the same time. */
function tryRemove(dir: string): boolean {
  try {
    for (const name of cgroupsIn(dir)) tryRemove(join(dir, name))
    rmdirSync(dir)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
