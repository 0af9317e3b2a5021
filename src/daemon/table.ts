// The live table: processes that live, are suspended or are being released, in memory, with the indexes the kernel asks for.
// Owns applied state only: `apply` is called by the pipeline after a commit, and nobody else writes. What is suspended rests packed:
// who asks for it gets an equal value, made anew each time, so that no two of them are ever compared by identity.
// Test: test/properties/table.test.ts and test/properties/kernel.test.ts hold it against a dumb one.
import { Accounts } from '../kernel/accounts.ts'
import { isActive, isSuspended } from '../kernel/status.ts'
import { Packed, Packer } from './packed.ts'
import type { Pid, Process, Uuid } from '../kernel/types.ts'
import type { View } from '../kernel/view.ts'

/** packed rows that are kept unpacked for a moment: those of a page of a start */
const MAX_UNPACKED = 500

export class Table implements View {
  readonly maxProcesses: number
  readonly accounts = new Accounts(null)
  active = 0
  /** how many live with a hold */
  suspended = 0
  lastPid: Pid = 0
  readonly #rows = new Map<Uuid, Process | Packed>()
  readonly #packer = new Packer()
  /** suspended ones whose last value was applied since the last `pack` */
  readonly #fresh = new Set<Uuid>()
  /** who decides, applies and tells asks for the same rows again and again: they are kept until the next `pack` */
  readonly #unpacked = new Map<Packed, Process>()
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
    if (!(row instanceof Packed)) return row
    const known = this.#unpacked.get(row)
    if (known) return known
    const process = row.unpack()
    if (this.#unpacked.size < MAX_UNPACKED) this.#unpacked.set(row, process)
    return process
  }

  /** The last fact of a row, which moves with each change. */
  seq(uuid: Uuid): number | undefined {
    return this.#rows.get(uuid)?.seq
  }

  byPid(pid: Pid): Process | undefined {
    const uuid = this.#pids.get(pid)
    return uuid === undefined ? undefined : this.get(uuid)
  }

  named(name: string): Uuid | undefined {
    return this.#names.get(name)
  }

  children(parent: Uuid | null): Iterable<Uuid> {
    return this.#children.get(parent) ?? []
  }

  all(): Iterable<Uuid> {
    return this.#rows.keys()
  }

  /** those that live and are not suspended */
  running(): readonly Uuid[] {
    return [...this.#rows.values()].flatMap((row) => (!(row instanceof Packed) && isActive(row) ? [row.uuid] : []))
  }

  *rows(): Generator<Process> {
    for (const row of this.#rows.values()) yield row instanceof Packed ? row.unpack() : row
  }

  /** Takes over what a commit has made durable; the dead leave. */
  apply(processes: Iterable<Process>, lastPid: Pid): void {
    for (const process of processes) {
      const before = this.get(process.uuid)
      this.accounts.put(before, process)
      if (before && staysPut(before, process)) this.#set(process.uuid, process)
      else {
        if (before) this.#forget(before)
        if (process.life.state !== 'dead') this.#remember(process)
      }
      // What was loaded is packed with what a start makes of it.
      if (before && mayRest(process)) this.#fresh.add(process.uuid)
    }
    this.lastPid = lastPid
  }

  /** Packs what rests and was applied, once those who were told of it have looked at it. */
  pack(): void {
    if (this.#fresh.size === 0 && this.#unpacked.size === 0) return
    for (const uuid of this.#fresh) {
      const row = this.#rows.get(uuid)
      if (row && !(row instanceof Packed) && mayRest(row)) this.#rows.set(uuid, this.#packer.pack(row))
    }
    this.#fresh.clear()
    this.#unpacked.clear()
  }

  #set(uuid: Uuid, process: Process | undefined): void {
    const before = this.#rows.get(uuid)
    if (before instanceof Packed) this.#packer.drop(before)
    if (process) this.#rows.set(uuid, process)
    else this.#rows.delete(uuid)
  }

  #forget(process: Process): void {
    this.#set(process.uuid, undefined)
    this.#pids.delete(process.pid)
    if (process.spec.name !== null && this.#names.get(process.spec.name) === process.uuid) this.#names.delete(process.spec.name)
    const siblings = this.#children.get(process.parent)
    siblings?.delete(process.uuid)
    if (siblings?.size === 0) this.#children.delete(process.parent)
    if (isActive(process)) this.active -= 1
    if (isSuspended(process)) this.suspended -= 1
  }

  #remember(process: Process): void {
    this.#set(process.uuid, process)
    this.#pids.set(process.pid, process.uuid)
    if (process.spec.name !== null) this.#names.set(process.spec.name, process.uuid)
    const siblings = this.#children.get(process.parent)
    if (siblings) siblings.add(process.uuid)
    else this.#children.set(process.parent, new Set([process.uuid]))
    if (isActive(process)) this.active += 1
    if (isSuspended(process)) this.suspended += 1
  }
}

/** No index changes: most commits only move the work forward. */
function staysPut(before: Process, after: Process): boolean {
  return (
    after.life.state === before.life.state && after.pid === before.pid && after.parent === before.parent &&
    after.spec.name === before.spec.name && isActive(after) === isActive(before)
  )
}

/** Suspended, and no row that is asked for at each word of others. */
function mayRest(process: Process): boolean {
  return isSuspended(process) && process.crew === undefined && process.compose === undefined && process.supervision === undefined
}
