// A start that fails halfway leaves nothing behind, or names the processes that it could not kill.
import { expect, test } from 'vitest'
import { undoSpawn } from '../../../../src/daemon/operations/undo-spawn.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const FAILED = new KernelError('RESOURCE_EXHAUSTED', 'the table is full', { max: 2 })

/** Undoes the spawn of processes, given by their PIDs. `failedKills` gives the kills that fail, and their reasons. */
function undoSpawns(
  pidsByUuid: Readonly<Record<string, number>>,
  failedKills: Readonly<Record<string, 'refused' | 'ended'>> = {},
  failure: unknown = FAILED,
): Promise<unknown> {
  const states = new Map(Object.entries(pidsByUuid).map(([uuid, pid]) => [uuid, { pid, life: { state: 'running' } } as unknown as Process]))
  return undoSpawn(failure, ['a', 'b', 'c'], {
    find: async (uuid) => states.get(uuid),
    kill: async (uuid) => {
      const reason = failedKills[uuid]
      if (reason !== 'refused') states.delete(uuid)
      if (reason !== undefined)
        throw new KernelError(reason === 'ended' ? 'NOT_FOUND' : 'DISK_FULL', reason === 'ended' ? 'it has ended' : 'the disk is full')
    },
  })
}

test('the error of the start is unchanged if all processes were killed', async () => {
  expect(await undoSpawns({ a: 1, c: 3 })).toBe(FAILED)
})

test('a process that ended on its own meanwhile is not named', async () => {
  expect(await undoSpawns({ a: 1 }, { a: 'ended' })).toBe(FAILED)
})

test('a process that could not be killed is named, with the reason and the command', async () => {
  expect(await undoSpawns({ a: 1, b: 2, c: 3 }, { a: 'refused', c: 'refused' })).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    message: 'the table is full; what was started could not be killed: PID 1 (the disk is full), PID 3 (the disk is full)',
    details: { max: 2 },
    hint: 'Kill what is left: `reeve kill 1 3`.',
  })
})

test('an unexpected error is INTERNAL, and names the process as well', async () => {
  expect(await undoSpawns({ b: 2 }, { b: 'refused' }, new Error('broken'))).toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('broken; what was started'),
  })
})
