// The table as the kernel may see it, and an overlay over it: what has been decided and is not applied yet.
// Owns how the overlay answers; the view below is never written, and no table is copied.
// Test: test/properties/kernel.test.ts.
import { Accounts } from './accounts.ts'
import { isActive } from './status.ts'
import type { Pid, Process, Uuid } from './types.ts'

/** Live processes and zombies, by UUID; the dead are not in it. */
export interface View {
  get(uuid: Uuid): Process | undefined
  /** children in the tree; null lists those of PID 0 */
  children(parent: Uuid | null): Iterable<Uuid>
  /** the UUIDs of all rows */
  all(): Iterable<Uuid>
  /** the process of that name that is not dead */
  named(name: string): Uuid | undefined
  /** who pays for whom, and what of it is used */
  readonly accounts: Accounts
  /** how many count against `maxProcesses` */
  readonly active: number
  /** the last PID that was given out */
  readonly lastPid: Pid
  readonly maxProcesses: number
}

export class Overlay implements View {
  readonly processes = new Map<Uuid, Process>()
  readonly maxProcesses: number
  readonly accounts: Accounts
  active: number
  lastPid: Pid
  readonly #view: View
  // Made when they are needed: most decisions move nothing in the tree.
  #byParent: Map<Uuid | null, Set<Uuid>> | null = null
  #byName: Map<string, Uuid> | null = null

  constructor(view: View) {
    this.#view = view
    this.active = view.active
    this.lastPid = view.lastPid
    this.maxProcesses = view.maxProcesses
    this.accounts = new Accounts(view.accounts)
  }

  get(uuid: Uuid): Process | undefined {
    const over = this.processes.get(uuid)
    if (over) return over.life.state === 'dead' ? undefined : over
    return this.#view.get(uuid)
  }

  *children(parent: Uuid | null): Generator<Uuid> {
    for (const uuid of [...this.#view.children(parent)]) {
      // What was not laid over is as the view below says, which need not bring its row.
      if (!this.processes.has(uuid)) yield uuid
      else if (this.get(uuid)?.parent === parent && !this.#byParent?.get(parent)?.has(uuid)) yield uuid
    }
    for (const uuid of [...(this.#byParent?.get(parent) ?? [])]) {
      if (this.get(uuid)?.parent === parent) yield uuid
    }
  }

  *all(): Generator<Uuid> {
    for (const uuid of this.#view.all()) if (!this.processes.has(uuid) || this.get(uuid)) yield uuid
    for (const uuid of [...this.processes.keys()]) if (this.get(uuid) && !this.#view.get(uuid)) yield uuid
  }

  named(name: string): Uuid | undefined {
    const uuid = this.#byName?.get(name) ?? this.#view.named(name)
    return uuid !== undefined && this.get(uuid)?.spec.name === name ? uuid : undefined
  }

  /** Lays a new value over the old one. */
  put(process: Process): void {
    const before = this.processes.get(process.uuid) ?? this.#view.get(process.uuid)
    this.active += (isActive(process) ? 1 : 0) - (before && isActive(before) ? 1 : 0)
    this.processes.set(process.uuid, process)
    this.accounts.put(before, process)
    // One that comes back from the dead may find its name at another one: it is noted anew. One that stays dead takes nobody's.
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
