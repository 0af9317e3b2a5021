// What to do about an incarnation of a dead daemon: a table over what was recorded and what is found. Pure.
// `handle` is how the recorded program looks now; `marked` is whether processes with the incarnation's marker live.
// A cgroup's directory is the truth about what is in it; without one, only an identity that holds is ever signalled.
// Tests: test/tables/recovery.test.ts (every combination).
import type { ContainmentKind } from '../../kernel/types.ts'
import type { StopOutcome } from './contain.ts'
import type { Liveness } from './handle.ts'

export interface Found {
  readonly kind: ContainmentKind
  readonly dir: 'there' | 'absent'
  /** `none`: no handle was recorded */
  readonly handle: Liveness | 'none'
  readonly marked: boolean
}

export interface Decision {
  /** kill all that is in the cgroup and remove it */
  readonly cgroup: boolean
  /** kill the recorded program's group */
  readonly group: boolean
  /** kill the marked members one by one */
  readonly marked: boolean
  /** kill the inits of the PID namespaces in which such a one lives, and with them all that is inside */
  readonly namespace: boolean
  /** what to call it if nobody had to be killed */
  readonly idle: Extract<StopOutcome, 'gone' | 'stale' | 'unowned'>
}

// Without a cgroup, a program that nobody recorded may live and look like anybody else.
const IDLE_BY_HANDLE = { alive: 'gone', gone: 'gone', stale: 'stale', none: 'unowned' } as const

export function decideRecovery(found: Found): Decision {
  const inCgroup = found.kind === 'cgroup'
  return {
    cgroup: inCgroup && found.dir === 'there',
    group: found.handle === 'alive',
    marked: found.marked,
    namespace: found.kind === 'pidns' && (found.marked || found.handle === 'alive'),
    idle: inCgroup ? 'gone' : IDLE_BY_HANDLE[found.handle],
  }
}
