// The live table: processes that live, are suspended or are being released, in memory, with the indexes the kernel asks for.
// Owns applied state only: `apply` is called by the pipeline after a commit, and nobody else writes.
// Test: test/properties/kernel.test.ts holds it against a dumb one.
import { Accounts } from '../kernel/accounts.ts'
import { isActive } from '../kernel/status.ts'
import type { Pid, Process, Uuid } from '../kernel/types.ts'
import type { View } from '../kernel/view.ts'

export class Table implements View {
  readonly maxProcesses: number
  readonly accounts = new Accounts(null)
  active = 0
  lastPid: Pid = 0
  readonly #rows = new Map<Uuid, Process>()
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
    return this.#rows.get(uuid)
  }

  byPid(pid: Pid): Process | undefined {
    const uuid = this.#pids.get(pid)
    return uuid === undefined ? undefined : this.#rows.get(uuid)
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
    return [...this.#rows.values()].filter(isActive).map(({ uuid }) => uuid)
  }

  rows(): Iterable<Process> {
    return this.#rows.values()
  }

  /** Takes over what a commit has made durable; the dead leave. */
  apply(processes: Iterable<Process>, lastPid: Pid): void {
    for (const process of processes) {
      const before = this.#rows.get(process.uuid)
      this.accounts.put(before, process)
      if (before && staysPut(before, process)) {
        this.#rows.set(process.uuid, process)
        continue
      }
      if (before) this.#forget(before)
      if (process.life.state !== 'dead') this.#remember(process)
    }
    this.lastPid = lastPid
  }

  #forget(process: Process): void {
    this.#rows.delete(process.uuid)
    this.#pids.delete(process.pid)
    if (process.spec.name !== null && this.#names.get(process.spec.name) === process.uuid) this.#names.delete(process.spec.name)
    const siblings = this.#children.get(process.parent)
    siblings?.delete(process.uuid)
    if (siblings?.size === 0) this.#children.delete(process.parent)
    if (isActive(process)) this.active -= 1
  }

  #remember(process: Process): void {
    this.#rows.set(process.uuid, process)
    this.#pids.set(process.pid, process.uuid)
    if (process.spec.name !== null) this.#names.set(process.spec.name, process.uuid)
    const siblings = this.#children.get(process.parent)
    if (siblings) siblings.add(process.uuid)
    else this.#children.set(process.parent, new Set([process.uuid]))
    if (isActive(process)) this.active += 1
  }
}

/** No index changes: most commits only move the work forward. */
function staysPut(before: Process, after: Process): boolean {
  return (
    after.life.state === before.life.state && after.pid === before.pid && after.parent === before.parent &&
    after.spec === before.spec && isActive(after) === isActive(before)
  )
}
