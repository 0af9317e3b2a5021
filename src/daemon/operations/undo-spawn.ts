// Undoes a start of several processes that failed halfway: kills those that were spawned. Must never hide a process that survives.
// Test: test/tables/daemon/operations/undo-spawn.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Process } from '../../kernel/model/process.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Pipeline } from '../loop/pipeline.ts'

export interface UndoSpawnDeps {
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
  readonly kill: (uuid: Uuid) => Promise<unknown>
}

/** Returns the input that kills a process and its subtree. */
export function killInput(uuid: Uuid): Parameters<Pipeline['request']>[0] {
  return { type: 'signal', by: 'user', uuid, signal: 'SIGKILL', subtree: true, graceMs: null, freeze: false }
}

/**
 * Kills the processes that are living. Returns the error to report: `failure`, which is why the start failed. If a process
 * could not be killed, the error also names it and the command that kills it.
 */
export async function undoSpawn(failure: unknown, uuids: readonly Uuid[], { find, kill }: UndoSpawnDeps): Promise<unknown> {
  const unkilled: { readonly pid: number; readonly why: string }[] = []
  for (const uuid of uuids) {
    if (!isAlive(await find(uuid))) continue
    const error: unknown = await kill(uuid).then(
      () => null,
      (reason: unknown) => reason,
    )
    // The process may have ended by itself meanwhile.
    const process = error === null ? undefined : await find(uuid)
    if (isAlive(process)) unkilled.push({ pid: process.pid, why: errorText(error) })
  }
  if (unkilled.length === 0) return failure
  const { code, details } = failure instanceof KernelError ? failure : new KernelError('INTERNAL', errorText(failure))
  const names = unkilled.map(({ pid, why }) => `PID ${pid} (${why})`).join(', ')
  const hint = `Kill what is left: \`reeve kill ${unkilled.map(({ pid }) => pid).join(' ')}\`.`
  return new KernelError(code, `${errorText(failure)}; what was started could not be killed: ${names}`, details, hint)
}

function isAlive(process: Process | undefined): process is Process {
  return process !== undefined && process.life.state !== 'dead'
}
