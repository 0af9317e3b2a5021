// Containment by cgroup v2: one directory per incarnation. A program enters its cgroup before it runs. All its descendants stay inside,
// even in new sessions, because the kernel puts each fork into its parent's cgroup. One write kills or freezes all members. Entering
// costs a write that may wait some ms for an RCU grace period of the kernel. The backend must never touch a directory that is not the
// incarnation's. Tests: test/processes/contain.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OsHandle } from '../../../kernel/model/process.ts'
import type { ContainmentBackend } from './backend.ts'
import { cpuTimeOf, limitMemory, memoryOf } from './cgroup-usage.ts'
import { handleOf, signalGroup, signalOne } from '../proc/handle.ts'
import type { OsSignal } from '../proc/handle.ts'
import { isZombie, readRow } from '../proc/process-table.ts'
import { residentBytes, readUsages } from '../proc/usage.ts'
import type { BackendUsage } from '../proc/usage.ts'

/** The fallback interval where inotify cannot report changes of cgroup.events, because the system has run out of watches. */
const POLL_MS = 50

// `exec` keeps the PID. If the cgroup cannot be entered, the program does not run; the exit code 125 marks a failure of reeve.
const ENTER_SCRIPT = 'echo $$ > "$0" || exit 125; exec "$@"'

export class CgroupBackend implements ContainmentBackend {
  readonly waiting = { pollMs: POLL_MS, watch: (wake: () => void) => watchEvents(this.#dir, wake) }
  readonly #dir: string
  /** whether the kernel enforces the memory limit */
  readonly #enforcesMemory: boolean
  #memoryBytes: number | null = null
  #isCreated = false

  /** Creates nothing: the first program that enters creates the directory. */
  constructor(dir: string, enforcesMemory = false) {
    this.#dir = dir
    this.#enforcesMemory = enforcesMemory
  }

  scheduleCheck(check: () => void): void {
    check()
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  enter(argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    if (!this.#isCreated && this.#memoryBytes !== null && this.#enforcesMemory) limitMemory(this.#dir, this.#memoryBytes)
    this.#isCreated = true
    return ['/bin/sh', '-c', ENTER_SCRIPT, join(this.#dir, 'cgroup.procs'), ...argv]
  }

  admit(): void {}

  trackOutputs(): void {}

  programEnded(): void {}

  signalProgram(handle: OsHandle, signal: OsSignal): boolean {
    return signalGroup(handle, signal) === 'sent'
  }

  members(): readonly number[] {
    return pidsBelow(this.#dir).filter((pid) => {
      const row = readRow(pid)
      return row !== null && !isZombie(row)
    })
  }

  measure(memberScope: 'all' | 'known' | 'none'): BackendUsage | null {
    const cpuTimeMs = cpuTimeOf(this.#dir)
    if (cpuTimeMs === null) return null
    const memory = memoryOf(this.#dir)
    const rssBytes = memberScope === 'none' ? 0 : (memory?.nowBytes ?? residentBytes(readUsages(pidsBelow(this.#dir)), this.#memoryBytes))
    return { cpuTimeMs, rssBytes, peakRssBytes: memory?.peakBytes ?? null, outOfMemory: memory?.hasReachedLimit ?? false }
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
    if (this.#isCreated && this.#enforcesMemory) limitMemory(this.#dir, bytes)
  }

  isEmpty(): boolean {
    return eventOf(this.#dir, 'populated') !== '1'
  }

  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void {
    for (const handle of this.#handles()) {
      signalOne(handle, signal)
      signalOne(handle, 'SIGCONT')
    }
  }

  // A cgroup of another user cannot be killed. The stop ladder reports its members as survivors.
  kill(): void {
    try {
      writeIfThere(join(this.#dir, 'cgroup.kill'), '1')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    }
  }

  freeze(): void {
    writeIfThere(join(this.#dir, 'cgroup.freeze'), '1')
  }

  isFrozen(): boolean {
    return eventOf(this.#dir, 'frozen') !== '0'
  }

  thaw(): void {
    writeIfThere(join(this.#dir, 'cgroup.freeze'), '0')
  }

  remove(): boolean {
    return removeCgroup(this.#dir)
  }

  // The members are read again after their start times. A PID that was reused in between is then dropped.
  #handles(): readonly OsHandle[] {
    const handles = pidsBelow(this.#dir).map(handleOf)
    const inside = new Set(pidsBelow(this.#dir))
    return handles.filter((handle) => handle !== null).filter((handle) => inside.has(handle.pid))
  }
}

/** Removes a cgroup and all cgroups below it, innermost first. Returns false while one of them has members. */
export function removeCgroup(dir: string): boolean {
  if (removeOne(dir)) return true
  for (const child of childrenOf(dir)) removeCgroup(child)
  return removeOne(dir)
}

function removeOne(dir: string): boolean {
  try {
    rmdirSync(dir)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function pidsBelow(dir: string): number[] {
  const ownPids = (readOrNull(join(dir, 'cgroup.procs')) ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
  return [...ownPids, ...childrenOf(dir).flatMap(pidsBelow)]
}

function childrenOf(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(dir, entry.name))
  } catch {
    // The cgroup was removed, with its children.
    return []
  }
}

// Returns null if the cgroup is gone; callers then treat it as empty and frozen.
function eventOf(dir: string, name: 'populated' | 'frozen'): string | null {
  const events = readOrNull(join(dir, 'cgroup.events'))
  return events === null ? null : (new RegExp(`^${name} (.)`, 'm').exec(events)?.[1] ?? null)
}

function watchEvents(dir: string, wake: () => void): () => void {
  try {
    const watcher = watch(join(dir, 'cgroup.events'), wake)
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // Without a watch, the caller polls.
    return () => {}
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The cgroup was removed.
    return null
  }
}

// ENOENT means that the cgroup is gone, with its members; ENODEV that it is being removed.
function writeIfThere(path: string, value: string): void {
  try {
    writeFileSync(path, value)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code !== 'ENOENT' && code !== 'ENODEV') throw error
  }
}
