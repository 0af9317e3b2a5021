// The recovery of an incarnation of a dead daemon, over every combination of findings.
// The rows below are written by hand: a change of the decision appears here as a change of a row.
import { expect, test } from 'vitest'
import { decideRecovery } from '../../../../src/drivers/contain/recovery-table.ts'
import type { RecoveryFindings } from '../../../../src/drivers/contain/recovery-table.ts'

// kind, directory, handle, marked → the killed targets (c cgroup, g group, m marked members, n their namespaces), and the outcome if no
// process was killed
const TABLE = `
cgroup there  alive yes → cgm- gone
cgroup there  alive no  → cg-- gone
cgroup there  gone  yes → c-m- gone
cgroup there  gone  no  → c--- gone
cgroup there  stale yes → c-m- gone
cgroup there  stale no  → c--- gone
cgroup there  none  yes → c-m- gone
cgroup there  none  no  → c--- gone
cgroup absent alive yes → -gm- gone
cgroup absent alive no  → -g-- gone
cgroup absent gone  yes → --m- gone
cgroup absent gone  no  → ---- gone
cgroup absent stale yes → --m- gone
cgroup absent stale no  → ---- gone
cgroup absent none  yes → --m- gone
cgroup absent none  no  → ---- gone
pidns  there  alive yes → -gmn gone
pidns  there  alive no  → -g-n gone
pidns  there  gone  yes → --mn gone
pidns  there  gone  no  → ---- gone
pidns  there  stale yes → --mn stale
pidns  there  stale no  → ---- stale
pidns  there  none  yes → --mn unowned
pidns  there  none  no  → ---- unowned
pidns  absent alive yes → -gmn gone
pidns  absent alive no  → -g-n gone
pidns  absent gone  yes → --mn gone
pidns  absent gone  no  → ---- gone
pidns  absent stale yes → --mn stale
pidns  absent stale no  → ---- stale
pidns  absent none  yes → --mn unowned
pidns  absent none  no  → ---- unowned
group  there  alive yes → -gm- gone
group  there  alive no  → -g-- gone
group  there  gone  yes → --m- gone
group  there  gone  no  → ---- gone
group  there  stale yes → --m- stale
group  there  stale no  → ---- stale
group  there  none  yes → --m- unowned
group  there  none  no  → ---- unowned
group  absent alive yes → -gm- gone
group  absent alive no  → -g-- gone
group  absent gone  yes → --m- gone
group  absent gone  no  → ---- gone
group  absent stale yes → --m- stale
group  absent stale no  → ---- stale
group  absent none  yes → --m- unowned
group  absent none  no  → ---- unowned
`
  .trim()
  .split('\n')

const KINDS: readonly RecoveryFindings['kind'][] = ['cgroup', 'pidns', 'group']
const DIRS: readonly RecoveryFindings['dir'][] = ['there', 'absent']
const HANDLES: readonly RecoveryFindings['handle'][] = ['alive', 'gone', 'stale', 'none']

const ALL_FINDINGS: readonly RecoveryFindings[] = KINDS.flatMap((kind) =>
  DIRS.flatMap((dir) => HANDLES.flatMap((handle) => [true, false].map((marked) => ({ kind, dir, handle, marked })))),
)

test('the table has a row for each combination, and each decision matches its row', () => {
  expect(ALL_FINDINGS.map(rowOf)).toEqual(TABLE)
})

test('the group of a stale, missing or unknown handle is never signalled', () => {
  for (const found of ALL_FINDINGS) if (found.handle !== 'alive') expect(decideRecovery(found).group).toBe(false)
  for (const found of ALL_FINDINGS)
    if (found.handle !== 'alive' && !found.marked) expect(decideRecovery(found)).toMatchObject({ marked: false, namespace: false })
})

function rowOf(found: RecoveryFindings): string {
  const decision = decideRecovery(found)
  const kills = `${decision.cgroup ? 'c' : '-'}${decision.group ? 'g' : '-'}${decision.marked ? 'm' : '-'}${decision.namespace ? 'n' : '-'}`
  const key = [found.kind.padEnd(6), found.dir.padEnd(6), found.handle.padEnd(5), (found.marked ? 'yes' : 'no').padEnd(3)].join(' ')
  return `${key} → ${kills} ${decision.idle}`
}
