// Reads a cgroup's CPU and memory usage and sets its memory limit, through the kernel's files (cgroup-v2.rst). Without the memory
// controller, memory is neither limited nor measured; CPU time is always available. Must never touch a directory that is not the daemon's.
// Test: test/tables/drivers/contain/backends/cgroup-usage.test.ts.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the CPU time in ms; null if the cgroup does not exist. */
export function cpuTimeOf(dir: string): number | null {
  const usec = fieldOf(join(dir, 'cpu.stat'), 'usage_usec')
  return usec === null ? null : usec / 1_000
}

export interface CgroupMemory {
  readonly nowBytes: number
  /** the highest usage since the cgroup was created; null on kernels before 5.19 */
  readonly peakBytes: number | null
  /** whether a member was killed because the cgroup reached its limit, and not because the machine was out of memory */
  readonly hasReachedLimit: boolean
}

/** Reads the memory usage; null without the memory controller. */
export function memoryOf(dir: string): CgroupMemory | null {
  const nowBytes = numberIn(join(dir, 'memory.current'))
  if (nowBytes === null) return null
  const events = join(dir, 'memory.events')
  const killed = (fieldOf(events, 'oom_kill') ?? 0) + (fieldOf(events, 'oom_group_kill') ?? 0)
  return { nowBytes, peakBytes: numberIn(join(dir, 'memory.peak')), hasReachedLimit: killed > 0 && (fieldOf(events, 'oom') ?? 0) > 0 }
}

/** Limits the memory of all members together and forbids swap. At the limit the kernel kills all of them. Null removes the limit. */
export function limitMemory(dir: string, bytes: number | null): void {
  if (!existsSync(join(dir, 'memory.max'))) return
  writeFileSync(join(dir, 'memory.max'), bytes === null ? 'max' : String(bytes))
  if (bytes === null) return
  // Without a swap limit the excess would move to disk. Without swap accounting the file does not exist.
  if (existsSync(join(dir, 'memory.swap.max'))) writeFileSync(join(dir, 'memory.swap.max'), '0')
  if (existsSync(join(dir, 'memory.oom.group'))) writeFileSync(join(dir, 'memory.oom.group'), '1')
}

/** Enables the memory controller in nested directories, outermost first. Returns false if one of them refuses. */
export function enableMemory(dirs: readonly string[]): boolean {
  try {
    for (const dir of dirs) if (!hasMemoryController(dir, 'subtree_control')) writeFileSync(join(dir, 'cgroup.subtree_control'), '+memory')
    return dirs.every((dir) => hasMemoryController(dir, 'subtree_control'))
  } catch {
    // The controller is not mounted or not delegated, or another process lives in one of the directories.
    return false
  }
}

/** Whether a directory has the controller (`controllers`) or passes it to its children (`subtree_control`). */
export function hasMemoryController(dir: string, file: 'controllers' | 'subtree_control'): boolean {
  return (readOrNull(join(dir, `cgroup.${file}`)) ?? '').split(/\s+/).some((word) => word.replace('+', '') === 'memory')
}

function numberIn(file: string): number | null {
  const text = readOrNull(file)?.trim()
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}

/** Reads one field of a file of `NAME NUMBER` lines. */
function fieldOf(file: string, name: string): number | null {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(readOrNull(file) ?? '')?.[1]
  return found === undefined ? null : Number(found)
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    // The cgroup was removed, or this kernel has no such file.
    return null
  }
}
