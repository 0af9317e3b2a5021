// What a cgroup v2 says of what is in it, and the limit that it keeps: by the kernel's own files (cgroup-v2.rst).
// Owns the names and forms of these files. Without the memory controller there is no limit and no count of memory; CPU time is
// always there. Must never touch a directory that is not the daemon's. Test: test/tables/contain-cgroup-use.test.ts.
import { existsSync as isThere, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Null where the group is gone, or is none. */
export function cpuTimeOf(dir: string): number | null {
  const usec = fieldOf(join(dir, 'cpu.stat'), 'usage_usec')
  return usec === null ? null : usec / 1_000
}

export interface GroupMemory {
  readonly nowBytes: number
  /** since the group was made; kernels before 5.19 do not say it */
  readonly peakBytes: number | null
  /** somebody was killed because the group had reached its limit: not because the machine had no memory left */
  readonly isOut: boolean
}

/** Null without the memory controller. */
export function memoryOf(dir: string): GroupMemory | null {
  const nowBytes = numberIn(join(dir, 'memory.current'))
  if (nowBytes === null) return null
  const events = join(dir, 'memory.events')
  const killed = (fieldOf(events, 'oom_kill') ?? 0) + (fieldOf(events, 'oom_group_kill') ?? 0)
  return { nowBytes, peakBytes: numberIn(join(dir, 'memory.peak')), isOut: killed > 0 && (fieldOf(events, 'oom') ?? 0) > 0 }
}

/** All that is in the group may have so much together, without swap, and ends as one if that is not enough. Null takes the limit away. */
export function limitMemory(dir: string, bytes: number | null): void {
  if (!isThere(join(dir, 'memory.max'))) return
  writeFileSync(join(dir, 'memory.max'), bytes === null ? 'max' : String(bytes))
  if (bytes === null) return
  // A limit without this one moves what is too much to the disk. There is no such file without swap accounting.
  if (isThere(join(dir, 'memory.swap.max'))) writeFileSync(join(dir, 'memory.swap.max'), '0')
  if (isThere(join(dir, 'memory.oom.group'))) writeFileSync(join(dir, 'memory.oom.group'), '1')
}

/** Hands the memory controller down, from the first directory to the last, each of which lies in the one before. False if it does not come along. */
export function enableMemory(dirs: readonly string[]): boolean {
  try {
    for (const dir of dirs) if (!hasMemory(dir, 'subtree_control')) writeFileSync(join(dir, 'cgroup.subtree_control'), '+memory')
    return dirs.every((dir) => hasMemory(dir, 'subtree_control'))
  } catch {
    // It is not mounted here, was not delegated, or somebody else lives in one of them.
    return false
  }
}

/** Whether a directory has the controller itself, or hands it down. */
export function hasMemory(dir: string, file: 'controllers' | 'subtree_control'): boolean {
  return (readOrNull(join(dir, `cgroup.${file}`)) ?? '').split(/\s+/).some((word) => word.replace('+', '') === 'memory')
}

function numberIn(file: string): number | null {
  const text = readOrNull(file)?.trim()
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}

/** `NAME NUMBER`, a line each. */
function fieldOf(file: string, name: string): number | null {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(readOrNull(file) ?? '')?.[1]
  return found === undefined ? null : Number(found)
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return null
  }
}
