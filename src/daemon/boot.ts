// What a daemon's start does with what the last one left: ends what still runs of it, then lets the kernel say what
// each row has become. Owns the order: nothing of an old incarnation lives when any row is decided.
// Test: test/processes/crash.test.ts, test/e2e/restart.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { DiskFull } from './disk-full.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'

/** rows whose programs are looked for at the same time */
const AT_ONCE = 16
/** rows that are decided together, in one commit: as few pages are written as can be, and as few rows are unpacked at a time */
const PAGE = 500

interface BootParts {
  readonly table: Table
  readonly container: Container
  readonly pipeline: Pipeline
  readonly diskFull: DiskFull
  /** daemons of this home have died too often: what would come back by itself is held */
  readonly crashLoop?: boolean
}

/** Errors: `DISK_FULL` or `UNAVAILABLE` when it cannot be written what the rows have become; then nothing has begun. */
export async function bootAll(parts: BootParts): Promise<void> {
  const { table, pipeline, diskFull } = parts
  const uuids = [...table.all()]
  const survivors = await endAll(parts, uuids)
  for (let i = 0; i < uuids.length; i += PAGE) await bootPage(parts, uuids.slice(i, i + PAGE), survivors)
  await diskFull.lookForRoom()
  pipeline.submit({ type: 'release', uuid: null, reason: 'daemon-shutdown' })
  await pipeline.idle()
}

type Survivors = ReadonlyMap<Uuid, readonly number[]>

/** Of those whose programs did not all end. */
async function endAll({ table, container }: BootParts, uuids: readonly Uuid[]): Promise<Survivors> {
  const found = new Map<Uuid, readonly number[]>()
  const end = async (uuid: Uuid): Promise<void> => {
    const survivors = await endOld(container, table.get(uuid))
    if (survivors.length > 0) found.set(uuid, survivors)
  }
  for (let i = 0; i < uuids.length; i += AT_ONCE) await Promise.all(uuids.slice(i, i + AT_ONCE).map(end))
  return found
}

async function bootPage({ table, pipeline, diskFull, crashLoop = false }: BootParts, uuids: readonly Uuid[], survivors: Survivors): Promise<void> {
  const before = uuids.map((uuid) => table.seq(uuid))
  for (const uuid of uuids) pipeline.submit({ type: 'boot', uuid, survivors: survivors.get(uuid) ?? [], ...(crashLoop ? { crashLoop } : {}) })
  await pipeline.idle()
  if (diskFull.trouble) throw new KernelError('DISK_FULL', 'there is no room to write what has become of the processes')
  // A row that is as it was would be shown as running, and nobody runs it.
  if (uuids.some((uuid, i) => before[i] !== undefined && table.seq(uuid) === before[i])) throw new KernelError('UNAVAILABLE', 'what has become of the processes cannot be written; the log says why')
}

async function endOld(container: Container, process: Process | undefined): Promise<readonly number[]> {
  if (!process?.containment) return []
  const { survivors } = await container.recover(process.containment, process.handle)
  return survivors
}
