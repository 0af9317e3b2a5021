// Finds programs of an incarnation that were stopped by SIGSTOP, as the operating system reports it. Reads only. A pause by reeve
// looks the same, so the caller must know which processes are paused. Never identifies a program by its name.
// Test: test/e2e/lifecycle/liveness.test.ts.
import { readdirSync } from 'node:fs'
import type { OsHandle } from '../../../kernel/model/process.ts'
import { childrenOf, isStopped, isZombie, readRow } from './process-table.ts'

/** The number of wrappers (a shell, the init of a namespace) that are followed to find the program. */
const MAX_WRAPPERS = 6

/**
 * Returns the PID of the main program, or of the program behind its wrappers, if that is stopped. Null if it runs or is gone.
 * A wrapper is a process with one child, for which it waits. `behindProxy` means that the handle names a proxy outside of a namespace.
 */
export function findStoppedProgram(handle: OsHandle, behindProxy: boolean): number | null {
  if (readRow(handle.pid)?.startTime !== handle.startTime) return null
  let pid = behindProxy ? onlyChildOf(handle.pid) : handle.pid
  for (let depth = 0; pid !== undefined && depth <= MAX_WRAPPERS; depth += 1) {
    const row = readRow(pid)
    if (row === null) return null
    if (isStopped(row)) return pid
    pid = onlyChildOf(pid)
  }
  return null
}

/**
 * Returns the only child of a process with one thread; several threads do more than wait. Cheap, because it runs every few seconds
 * for each quiet process.
 */
function onlyChildOf(pid: number): number | undefined {
  if (threadsOf(pid) !== 1) return undefined
  const children = childrenOf(pid).filter(isLiving)
  return children.length === 1 ? children[0] : undefined
}

/** For members without a main program: returns one stopped PID if all processes without children are stopped, otherwise null. */
export function findStoppedMember(members: readonly number[]): number | null {
  const rows = members.flatMap((pid) => readRow(pid) ?? []).filter((row) => !isZombie(row))
  const parents = new Set(rows.map(({ ppid }) => ppid))
  const leaves = rows.filter(({ pid }) => !parents.has(pid))
  return leaves.length > 0 && leaves.every(isStopped) ? (leaves[0]?.pid ?? null) : null
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    // The process has ended.
    return 0
  }
}

function isLiving(pid: number): boolean {
  const row = readRow(pid)
  return row !== null && !isZombie(row)
}
