// Containment by cgroup v2: a directory per incarnation. A program enters it before it runs, all that it ever starts stays
// inside, whatever session it makes, and one write kills or freezes them all. No fork escapes: the kernel sees to it.
// Entering costs a write that may wait for the kernel (an RCU grace period, some ms) if nobody entered one shortly before.
// Must never touch a directory that is not the incarnation's. Tests: test/processes/contain*.test.ts.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, watch, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { cpuTimeOf, limitMemory, memoryOf } from './cgroup-use.ts'
import { handleOf, signalGroup, signalOne } from './handle.ts'
import type { OsSignal } from './handle.ts'
import { isZombie, readRow } from './proc.ts'
import { residentIn, usesOf } from './use.ts'
import type { CageUse } from './use.ts'

/** cgroup.events tells by inotify; this is for a system that has run out of watches. */
const POLL_MS = 50

// `exec` keeps the PID. If the group cannot be entered nothing runs at all; 125 is reeve's own failure.
const ENTER = 'echo $$ > "$0" || exit 125; exec "$@"'

export class CgroupCage implements Cage {
  readonly waiting = { pollMs: POLL_MS, watch: (wake: () => void) => watchEvents(this.#dir, wake) }
  readonly #dir: string
  /** the system keeps its memory below the limit */
  readonly #holdsMemory: boolean
  #memoryBytes: number | null = null
  #made = false

  /** The directory is made when the first program enters. */
  constructor(dir: string, holdsMemory = false) {
    this.#dir = dir
    this.#holdsMemory = holdsMemory
  }

  look(look: () => void): void {
    look()
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  enter(argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    if (!this.#made && this.#memoryBytes !== null && this.#holdsMemory) limitMemory(this.#dir, this.#memoryBytes)
    this.#made = true
    return ['/bin/sh', '-c', ENTER, join(this.#dir, 'cgroup.procs'), ...argv]
  }

  admit(): void {}

  hears(): void {}

  ended(): void {}

  signalProgram(handle: OsHandle, signal: OsSignal): boolean {
    return signalGroup(handle, signal) === 'sent'
  }

  members(): readonly number[] {
    return pidsBelow(this.#dir).filter((pid) => {
      const row = readRow(pid)
      return row !== null && !isZombie(row)
    })
  }

  measure(how: 'look' | 'known' | 'none'): CageUse | null {
    const cpuTimeMs = cpuTimeOf(this.#dir)
    if (cpuTimeMs === null) return null
    const memory = memoryOf(this.#dir)
    const rssBytes = how === 'none' ? 0 : (memory?.nowBytes ?? residentIn(usesOf(pidsBelow(this.#dir)), this.#memoryBytes))
    return { cpuTimeMs, rssBytes, peakRssBytes: memory?.peakBytes ?? null, outOfMemory: memory?.isOut ?? false }
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
    if (this.#made && this.#holdsMemory) limitMemory(this.#dir, bytes)
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

  // What we may not kill (another user's cgroup) is reported as a survivor by who waits for it.
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

  // Membership is read again after the start time: a PID that was reused in between is not inside, or not that handle's.
  #handles(): readonly OsHandle[] {
    const handles = pidsBelow(this.#dir).map(handleOf)
    const inside = new Set(pidsBelow(this.#dir))
    return handles.filter((handle) => handle !== null).filter((handle) => inside.has(handle.pid))
  }
}

/** The directory of the cgroup that we are in; null if there is none. Texts of /proc/self/mountinfo and /proc/self/cgroup. */
export function ownCgroup(mountinfo: string, cgroup: string): string | null {
  const fields = mountinfo.split('\n').map((line) => line.split(' ')).find((words) => words[words.indexOf('-') + 1] === 'cgroup2')
  const inside = /^0::(.*)$/m.exec(cgroup)?.[1]
  const [root, mount] = [fields?.[3], fields?.[4]]
  if (root === undefined || mount === undefined || inside === undefined) return null
  return join(mount, relative(root, inside))
}

/** Removes a cgroup and those below it, from the leaves up; false while one of them is in use. */
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
  const own = (readOrNull(join(dir, 'cgroup.procs')) ?? '').split('\n').filter((line) => line !== '').map(Number)
  return [...own, ...childrenOf(dir).flatMap(pidsBelow)]
}

function childrenOf(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => join(dir, entry.name))
  } catch {
    return []
  }
}

// A group that is gone is empty and stands still: null for each of its events.
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
    return () => {}
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return null
  }
}

// ENOENT: the group is gone, and with it everybody that was to be told. ENODEV: it is being removed just now.
function writeIfThere(path: string, value: string): void {
  try {
    writeFileSync(path, value)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code !== 'ENOENT' && code !== 'ENODEV') throw error
  }
}
