// Ends what an incarnation of a dead daemon left: looks, decides by the table of recovery.ts, kills, waits, cleans up.
// What was recorded is checked against what is there now; nothing is taken from the record on trust.
// Tests: test/processes/contain-recover.test.ts.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContainmentIntent, OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { CgroupCage, removeCgroup } from './cgroup.ts'
import type { StopResult } from './contain.ts'
import { GroupCage } from './group.ts'
import { liveness } from './handle.ts'
import { climb, until } from './ladder.ts'
import { partsOf } from './marker.ts'
import { bootId, census, isInit, isZombie, pidNamespaceOf } from './proc.ts'
import { decideRecovery } from './recovery.ts'
import type { Found } from './recovery.ts'

const REMOVE_MS = 1_000

export async function recoverLeftovers(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult> {
  const decision = decideRecovery(look(intent, handle))
  const cages: Cage[] = []
  if (decision.cgroup && intent.path !== null) cages.push(new CgroupCage(intent.path))
  if (decision.group || decision.marked) {
    const group = new GroupCage(intent.marker, { tell: () => {}, forget: () => {} }, 'everybody')
    if (decision.group && handle !== null) group.admit(handle)
    if (decision.namespace) for (const init of initsOf(intent.marker, handle)) group.admit(init)
    cages.push(group)
  }
  const results = await Promise.all(cages.map(killAll))
  if (intent.path !== null && decision.cgroup) removeCgroup(dirname(intent.path))
  const survivors = results.flatMap((result) => result.survivors)
  if (survivors.length > 0) return { outcome: 'survived', survivors }
  return { outcome: results.some((result) => result.outcome === 'killed') ? 'killed' : decision.idle, survivors }
}

// Nothing of this incarnation can have outlived the boot in which it was started.
function look(intent: ContainmentIntent, handle: OsHandle | null): Found {
  const sameBoot = partsOf(intent.marker)?.boot === bootId()
  return {
    kind: intent.kind,
    dir: isOurs(intent) && existsSync(join(intent.path ?? '', 'cgroup.procs')) ? 'there' : 'absent',
    handle: handle === null ? 'none' : sameBoot ? liveness(handle) : 'gone',
    marked: sameBoot && census('everybody').marked(intent.marker).some((row) => row.pid !== process.pid && !isZombie(row)),
  }
}

// Whoever is in a namespace of the incarnation's own, or waits outside for one who is, leads to its init. What lives inside is
// the init's and dies with it, also what cleared its environment. The lifeline and the guardian have failed before.
function initsOf(marker: string, handle: OsHandle | null): readonly OsHandle[] {
  const rows = census('everybody').rows.filter((row) => !isZombie(row) && row.pid !== process.pid)
  const ours = rows.filter((row) => row.marker === marker || (row.pid === handle?.pid && row.startTime === handle.startTime))
  const namespaces = new Set(ours.map((row) => pidNamespaceOf(row.pid, 'children')))
  for (const shared of [null, pidNamespaceOf(process.pid, 'own')]) namespaces.delete(shared)
  return rows.filter((row) => isInit(row.pid) && namespaces.has(pidNamespaceOf(row.pid, 'own'))).map(({ pid, startTime, pgid }) => ({ pid, startTime, pgid }))
}

// A record that names any other directory is damaged: that directory is not touched.
function isOurs({ path, marker }: ContainmentIntent): boolean {
  const parts = partsOf(marker)
  return path !== null && parts !== null && path.endsWith(`/${parts.daemon}/${parts.uuid}.${parts.pid}`) && /\/reeve-[0-9a-f]+\/[0-9a-f]+\/[^/]+$/.test(path)
}

async function killAll(cage: Cage): Promise<StopResult> {
  const result = await climb({
    isEmpty: () => cage.isEmpty(),
    programsEnded: () => true,
    askPrograms: () => {},
    askMembers: (signal) => cage.signalMembers(signal),
    kill: () => cage.kill(),
    members: () => cage.members(),
    waiting: cage.waiting,
  }, { signal: 'SIGKILL', graceMs: 0 })
  if (result.outcome !== 'survived') await until(() => cage.remove(), REMOVE_MS, { pollMs: cage.waiting.pollMs, watch: () => () => {} })
  return result
}
