// Where the daemon's cgroups are made. One that was delegated to the daemon alone (a systemd unit with Delegate=yes, a scope) is
// an inner node from then on: the daemon moves to a leaf of its own in it, as cgroup v2 and systemd ask of inner nodes (a
// controller that is switched on for the agents would refuse otherwise). Where others live as well, nobody is moved.
// Must never move anybody but this very process. Tests: test/processes/contain-user.test.ts.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findOwnCgroup } from './probe.ts'

const LEAF = 'reeve-daemon'

export interface Place extends Disposable {
  /** the directory in which cgroups are made; null without cgroup v2 */
  readonly dir: string | null
  /** it was given to the daemon alone */
  readonly isOurs: boolean
}

/** Moves to the leaf if that is to be; its disposal moves back and leaves nothing. */
export function settleIn(own: string | null = findOwnCgroup()): Place {
  if (own === null) return { dir: null, isOurs: false, [Symbol.dispose]: () => {} }
  const isInLeaf = basename(own) === LEAF
  const dir = isInLeaf ? dirname(own) : own
  if (!isInLeaf && !(isAlone(own) && hasMoved(join(own, LEAF)))) return { dir, isOurs: false, [Symbol.dispose]: () => {} }
  return { dir, isOurs: true, [Symbol.dispose]: () => leave(dir) }
}

function isAlone(cgroup: string): boolean {
  try {
    return readFileSync(join(cgroup, 'cgroup.procs'), 'latin1').trim() === String(process.pid)
  } catch {
    return false
  }
}

// Refused where the directory is not ours: then it is no delegated one, and the probe will say so.
function hasMoved(leaf: string): boolean {
  try {
    mkdirSync(leaf, { recursive: true, mode: 0o755 })
    writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid))
    return true
  } catch {
    return false
  }
}

// A leaf in which somebody is left (the guardian, say) stays, and the next daemon uses it.
function leave(dir: string): void {
  try {
    writeFileSync(join(dir, 'cgroup.procs'), String(process.pid))
    rmdirSync(join(dir, LEAF))
  } catch { /* as it was found */ }
}
