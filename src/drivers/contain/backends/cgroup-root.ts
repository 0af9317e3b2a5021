// Finds the daemon's own cgroup, and the root in which the daemon creates the cgroups of its programs. The root may be delegated to the
// daemon alone, by a systemd unit with Delegate=yes or by a scope. Then the daemon moves into a leaf, because cgroup v2 allows no processes
// in an inner node with controllers. If other processes share the cgroup, nothing is moved. Must never move any process but this one.
// Tests: test/processes/contain/ordinary-user.test.ts.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const LEAF_NAME = 'reeve-daemon'

export interface CgroupRoot extends Disposable {
  /** the directory in which cgroups are created; null without cgroup v2 */
  readonly dir: string | null
  /** whether the cgroup was delegated to the daemon alone */
  readonly isOurs: boolean
}

/** Moves the daemon into the leaf if the cgroup is its own. Disposal moves the daemon back and removes the leaf. */
export function prepareCgroupRoot(ownCgroup: string | null = findOwnCgroup()): CgroupRoot {
  if (ownCgroup === null) return { dir: null, isOurs: false, [Symbol.dispose]: () => {} }
  const isInLeaf = basename(ownCgroup) === LEAF_NAME
  const dir = isInLeaf ? dirname(ownCgroup) : ownCgroup
  if (!isInLeaf && !(isAlone(ownCgroup) && moveIntoLeaf(join(ownCgroup, LEAF_NAME))))
    return { dir, isOurs: false, [Symbol.dispose]: () => {} }
  return { dir, isOurs: true, [Symbol.dispose]: () => leaveLeaf(dir) }
}

function isAlone(cgroup: string): boolean {
  try {
    return readFileSync(join(cgroup, 'cgroup.procs'), 'latin1').trim() === String(process.pid)
  } catch {
    // An unreadable cgroup counts as shared, so nothing is moved.
    return false
  }
}

// Fails if the cgroup is not delegated to the daemon; the probe then reports that.
function moveIntoLeaf(leaf: string): boolean {
  try {
    mkdirSync(leaf, { recursive: true, mode: 0o755 })
    writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid))
    return true
  } catch {
    // The probe reports that cgroups do not work here.
    return false
  }
}

// A leaf that still has a member, such as the guardian, stays for the next daemon.
function leaveLeaf(dir: string): void {
  try {
    writeFileSync(join(dir, 'cgroup.procs'), String(process.pid))
    rmdirSync(join(dir, LEAF_NAME))
  } catch {
    // The leaf stays, and the next daemon uses it.
  }
}

/** Returns the directory of the daemon's own cgroup; null without cgroup v2, or without /proc. */
export function findOwnCgroup(): string | null {
  try {
    return parseOwnCgroup(readFileSync('/proc/self/mountinfo', 'latin1'), readFileSync('/proc/self/cgroup', 'latin1'))
  } catch {
    // There is no /proc, or no cgroup v2.
    return null
  }
}

/**
 * Returns the directory of the daemon's own cgroup from the texts of /proc/self/mountinfo and /proc/self/cgroup; null without cgroup
 * v2.
 */
function parseOwnCgroup(mountinfo: string, cgroup: string): string | null {
  // Field 4 of a line is the cgroup that is mounted, which is not `/` in some containers. Field 5 is the directory where it is mounted.
  const fields = mountinfo
    .split('\n')
    .map((line) => line.split(' '))
    .find((words) => words[words.indexOf('-') + 1] === 'cgroup2')
  const inside = /^0::(.*)$/m.exec(cgroup)?.[1]
  const [root, mount] = [fields?.[3], fields?.[4]]
  if (root === undefined || mount === undefined || inside === undefined) return null
  return join(mount, relative(root, inside))
}
