// Containment without any help of the system: process groups, the environment marker and the family tree.
// It holds: what stays in a program's group; what keeps REEVE_PROC in its environment, in whatever session; and what
// descends from these, as long as its parent lives when we look. It cannot hold a process that has left the group and has
// dropped its environment and whose parent has ended. Each member is a PID with its start time, checked before each signal.
// Tests: test/processes/contain*.test.ts.
import type { OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { groupHasMembers, liveness, signalGroup, signalOne } from './handle.ts'
import type { OsSignal } from './handle.ts'
import { census, forgetCensus, isZombie, togetherSoon } from './proc.ts'
import type { Census, MarkedRow, Readable } from './proc.ts'
import { Still } from './still.ts'
import { MemberMeter } from './use.ts'
import type { CageUse } from './use.ts'

/** Nothing tells us that a foreign process has ended: we look. */
const POLL_MS = 20

/** Who is told of groups, so that they end also if we do not live to do it. */
export interface Witness {
  tell(handle: OsHandle): void
  forget(handle: OsHandle): void
}

export class GroupCage implements Cage {
  // A look reads the whole process table: many containments share one.
  readonly look = togetherSoon
  readonly waiting = { pollMs: POLL_MS, watch: () => () => {} }
  readonly #marker: string
  readonly #witness: Witness
  readonly #readable: Readable
  /** groups that we made; only these are ever signalled as a whole */
  readonly #groups = new Set<number>()
  /** members as last seen, by PID */
  #known = new Map<number, OsHandle>()
  readonly #told = new Set<OsHandle>()
  /** groups and members that SIGKILL was sent to */
  readonly #killed = new Set<string>()
  readonly #still = new Still(() => this.#scan())
  /** the reading of the process table by which all stood still for the first time */
  #stillBy: Census | null = null
  readonly #meter = new MemberMeter()
  #memoryBytes: number | null = null

  /** `everybody` for the marker of an earlier daemon, whose programs may be older than we are */
  constructor(marker: string, witness: Witness, readable: Readable = 'younger') {
    this.#marker = marker
    this.#readable = readable
    this.#witness = witness
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
    forgetCensus()
    this.#groups.add(handle.pgid)
    this.#killed.delete(groupKey(handle))
    this.#known.set(handle.pid, handle)
    this.#meter.admit()
    this.#tell(handle)
  }

  hears(): void {}

  // The leader was reaped just now and can no longer vouch for its group, but a group's number is not reused while it has
  // members: from now on they vouch for it. The guardian is told of them before it forgets the leader: we may die in
  // between, and a group that it does not know keeps its members without a marker.
  ended(handle: OsHandle): void {
    this.#known.delete(handle.pid)
    this.#meter.ended(handle.pid)
    if (groupHasMembers(handle.pgid)) this.#vouchBy(handle)
    else this.#groups.delete(handle.pgid)
    this.#forget(handle)
  }

  #vouchBy(handle: OsHandle): void {
    const all = census(this.#readable)
    for (const { pid, startTime, pgid } of all.inGroup(handle.pgid).filter((row) => !isZombie(row))) {
      this.#known.set(pid, { pid, startTime, pgid })
      this.#tell({ pid, startTime, pgid })
    }
    this.#letGo(all)
  }

  members(): readonly number[] {
    return this.#scan().map((handle) => handle.pid)
  }

  measure(how: 'look' | 'known' | 'none'): CageUse | null {
    const members = how === 'look' ? this.#scan() : how === 'known' ? [...this.#known.values()] : []
    return this.#meter.look(members, this.#memoryBytes)
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
  }

  // While one that we know lives, there is no need to read the whole table.
  isEmpty(): boolean {
    for (const handle of this.#known.values()) if (liveness(handle) === 'alive') return false
    return this.#scan().length === 0
  }

  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void {
    for (const handle of this.#scan()) {
      signalOne(handle, signal)
      signalOne(handle, 'SIGCONT')
    }
  }

  // The group first and as one, so that a member which forks is not chased; then all others, one by one. Whoever was in the
  // group and is there at the next look all the same is killed by himself. Who has his signal needs no second.
  kill(): void {
    const members = this.#scan()
    const groups = new Set<number>()
    for (const handle of members) {
      if (!this.#groups.has(handle.pgid) || groups.has(handle.pgid) || this.#killed.has(groupKey(handle))) continue
      if (signalGroup(handle, 'SIGKILL') === 'sent') groups.add(handle.pgid)
    }
    for (const handle of members) {
      if (groups.has(handle.pgid) || this.#killed.has(key(handle))) continue
      if (signalOne(handle, 'SIGKILL') === 'sent') this.#killed.add(key(handle))
    }
    for (const pgid of groups) this.#killed.add(groupKey({ pgid }))
  }

  freeze(): void {
    this.#stillBy = null
    this.#still.stop()
  }

  // By two readings: who was born while the first was made, by one that was stopped after it, is in the second. Containments
  // that are frozen together share them, so the second is that of a later look.
  isFrozen(): boolean {
    const reading = census(this.#readable)
    const isStill = this.#still.allStopped()
    const isSecond = isStill && this.#stillBy !== null && this.#stillBy !== reading
    this.#stillBy = isStill ? (this.#stillBy ?? reading) : null
    return isSecond
  }

  thaw(): void {
    this.#still.goOn()
  }

  remove(): boolean {
    for (const handle of [...this.#told]) this.#forget(handle)
    return true
  }

  #tell(handle: OsHandle): void {
    this.#told.add(handle)
    this.#witness.tell(handle)
  }

  #forget(handle: OsHandle): void {
    if (this.#told.delete(handle)) this.#witness.forget(handle)
  }

  /** Groups that are empty and members that are gone are of no use any more. */
  #letGo(all: Census): void {
    const isLiving = (row: MarkedRow | undefined): boolean => row !== undefined && !isZombie(row)
    for (const pgid of this.#groups) if (!all.inGroup(pgid).some(isLiving)) this.#groups.delete(pgid)
    for (const handle of [...this.#told]) {
      const row = all.get(handle.pid)
      if (!isLiving(row) || row?.startTime !== handle.startTime) this.#forget(handle)
    }
  }

  /** All living members now, parents before their children. */
  #scan(): readonly OsHandle[] {
    const all = census(this.#readable)
    const known = [...this.#known.values()].flatMap((handle) => all.get(handle.pid) ?? []).filter((row) => this.#knows(row))
    const own = [...known, ...all.marked(this.#marker)]
    // Groups of ours in which somebody lives whom we know, or who is marked: their numbers cannot have been reused.
    const groups = new Set(own.map((row) => row.pgid).filter((pgid) => this.#groups.has(pgid)))
    const seeds = [...own, ...[...groups].flatMap((pgid) => all.inGroup(pgid))]
    const members = withDescendants(seeds, all).filter((row) => !isZombie(row))
    const handles = members.map(({ pid, startTime, pgid }) => ({ pid, startTime, pgid }))
    this.#known = new Map(handles.map((handle) => [handle.pid, handle]))
    return handles
  }

  #knows(row: MarkedRow): boolean {
    return this.#known.get(row.pid)?.startTime === row.startTime
  }
}

// Nobody's containment has the system's init in it, or us.
function withDescendants(seeds: readonly MarkedRow[], all: Census): MarkedRow[] {
  const isStranger = ({ pid }: MarkedRow): boolean => pid <= 1 || pid === process.pid
  const found = new Map(seeds.filter((row) => !isStranger(row)).map((row) => [row.pid, row]))
  for (const parent of found.values()) {
    for (const child of all.childrenOf(parent.pid)) if (!isStranger(child)) found.set(child.pid, child)
  }
  return [...found.values()]
}

function key({ pid, startTime }: OsHandle): string {
  return `${pid}:${startTime}`
}

function groupKey({ pgid }: Pick<OsHandle, 'pgid'>): string {
  return `group:${pgid}`
}
