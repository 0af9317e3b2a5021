// A cgroup that belongs to an ordinary user, as systemd delegates one: the directory and the files that cgroup v2 names for it.
// Only root can make one, and only where cgroup v2 may be written; tests skip without.
import { chownSync, mkdtempSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnCgroup } from '../../src/drivers/contain/probe.ts'
import { eventually } from './living.ts'

const FILES = ['', 'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control']

export interface Delegated extends AsyncDisposable {
  readonly dir: string
  /** what stands before a command line, so that the program runs inside */
  readonly entering: readonly string[]
}

export function canDelegate(): boolean {
  if (process.geteuid?.() !== 0) return false
  try {
    rmdirSync(mkdtempSync(join(findOwnCgroup() ?? '/nowhere', 'reeve-t-')))
    return true
  } catch {
    return false
  }
}

export function delegateTo(user: number): Delegated {
  const dir = mkdtempSync(join(findOwnCgroup() ?? '/nowhere', 'reeve-t-'))
  for (const file of FILES) chownSync(join(dir, file), user, user)
  return {
    dir,
    entering: ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(dir, 'cgroup.procs')],
    async [Symbol.asyncDispose]() {
      writeFileSync(join(dir, 'cgroup.kill'), '1')
      await eventually(() => isRemoved(dir), 'the end of a cgroup')
    },
  }
}

/** the directories below it, by name */
export function cgroupsIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

/** A guardian that removes them at the same time may be faster. */
function isRemoved(dir: string): boolean {
  try {
    for (const name of cgroupsIn(dir)) isRemoved(join(dir, name))
    rmdirSync(dir)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
