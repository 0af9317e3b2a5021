// Decides how to clean up an incarnation of a dead daemon, by a table over the record and the findings. Pure. A cgroup's
// directory shows its members reliably; without one, only verified identities are signalled.
// Tests: test/tables/drivers/contain/recovery-table.test.ts (every combination).
import type { StopOutcome } from './containment-contract.ts'
import type { HandleState } from './proc/handle.ts'
import type { ContainmentKind } from '../../kernel/model/words.ts'

export interface RecoveryFindings {
  readonly kind: ContainmentKind
  /** whether the recorded cgroup exists */
  readonly dir: 'there' | 'absent'
  /** the current state of the recorded program; `none` if no handle was recorded */
  readonly handle: HandleState | 'none'
  /** whether processes with the incarnation's marker are alive */
  readonly marked: boolean
}

export interface RecoveryPlan {
  /** whether to kill all members of the cgroup and to remove it */
  readonly cgroup: boolean
  /** whether to kill the recorded program's group */
  readonly group: boolean
  /** whether to kill the marked members one by one */
  readonly marked: boolean
  /** whether to kill the inits of the PID namespaces of the recorded and marked processes, and so everything inside */
  readonly namespace: boolean
  /** the outcome if no process had to be killed */
  readonly idle: Extract<StopOutcome, 'gone' | 'stale' | 'unowned'>
}

// Without a cgroup, an unrecorded program may be alive, and cannot be distinguished from other programs.
const IDLE_BY_HANDLE = { alive: 'gone', gone: 'gone', stale: 'stale', none: 'unowned' } as const

export function decideRecovery(found: RecoveryFindings): RecoveryPlan {
  const inCgroup = found.kind === 'cgroup'
  return {
    cgroup: inCgroup && found.dir === 'there',
    group: found.handle === 'alive',
    marked: found.marked,
    namespace: found.kind === 'pidns' && (found.marked || found.handle === 'alive'),
    idle: inCgroup ? 'gone' : IDLE_BY_HANDLE[found.handle],
  }
}
