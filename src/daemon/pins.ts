// Pinning: a person's word that the collector leaves a process alone, dead or alive. Must be called behind the door of
// removals.ts, so that what is pinned is there. Test: test/e2e/gc.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { SteerView } from '../api/views.ts'
import type { Uuid } from '../kernel/types.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reads } from './reads.ts'

interface PinParts {
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly reads: Reads
}

export async function pin(parts: PinParts, uuid: Uuid, pinned: boolean): Promise<SteerView> {
  try {
    return await attempt(parts, uuid, pinned)
  } catch (error) {
    // It died after it was looked at: now its row says so.
    if (!(error instanceof KernelError) || error.code !== 'NOT_FOUND') throw error
    return attempt(parts, uuid, pinned)
  }
}

async function attempt({ pipeline, reads }: PinParts, uuid: Uuid, pinned: boolean): Promise<SteerView> {
  const process = await reads.get(uuid)
  const frozen = process.life.state === 'dead' ? process : null
  const done = await pipeline.request({ type: 'pin', by: 'user', uuid, frozen, pinned })
  const view = reads.view(await reads.get(uuid))
  if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
  return { version: 1, affected: done.affected, process: view, ...(done.note === null ? {} : { note: done.note }) }
}
