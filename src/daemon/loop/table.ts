// The table of all processes that are not dead, in memory, with the indexes that the kernel needs.
// Holds applied state only: `apply` is called by the pipeline after a commit, and by the start of the daemon. Suspended rows are stored
// packed, and a read may unpack an equal new object. Rows must therefore never be compared by identity.
// Test: test/properties/live-table.test.ts and test/properties/kernel.test.ts compare the table with a simple model.
import { Accounts } from '../../kernel/state/accounts.ts'
import type { Home } from '../../kernel/model/home.ts'
import { EMPTY_HOME } from '../../kernel/state/home.ts'
import { isActive, isSuspended } from '../../kernel/model/status.ts'
import { CompactRow, RowPacker } from './compact-row.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

/** The largest number of rows that are kept unpacked until the next `pack`: one page of rows at a start. */
const MAX_UNPACKED = 500

export class Table implements LiveTable {
  readonly maxProcesses: number
  readonly accounts = new Accounts(null)
  /** replaced by the pipeline after a commit, and by the start of the daemon */
  home: Home = EMPTY_HOME
  /** the wall time up to which ends count as seen, in ms; -1: none */
  seenUntil = -1
  /** the number of living processes without a hold */
  activeCount = 0
  /** the number of living processes with a hold */
  suspended = 0
  lastPid: Pid = 0
  readonly #rows = new Map<Uuid, Process | CompactRow>()
  readonly #packer = new RowPacker()
  /** suspended processes that changed since the last `pack`, and are not packed yet */
  readonly #awaitingPack = new Set<Uuid>()
  /** the packed rows that were read since the last `pack`: decisions and subscribers read the same rows repeatedly */
  readonly #unpacked = new Map<CompactRow, Process>()
  readonly #pids = new Map<Pid, Uuid>()
  readonly #names = new Map<string, Uuid>()
  readonly #children = new Map<Uuid | null, Set<Uuid>>()

  constructor(maxProcesses: number) {
    this.maxProcesses = maxProcesses
  }

  get size(): number {
    return this.#rows.size
  }

  get(uuid: Uuid): Process | undefined {
    const row = this.#rows.get(uuid)
    if (!(row instanceof CompactRow)) return row
    const known = this.#unpacked.get(row)
    if (known) return known
    const process = row.unpack()
    if (this.#unpacked.size < MAX_UNPACKED) this.#unpacked.set(row, process)
    return process
  }

  /** The number of the last fact of a process, which grows with each change. */
  lastSeq(uuid: Uuid): number | undefined {
    return this.#rows.get(uuid)?.seq
  }

  byPid(pid: Pid): Process | undefined {
    const uuid = this.#pids.get(pid)
    return uuid === undefined ? undefined : this.get(uuid)
  }

  findByName(name: string): Uuid | undefined {
    return this.#names.get(name)
  }

  children(parent: Uuid | null): Iterable<Uuid> {
    return this.#children.get(parent) ?? []
  }

  /** All UUIDs, ordered by PID; unpacks no row. */
  uuidsByPid(): Uuid[] {
    return [...this.#pids].sort(([a], [b]) => a - b).map(([, uuid]) => uuid)
  }

  all(): Iterable<Uuid> {
    return this.#rows.keys()
  }

  /** The UUIDs of the living processes that are not suspended. */
  runningUuids(): readonly Uuid[] {
    return [...this.#rows.values()].flatMap((row) => (!(row instanceof CompactRow) && isActive(row) ? [row.uuid] : []))
  }

  /** Yields all rows. Unpacks each packed row without caching it. */
  *rows(): Generator<Process> {
    for (const row of this.#rows.values()) yield row instanceof CompactRow ? row.unpack() : row
  }

  /** Applies the changes of a commit. Dead processes leave the table. */
  apply(processes: Iterable<Process>, lastPid: Pid): void {
    for (const process of processes) {
      const before = this.get(process.uuid)
      this.accounts.put(before, process)
      if (before && keepsIndexes(before, process)) this.#set(process.uuid, process)
      else {
        if (before) this.#removeFromIndexes(before)
        if (process.life.state !== 'dead') this.#addToIndexes(process)
      }
      // A row without an earlier value was just loaded: it is packed after the boot has decided its new state.
      if (before && isPackable(process)) this.#awaitingPack.add(process.uuid)
    }
    this.lastPid = lastPid
  }

  /** Packs the suspended rows that changed. Called after the subscribers have read them. */
  pack(): void {
    if (this.#awaitingPack.size === 0 && this.#unpacked.size === 0) return
    for (const uuid of this.#awaitingPack) {
      const row = this.#rows.get(uuid)
      if (row && !(row instanceof CompactRow) && isPackable(row)) this.#rows.set(uuid, this.#packer.pack(row))
    }
    this.#awaitingPack.clear()
    this.#unpacked.clear()
  }

  #set(uuid: Uuid, process: Process | undefined): void {
    const before = this.#rows.get(uuid)
    if (before instanceof CompactRow) this.#packer.release(before)
    if (process) this.#rows.set(uuid, process)
    else this.#rows.delete(uuid)
  }

  #removeFromIndexes(process: Process): void {
    this.#set(process.uuid, undefined)
    this.#pids.delete(process.pid)
    if (process.spec.name !== null && this.#names.get(process.spec.name) === process.uuid) this.#names.delete(process.spec.name)
    const siblings = this.#children.get(process.parent)
    siblings?.delete(process.uuid)
    if (siblings?.size === 0) this.#children.delete(process.parent)
    if (isActive(process)) this.activeCount -= 1
    if (isSuspended(process)) this.suspended -= 1
  }

  #addToIndexes(process: Process): void {
    this.#set(process.uuid, process)
    this.#pids.set(process.pid, process.uuid)
    if (process.spec.name !== null) this.#names.set(process.spec.name, process.uuid)
    const siblings = this.#children.get(process.parent)
    if (siblings) siblings.add(process.uuid)
    else this.#children.set(process.parent, new Set([process.uuid]))
    if (isActive(process)) this.activeCount += 1
    if (isSuspended(process)) this.suspended += 1
  }
}

/** True if the change concerns no index, as in most commits. */
function keepsIndexes(before: Process, after: Process): boolean {
  return (
    after.life.state === before.life.state &&
    after.pid === before.pid &&
    after.parent === before.parent &&
    after.spec.name === before.spec.name &&
    isActive(after) === isActive(before)
  )
}

/** True for a suspended process, except crews, compose runs and supervisors: their rows are read at each event of a member. */
function isPackable(process: Process): boolean {
  return isSuspended(process) && process.crew === undefined && process.compose === undefined && process.supervision === undefined
}
