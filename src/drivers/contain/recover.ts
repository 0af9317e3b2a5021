// Ends the programs that an incarnation of a dead daemon left: inspects, decides by recovery-table.ts, kills, waits and cleans
// up. The record is compared with the current state; the record alone is never trusted.
// Tests: test/processes/contain/recover.test.ts.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContainmentIntent, OsHandle } from '../../kernel/model/process.ts'
import type { ContainmentBackend } from './backends/backend.ts'
import { CgroupBackend, removeCgroup } from './backends/cgroup.ts'
import type { StopResult } from './containment-contract.ts'
import { GroupBackend } from './backends/group.ts'
import { handleState } from './proc/handle.ts'
import { runStopLadder, waitUntil } from './stop-ladder.ts'
import { parseMarker } from './marker.ts'
import { bootId, readProcessTable, isInit, isZombie, pidNamespaceOf } from './proc/process-table.ts'
import { decideRecovery } from './recovery-table.ts'
import type { RecoveryFindings } from './recovery-table.ts'

const REMOVE_MS = 1_000

/** Ends the programs of one incarnation, by its recorded intent and handle. Survivors are in the result. */
export async function recoverLeftovers(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult> {
  const plan = decideRecovery(inspect(intent, handle))
  const backends: ContainmentBackend[] = []
  if (plan.cgroup && intent.path !== null) backends.push(new CgroupBackend(intent.path))
  if (plan.group || plan.marked) {
    const group = new GroupBackend(intent.marker, { register: () => {}, unregister: () => {} }, 'all')
    if (plan.group && handle !== null) group.admit(handle)
    if (plan.namespace) for (const init of findInits(intent.marker, handle)) group.admit(init)
    backends.push(group)
  }
  const results = await Promise.all(backends.map(killMembers))
  if (intent.path !== null && plan.cgroup) removeCgroup(dirname(intent.path))
  const survivors = results.flatMap((result) => result.survivors)
  if (survivors.length > 0) return { outcome: 'survived', survivors }
  // After a reboot no program is left, even an unrecorded one.
  if (!isThisBoot(intent)) return { outcome: 'gone', survivors }
  return { outcome: results.some((result) => result.outcome === 'killed') ? 'killed' : plan.idle, survivors }
}

function isThisBoot({ marker }: ContainmentIntent): boolean {
  return parseMarker(marker)?.boot === bootId()
}

// Programs of an earlier boot cannot be alive.
function inspect(intent: ContainmentIntent, handle: OsHandle | null): RecoveryFindings {
  const sameBoot = isThisBoot(intent)
  return {
    kind: intent.kind,
    dir: isOurs(intent) && existsSync(join(intent.path ?? '', 'cgroup.procs')) ? 'there' : 'absent',
    handle: handle === null ? 'none' : sameBoot ? handleState(handle) : 'gone',
    marked:
      sameBoot &&
      readProcessTable('all')
        .marked(intent.marker)
        .some((row) => row.pid !== process.pid && !isZombie(row)),
  }
}

// Finds the inits of the incarnation's namespaces, through a process inside of a namespace or its waiting proxy outside. All members
// die with their init, even those that cleared their environment. This is needed only if the lifeline and the guardian have failed.
function findInits(marker: string, handle: OsHandle | null): readonly OsHandle[] {
  const rows = readProcessTable('all').rows.filter((row) => !isZombie(row) && row.pid !== process.pid)
  const ours = rows.filter((row) => row.marker === marker || (row.pid === handle?.pid && row.startTime === handle.startTime))
  const namespaces = new Set(ours.map((row) => pidNamespaceOf(row.pid, 'children')))
  for (const shared of [null, pidNamespaceOf(process.pid, 'own')]) namespaces.delete(shared)
  return rows
    .filter((row) => isInit(row.pid) && namespaces.has(pidNamespaceOf(row.pid, 'own')))
    .map(({ pid, startTime, pgid }) => ({ pid, startTime, pgid }))
}

// A record with any other directory is damaged; that directory is not touched.
function isOurs({ path, marker }: ContainmentIntent): boolean {
  const parts = parseMarker(marker)
  return (
    path !== null &&
    parts !== null &&
    path.endsWith(`/${parts.daemon}/${parts.uuid}.${parts.pid}`) &&
    /\/reeve-[0-9a-f]+\/[0-9a-f]+\/[^/]+$/.test(path)
  )
}

async function killMembers(backend: ContainmentBackend): Promise<StopResult> {
  const result = await runStopLadder(
    {
      isEmpty: () => backend.isEmpty(),
      programsEnded: () => true,
      signalPrograms: () => {},
      signalMembers: (signal) => backend.signalMembers(signal),
      kill: () => backend.kill(),
      members: () => backend.members(),
      waiting: backend.waiting,
    },
    { signal: 'SIGKILL', graceMs: 0 },
  )
  if (result.outcome !== 'survived')
    await waitUntil(() => backend.remove(), REMOVE_MS, { pollMs: backend.waiting.pollMs, watch: () => () => {} })
  return result
}
