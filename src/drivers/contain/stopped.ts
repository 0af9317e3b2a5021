// Whether somebody has stopped a program of an incarnation by SIGSTOP, as the operating system shows it. Reads only.
// What our own pause has stopped looks alike: whoever asks knows what is suspended. Never goes by a name.
// Test: test/processes/liveness.test.ts.
import { readdirSync } from 'node:fs'
import type { OsHandle } from '../../kernel/types.ts'
import { childrenOf, isStopped, isZombie, readRow } from './proc.ts'

/** A program is found behind so many wrappers (a shell, the init of a namespace) at most. */
const MAX_WRAPPERS = 6

/**
 * The main program, or what it is but the wrapper of: each has one child and waits for it. Null: it is not stopped, or gone.
 * `behindProxy`: the handle names who stands for it outside of its namespace, and stops when it does.
 */
export function stoppedBelow(handle: OsHandle, behindProxy: boolean): number | null {
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

/** Of a program with several threads nothing is looked up: it does more than wait. And this is done for each that is quiet, every few seconds. */
function onlyChildOf(pid: number): number | undefined {
  if (threadsOf(pid) !== 1) return undefined
  const children = childrenOf(pid).filter(isLiving)
  return children.length === 1 ? children[0] : undefined
}

/** Of programs without a main one: all that wait for no other are stopped. */
export function stoppedAmong(members: readonly number[]): number | null {
  const rows = members.flatMap((pid) => readRow(pid) ?? []).filter((row) => !isZombie(row))
  const parents = new Set(rows.map(({ ppid }) => ppid))
  const last = rows.filter(({ pid }) => !parents.has(pid))
  return last.length > 0 && last.every(isStopped) ? (last[0]?.pid ?? null) : null
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

function isLiving(pid: number): boolean {
  const row = readRow(pid)
  return row !== null && !isZombie(row)
}
