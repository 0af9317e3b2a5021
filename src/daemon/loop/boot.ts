// Boot: ends the programs that the last daemon left running, then submits each row to the kernel, which decides its new state. The kernel
// decides about a row only after its programs were ended, or could not be ended.
// Test: test/tables/daemon/loop/boot.test.ts, test/processes/crash/random-kills.test.ts, test/e2e/lifecycle/restart.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import type { InputOf } from '../../kernel/model/inputs.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { WriteFailures } from './write-failures.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of rows whose programs are ended in parallel. */
const PARALLEL_ROWS = 16
/** The number of rows per commit. More rows need fewer commits; fewer rows need less memory. */
const PAGE_ROWS = 500

interface BootDeps {
  readonly table: Table
  readonly containments: Pick<ContainmentManager, 'recover'>
  readonly pipeline: Pipeline
  readonly writeFailures: WriteFailures
  /** true if the daemons of this home crash repeatedly: processes that would restart automatically are then held */
  readonly isCrashLoop?: boolean
}

/** Boots all rows of the table. Errors: `DISK_FULL`, `UNAVAILABLE` or those of the store if a new state cannot be written. */
export async function bootAll(deps: BootDeps): Promise<void> {
  const { table, pipeline, writeFailures } = deps
  const uuids = [...table.all()]
  const leftovers = await endAllPrograms(deps, uuids)
  for (let i = 0; i < uuids.length; i += PAGE_ROWS) await bootPage(deps, uuids.slice(i, i + PAGE_ROWS), leftovers)
  await writeFailures.restoreReserve()
  // The shutdown of the last daemon left these holds.
  pipeline.submit({ type: 'release', uuid: null, reason: 'daemon-shutdown' })
  await pipeline.waitUntilIdle()
}

/** The programs of a row that could not be ended, or about which there is doubt. */
type Leftovers = Pick<InputOf<'boot'>, 'survivors' | 'doubt'>

/** Ends the programs of all rows. Returns the leftovers by row; a row without any is missing. */
async function endAllPrograms({ table, containments }: BootDeps, uuids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Leftovers>> {
  const found = new Map<Uuid, Leftovers>()
  const endProgramsOf = async (uuid: Uuid): Promise<void> => {
    const leftovers = await endOldPrograms(containments, table.get(uuid))
    if (leftovers) found.set(uuid, leftovers)
  }
  for (let i = 0; i < uuids.length; i += PARALLEL_ROWS) await Promise.all(uuids.slice(i, i + PARALLEL_ROWS).map(endProgramsOf))
  return found
}

async function bootPage(
  { table, pipeline, writeFailures, isCrashLoop = false }: BootDeps,
  uuids: readonly Uuid[],
  leftovers: ReadonlyMap<Uuid, Leftovers>,
): Promise<void> {
  const seqsBefore = uuids.map((uuid) => table.lastSeq(uuid))
  for (const uuid of uuids)
    pipeline.submit({ type: 'boot', uuid, survivors: [], ...leftovers.get(uuid), ...(isCrashLoop ? { crashLoop: true } : {}) })
  await pipeline.waitUntilIdle()
  if (writeFailures.currentError) throw new KernelError('DISK_FULL', 'there is no room to record the new states of the processes')
  if (writeFailures.bootError) throw writeFailures.bootError
  // A row without a new fact would be shown as running, although it has no incarnation.
  if (uuids.some((uuid, i) => seqsBefore[i] !== undefined && table.lastSeq(uuid) === seqsBefore[i]))
    throw new KernelError('UNAVAILABLE', 'the new states of the processes cannot be recorded; the log has the reason')
}

async function endOldPrograms(containments: BootDeps['containments'], process: Process | undefined): Promise<Leftovers | null> {
  if (!process?.containment) return null
  const { survivors, outcome } = await containments.recover(process.containment, process.handle)
  if (outcome === 'unowned' || outcome === 'stale') return { survivors, doubt: outcome }
  return survivors.length > 0 ? { survivors } : null
}
