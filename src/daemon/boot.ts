// What a daemon's start does with what the last one left: ends what still runs of it, then lets the kernel say what
// each row has become. Owns the order: nothing of an old incarnation lives when its row is decided.
// Test: test/processes/crash.test.ts, test/e2e/restart.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Process } from '../kernel/types.ts'
import type { DiskFull } from './disk-full.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'

/** rows whose programs are looked for at the same time */
const AT_ONCE = 16

interface BootParts {
  readonly table: Table
  readonly container: Container
  readonly pipeline: Pipeline
  readonly diskFull: DiskFull
  /** daemons of this home have died too often: what would come back by itself is held */
  readonly crashLoop?: boolean
}

/** Errors: `DISK_FULL` or `UNAVAILABLE` when it cannot be written what the rows have become; then nothing has begun. */
export async function bootAll({ table, container, pipeline, diskFull, crashLoop = false }: BootParts): Promise<void> {
  const rows = [...table.rows()]
  for (let i = 0; i < rows.length; i += AT_ONCE) {
    const found = await Promise.all(rows.slice(i, i + AT_ONCE).map(async (row) => ({ row, survivors: await endOld(container, row) })))
    for (const { row, survivors } of found) pipeline.submit({ type: 'boot', uuid: row.uuid, survivors, ...(crashLoop ? { crashLoop } : {}) })
  }
  await pipeline.idle()
  if (diskFull.trouble) throw new KernelError('DISK_FULL', 'there is no room to write what has become of the processes')
  // A row that is as it was would be shown as running, and nobody runs it.
  if (rows.some((row) => table.get(row.uuid) === row)) throw new KernelError('UNAVAILABLE', 'what has become of the processes cannot be written; the log says why')
  await diskFull.lookForRoom()
  pipeline.submit({ type: 'release', uuid: null, reason: 'daemon-shutdown' })
  await pipeline.idle()
}

async function endOld(container: Container, { containment, handle }: Process): Promise<readonly number[]> {
  if (!containment) return []
  const { survivors } = await container.recover(containment, handle)
  return survivors
}
