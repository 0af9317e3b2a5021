// Containment without support from the system: by process groups, the environment marker and the process tree. Members are the
// processes in a program's group, and the processes of any session whose environment has the marker REEVE_PROC. Their descendants
// are members too, if the parent is alive at the check. A process escapes if it left the group, cleared its environment and lost
// its parent. Each member is a PID with its start time, which is checked before each signal. Tests: test/processes/contain.
import type { OsHandle } from '../../../kernel/model/process.ts'
import type { ContainmentBackend } from './backend.ts'
import { groupHasMembers, handleState, signalGroup, signalOne } from '../proc/handle.ts'
import type { OsSignal } from '../proc/handle.ts'
import { readProcessTable, clearProcessTableCache, isZombie, runInNextBatch } from '../proc/process-table.ts'
import type { ProcessTable, MarkerScope } from '../proc/process-table.ts'
import { SigstopFreezer } from '../proc/sigstop.ts'
import { MemberMeter } from '../proc/usage.ts'
import type { BackendUsage } from '../proc/usage.ts'
import type { MarkedRow } from '../proc/proc-row.ts'

/** The polling interval: the system does not report the end of a process that is not our child. */
const POLL_MS = 20

/** Registers the groups that must be killed if the daemon dies. */
export interface GroupRegistry {
  register(handle: OsHandle): void
  unregister(handle: OsHandle): void
}

export class GroupBackend implements ContainmentBackend {
  // A check reads the whole process table, so several containments share one reading.
  readonly scheduleCheck = runInNextBatch
  readonly waiting = { pollMs: POLL_MS, watch: () => () => {} }
  readonly #marker: string
  readonly #registry: GroupRegistry
  readonly #markerScope: MarkerScope
  /** groups of programs that this backend admitted; only these are signalled as a group */
  readonly #groups = new Set<number>()
  /** the members that the last check found, by PID */
  #knownMembers = new Map<number, OsHandle>()
  readonly #registered = new Set<OsHandle>()
  /** keys of groups and members that were sent SIGKILL */
  readonly #killedKeys = new Set<string>()
  readonly #freezer = new SigstopFreezer(() => this.#scan())
  /** the reading of the process table in which all members were first found stopped */
  #firstStoppedReading: ProcessTable | null = null
  readonly #meter = new MemberMeter()
  #memoryBytes: number | null = null

