// Finds out what containment works here by doing it: a cgroup is made, a process put in, frozen and killed.
// Leaves nothing, whatever fails. Tests: test/processes/contain.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CgroupCage, ownCgroup, removeCgroup } from './cgroup.ts'
import { until } from './ladder.ts'

const STEP_MS = 2_000

/** Our own cgroup's directory; null if cgroup v2 is not mounted. */
export function findOwnCgroup(): string | null {
  try {
    return ownCgroup(readFileSync('/proc/self/mountinfo', 'latin1'), readFileSync('/proc/self/cgroup', 'latin1'))
  } catch {
    return null
  }
}

/** Null if cgroups can be made, filled, frozen and killed below `dir`, which is made for it; else why not. */
export async function complaintOf(dir: string): Promise<string | null> {
  const trial = join(dir, 'probe')
  try {
    await tryOut(trial)
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    removeCgroup(trial)
  }
}

async function tryOut(dir: string): Promise<void> {
  const cage = new CgroupCage(dir)
  const [shell, ...args] = cage.enter(['/bin/sh', '-c', 'read -r line'])
  // It ends by itself when its stdin does: also if we die in between.
  const child = spawn(shell, args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const exited = once(child, 'exit')
  try {
    await expect(() => !cage.isEmpty(), cage, 'a process could not be put into it')
    cage.freeze()
    await expect(() => cage.isFrozen(), cage, 'it could not be frozen')
    cage.kill()
    await expect(() => cage.isEmpty(), cage, 'it could not be killed')
  } finally {
    child.stdin.destroy()
    cage.thaw()
  }
  await exited
  await expect(() => cage.remove(), cage, 'it could not be removed')
}

async function expect(done: () => boolean, cage: CgroupCage, complaint: string): Promise<void> {
  if (!(await until(done, STEP_MS, cage.waiting))) throw new Error(`a cgroup can be made, but ${complaint}`)
}
