// Pins a process, dead or alive, so that the collector does not remove it. Must be called within `runExclusively` of
// removals.ts, so that the process is not removed at the same time. Test: test/e2e/daemon/gc.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { SteerView } from '../../api/views/process.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

interface PinDeps {
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly reads: ProcessQueries
}

/** Pins or unpins a process. */
export async function pinProcess(deps: PinDeps, uuid: Uuid, pinned: boolean): Promise<SteerView> {
  try {
    return await tryToPin(deps, uuid, pinned)
  } catch (error) {
    // The process died after it was read. The second attempt reads it as dead.
    if (!(error instanceof KernelError) || error.code !== 'NOT_FOUND') throw error
    return tryToPin(deps, uuid, pinned)
  }
}

async function tryToPin({ pipeline, reads }: PinDeps, uuid: Uuid, pinned: boolean): Promise<SteerView> {
  const process = await reads.get(uuid)
  const endedRow = process.life.state === 'dead' ? process : null
  const done = await pipeline.request({ type: 'pin', by: 'user', uuid, endedRow, pinned })
  const view = reads.view(await reads.get(uuid))
  if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
  return { version: 1, affected: done.affected, process: view, ...(done.note === null ? {} : { note: done.note }) }
}