  /** `markerScope` is `all` for the marker of an earlier daemon, whose programs may be older than this daemon. */
  constructor(marker: string, registry: GroupRegistry, markerScope: MarkerScope = 'younger') {
    this.#marker = marker
    this.#markerScope = markerScope
    this.#registry = registry
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  enter(argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
    return argv
  }

  signalProgram(handle: OsHandle, signal: OsSignal): boolean {
    return signalGroup(handle, signal) === 'sent'
  }

  admit(handle: OsHandle): void {
    clearProcessTableCache()
    this.#groups.add(handle.pgid)
    this.#killedKeys.delete(groupKey(handle))
    this.#knownMembers.set(handle.pid, handle)
    this.#meter.discardEarlierUsage()
    this.#register(handle)
  }

  trackOutputs(): void {}

  // Once the leader is reaped, it no longer proves that the group number is ours. After that, its members prove it, because the number is
  // not reused while the group has members. The members are registered with the guardian before the leader is unregistered. Otherwise
  // members without a marker would survive a death of the daemon in between.
  programEnded(handle: OsHandle): void {
    this.#knownMembers.delete(handle.pid)
    this.#meter.addEnded(handle.pid)
    if (groupHasMembers(handle.pgid)) this.#registerGroupMembers(handle)
    else this.#groups.delete(handle.pgid)
    this.#unregister(handle)
  }

  #registerGroupMembers(handle: OsHandle): void {
    const table = readProcessTable(this.#markerScope)
    for (const { pid, startTime, pgid } of table.inGroup(handle.pgid).filter((row) => !isZombie(row))) {
      this.#knownMembers.set(pid, { pid, startTime, pgid })
      this.#register({ pid, startTime, pgid })
    }
    this.#dropEnded(table)
  }

  members(): readonly number[] {
    return this.#scan().map((handle) => handle.pid)
  }

  measure(memberScope: 'all' | 'known' | 'none'): BackendUsage | null {
    const members = memberScope === 'all' ? this.#scan() : memberScope === 'known' ? [...this.#knownMembers.values()] : []
    return this.#meter.measure(members, this.#memoryBytes)
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
  }

  // If a known member is alive, the process table need not be read.
  isEmpty(): boolean {
    for (const handle of this.#knownMembers.values()) if (handleState(handle) === 'alive') return false
    return this.#scan().length === 0
  }

  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void {
    for (const handle of this.#scan()) {
      signalOne(handle, signal)
      signalOne(handle, 'SIGCONT')
    }
  }

  // Groups are killed first, each as a whole, so that members that fork cannot outrun the kill. All other members follow one by
  // one. A member of a killed group that still lives at the next check is killed separately. No process is signalled twice.
  kill(): void {
    const members = this.#scan()
    const groups = new Set<number>()
    for (const handle of members) {
      if (!this.#groups.has(handle.pgid) || groups.has(handle.pgid) || this.#killedKeys.has(groupKey(handle))) continue
      if (signalGroup(handle, 'SIGKILL') === 'sent') groups.add(handle.pgid)
    }
    for (const handle of members) {
      if (groups.has(handle.pgid) || this.#killedKeys.has(handleKey(handle))) continue
      if (signalOne(handle, 'SIGKILL') === 'sent') this.#killedKeys.add(handleKey(handle))
    }
    for (const pgid of groups) this.#killedKeys.add(groupKey({ pgid }))
  }

  freeze(): void {
    this.#firstStoppedReading = null
    this.#freezer.stop()
  }

  // All members must be stopped in two readings of the process table. A process born during the first reading appears only in the
  // second. Containments that freeze together share readings, so the second reading comes from a later check.
  isFrozen(): boolean {
    const reading = readProcessTable(this.#markerScope)
    const areStopped = this.#freezer.tryToStopAll()
    const isSecond = areStopped && this.#firstStoppedReading !== null && this.#firstStoppedReading !== reading
    this.#firstStoppedReading = areStopped ? (this.#firstStoppedReading ?? reading) : null
    return isSecond
  }

  thaw(): void {
    this.#freezer.resume()
  }

  remove(): boolean {
    for (const handle of [...this.#registered]) this.#unregister(handle)
    return true
  }

  #register(handle: OsHandle): void {
    this.#registered.add(handle)
    this.#registry.register(handle)
  }

  #unregister(handle: OsHandle): void {
    if (this.#registered.delete(handle)) this.#registry.unregister(handle)
  }

  /** Forgets empty groups and ended members. */
  #dropEnded(table: ProcessTable): void {
    const isLiving = (row: MarkedRow | undefined): boolean => row !== undefined && !isZombie(row)
    for (const pgid of this.#groups) if (!table.inGroup(pgid).some(isLiving)) this.#groups.delete(pgid)
    for (const handle of [...this.#registered]) {
      const row = table.get(handle.pid)
      if (!isLiving(row) || row?.startTime !== handle.startTime) this.#unregister(handle)
    }
  }

  /** Finds all living members; parents come before their children. */
  #scan(): readonly OsHandle[] {
    const table = readProcessTable(this.#markerScope)
    const known = [...this.#knownMembers.values()].flatMap((handle) => table.get(handle.pid) ?? []).filter((row) => this.#isKnown(row))
    const identified = [...known, ...table.marked(this.#marker)]
    // Only groups with a known or marked process count, because their numbers cannot have been reused.
    const groups = new Set(identified.map((row) => row.pgid).filter((pgid) => this.#groups.has(pgid)))
    const seeds = [...identified, ...[...groups].flatMap((pgid) => table.inGroup(pgid))]
    const members = withDescendants(seeds, table).filter((row) => !isZombie(row))
    const handles = members.map(({ pid, startTime, pgid }) => ({ pid, startTime, pgid }))
    this.#knownMembers = new Map(handles.map((handle) => [handle.pid, handle]))
    return handles
  }

  #isKnown(row: MarkedRow): boolean {
    return this.#knownMembers.get(row.pid)?.startTime === row.startTime
  }
}

// Adds all descendants. The system's init and the daemon itself are never members.
function withDescendants(seeds: readonly MarkedRow[], table: ProcessTable): MarkedRow[] {
  const isStranger = ({ pid }: MarkedRow): boolean => pid <= 1 || pid === process.pid
  const found = new Map(seeds.filter((row) => !isStranger(row)).map((row) => [row.pid, row]))
  for (const parent of found.values()) {
    for (const child of table.childrenOf(parent.pid)) if (!isStranger(child)) found.set(child.pid, child)
  }
  return [...found.values()]
}

function handleKey({ pid, startTime }: OsHandle): string {
  return `${pid}:${startTime}`
}

function groupKey({ pgid }: Pick<OsHandle, 'pgid'>): string {
  return `group:${pgid}`
}
