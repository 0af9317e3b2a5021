// The process table as the kernel reads it, and an overlay of changes that are decided but not applied yet. The overlay
// never writes to the table below it, and copies nothing. Test: test/properties/kernel.test.ts.
import { Accounts } from './accounts.ts'
import type { Home } from '../model/home.ts'
import { isActive } from '../model/status.ts'
import type { Process } from '../model/process.ts'
import type { Pid, Uuid } from '../model/ids.ts'

/** A read-only table of all living processes and zombies. Dead processes are not in it. */
export interface LiveTable {
  get(uuid: Uuid): Process | undefined
  /** the children in the process tree; `parent` null: those of PID 0 */
  children(parent: Uuid | null): Iterable<Uuid>
  /** the UUIDs of all rows */
  all(): Iterable<Uuid>
  /** the process with that name */
  findByName(name: string): Uuid | undefined
  /** the index of payers and their usage */
  readonly accounts: Accounts
  /** the account of the whole home */
  readonly home: Home
  /** number of processes that count against `maxProcesses` */
  readonly activeCount: number
  /** the last PID that was assigned */
  readonly lastPid: Pid
  readonly maxProcesses: number
}

/** A layer over a table, with the changes of one decision or of a batch of decisions. */
export class Overlay implements LiveTable {
  readonly processes = new Map<Uuid, Process>()
  readonly maxProcesses: number
  readonly accounts: Accounts
  home: Home
  activeCount: number
  lastPid: Pid
  readonly #base: LiveTable
  // Both indexes are created on demand, because most decisions change nothing in the tree.
  #byParent: Map<Uuid | null, Set<Uuid>> | null = null
  #byName: Map<string, Uuid> | null = null

  constructor(base: LiveTable) {
    this.#base = base
    this.home = base.home
    this.activeCount = base.activeCount
    this.lastPid = base.lastPid
    this.maxProcesses = base.maxProcesses
    this.accounts = new Accounts(base.accounts)
  }

  get(uuid: Uuid): Process | undefined {
    const changed = this.processes.get(uuid)
    if (changed) return changed.life.state === 'dead' ? undefined : changed
    return this.#base.get(uuid)
  }

  *children(parent: Uuid | null): Generator<Uuid> {
    for (const uuid of [...this.#base.children(parent)]) {
      // The tree position of an unchanged child cannot have changed, so its row need not be read.
      if (!this.processes.has(uuid)) yield uuid
      else if (this.get(uuid)?.parent === parent && !this.#byParent?.get(parent)?.has(uuid)) yield uuid
    }
    for (const uuid of [...(this.#byParent?.get(parent) ?? [])]) {
      if (this.get(uuid)?.parent === parent) yield uuid
    }
  }

  *all(): Generator<Uuid> {
    for (const uuid of this.#base.all()) if (!this.processes.has(uuid) || this.get(uuid)) yield uuid
    for (const uuid of [...this.processes.keys()]) if (this.get(uuid) && !this.#base.get(uuid)) yield uuid
  }

  findByName(name: string): Uuid | undefined {
    const uuid = this.#byName?.get(name) ?? this.#base.findByName(name)
    return uuid !== undefined && this.get(uuid)?.spec.name === name ? uuid : undefined
  }

  /** Replaces the row of a process in the overlay. */
  put(process: Process): void {
    const before = this.processes.get(process.uuid) ?? this.#base.get(process.uuid)
    this.activeCount += (isActive(process) ? 1 : 0) - (before && isActive(before) ? 1 : 0)
    this.processes.set(process.uuid, process)
    this.accounts.put(before, process)
    // A process that was dead must be indexed again, because another process may have had its name in the meantime.
    const isNew = !before || before.life.state === 'dead'
    if (process.life.state === 'dead') return
    if (isNew || before.parent !== process.parent || before.spec !== process.spec) this.#index(process)
  }

  #index({ uuid, parent, spec }: Process): void {
    this.#byName ??= new Map()
    this.#byParent ??= new Map()
    if (spec.name !== null) this.#byName.set(spec.name, uuid)
    const siblings = this.#byParent.get(parent)
    if (siblings) siblings.add(uuid)
    else this.#byParent.set(parent, new Set([uuid]))
  }
}
