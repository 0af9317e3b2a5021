// Containment without any help of the system: process groups, the environment marker and the family tree.
// It holds: what stays in a program's group; what keeps REEVE_PROC in its environment, in whatever session; and what
// descends from these, as long as its parent lives when we look. It cannot hold a process that has left the group and has
// dropped its environment and whose parent has ended. Each member is a PID with its start time, checked before each signal.
// Tests: test/processes/contain*.test.ts.
import type { OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { groupHasMembers, liveness, signalGroup, signalOne } from './handle.ts'
import type { OsSignal } from './handle.ts'
import { census, isStopped, isZombie, readRow } from './proc.ts'
import type { MarkedRow } from './proc.ts'

/** Nothing tells us that a foreign process has ended: we look. */
const POLL_MS = 10

/** Who is told of groups, so that they end also if we do not live to do it. */
export interface Witness {
  tell(handle: OsHandle): void
  forget(handle: OsHandle): void
}

export class GroupCage implements Cage {
  readonly waiting = { pollMs: POLL_MS, watch: () => () => {} }
  readonly #marker: string
  readonly #witness: Witness
  /** groups that we made; only these are ever signalled as a whole */
  readonly #groups = new Set<number>()
  /** members as last seen, by PID */
  #known = new Map<number, OsHandle>()
  #told: OsHandle[] = []
  #stopped: OsHandle[] = []

  constructor(marker: string, witness: Witness) {
    this.#marker = marker
    this.#witness = witness
  }

  enter(argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
    return argv
  }

  admit(handle: OsHandle): void {
    this.#groups.add(handle.pgid)
    this.#known.set(handle.pid, handle)
    this.#tell(handle)
  }

  // The leader was reaped just now and can no longer vouch for its group, but a group's number is not reused while it has
  // members: from now on they vouch for it. The guardian is told of them, too.
  ended(handle: OsHandle): void {
    if (!groupHasMembers(handle.pgid)) return
    for (const { pid, startTime, pgid } of census().filter((row) => row.pgid === handle.pgid && !isZombie(row))) {
      this.#known.set(pid, { pid, startTime, pgid })
      this.#tell({ pid, startTime, pgid })
    }
  }

  members(): readonly number[] {
    return this.#scan().map((handle) => handle.pid)
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

  // The group first and as one, so that a member which forks is not chased; then all others, one by one.
  kill(): void {
    const members = this.#scan()
    const killed = new Set<number>()
    for (const handle of members) {
      if (!this.#groups.has(handle.pgid) || killed.has(handle.pgid)) continue
      if (signalGroup(handle, 'SIGKILL') === 'sent') killed.add(handle.pgid)
    }
    this.#signalEach(members, 'SIGKILL')
  }

  freeze(): void {
    const running = this.#scan().filter((handle) => !isStoppedNow(handle))
    this.#signalEach(running, 'SIGSTOP')
    this.#stopped.push(...running)
  }

  // Those that are born meanwhile are stopped at the next look.
  isFrozen(): boolean {
    if (this.#scan().every(isStoppedNow)) return true
    this.freeze()
    return false
  }

  // What had been stopped before us stays so.
  thaw(): void {
    this.#signalEach(this.#stopped, 'SIGCONT')
    this.#stopped = []
  }

  remove(): boolean {
    for (const handle of this.#told) this.#witness.forget(handle)
    this.#told = []
    return true
  }

  #signalEach(handles: readonly OsHandle[], signal: OsSignal): void {
    for (const handle of handles) signalOne(handle, signal)
  }

  #tell(handle: OsHandle): void {
    this.#told.push(handle)
    this.#witness.tell(handle)
  }

  /** All living members now, parents before their children. */
  #scan(): readonly OsHandle[] {
    const rows = census().filter((row) => row.pid > 1 && row.pid !== process.pid)
    const groups = this.#confirmedGroups(rows)
    const seeds = rows.filter((row) => row.marker === this.#marker || groups.has(row.pgid) || this.#knows(row))
    const members = withDescendants(seeds, rows).filter((row) => !isZombie(row))
    const handles = members.map(({ pid, startTime, pgid }) => ({ pid, startTime, pgid }))
    this.#known = new Map(handles.map((handle) => [handle.pid, handle]))
    return handles
  }

  #knows(row: MarkedRow): boolean {
    return this.#known.get(row.pid)?.startTime === row.startTime
  }

  /** Groups of ours in which a process lives that we know, or that is marked: their numbers cannot have been reused. */
  #confirmedGroups(rows: readonly MarkedRow[]): ReadonlySet<number> {
    const vouchers = rows.filter((row) => this.#groups.has(row.pgid) && (this.#knows(row) || row.marker === this.#marker))
    return new Set(vouchers.map((row) => row.pgid))
  }
}

function withDescendants(seeds: readonly MarkedRow[], rows: readonly MarkedRow[]): MarkedRow[] {
  const found = new Map(seeds.map((row) => [row.pid, row]))
  const children = Map.groupBy(rows, (row) => row.ppid)
  for (const parent of found.values()) {
    for (const child of children.get(parent.pid) ?? []) found.set(child.pid, child)
  }
  return [...found.values()]
}

function isStoppedNow(handle: OsHandle): boolean {
  const row = readRow(handle.pid)
  return row === null || row.startTime !== handle.startTime || isZombie(row) || isStopped(row)
}
