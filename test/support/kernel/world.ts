// The kernel with a table and a clock, as the daemon's pipeline uses it. A decision is overlaid on the table, and `commit` applies
// it. Keeps the journals and the rows of dead processes.
import { step } from '../../../src/kernel/decide/step.ts'
import { Overlay } from '../../../src/kernel/state/live-table.ts'
import { Table } from '../../../src/daemon/loop/table.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Decision } from '../../../src/kernel/decide/draft.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { NativeSpec } from '../../../src/kernel/model/process-spec.ts'
import type { DriverName } from '../../../src/kernel/model/words.ts'
import { changedSpec, type SpecChanges, type SpecOf } from '../spec-changes.ts'

export const START_WALL_MS = 1_700_000_000_000

export class World {
  table: Table
  overlay: Overlay
  wall = START_WALL_MS
  mono = 1_000
  /** facts of each process, in order */
  readonly journal = new Map<Uuid, Fact[]>()
  readonly dead = new Map<Uuid, Process>()
  /** called with the facts and the processes of each commit, after they were applied */
  onCommit: (facts: readonly Fact[], processes: readonly Process[]) => void = () => {}
  #uncommitted: Fact[] = []

  constructor(maxProcesses = 100) {
    this.table = new Table(maxProcesses)
    this.overlay = new Overlay(this.table)
  }

  /** Decides one input on the table and its overlay. */
  step(body: InputBody): Decision {
    const decision = step(this.overlay, { ...body, now: { wall: this.wall, mono: this.mono } })
    for (const process of decision.changes.processes.values()) {
      this.overlay.put(process)
      if (process.life.state === 'dead') this.dead.set(process.uuid, process)
      else this.dead.delete(process.uuid)
    }
    this.overlay.lastPid = decision.changes.lastPid
    this.overlay.home = decision.changes.home
    this.#uncommitted.push(...decision.changes.facts)
    for (const fact of decision.changes.facts) {
      const journal = this.journal.get(fact.uuid)
      if (journal) journal.push(fact)
      else this.journal.set(fact.uuid, [fact])
    }
    return decision
  }

  commit(): void {
    const processes = [...this.overlay.processes.values()]
    const facts = this.#uncommitted
    this.#uncommitted = []
    this.table.apply(processes, this.overlay.lastPid)
    this.table.home = this.overlay.home
    this.onCommit(facts, processes)
    this.table.pack()
    this.overlay = new Overlay(this.table)
  }

  wind(ms: number): void {
    this.wall += ms
    this.mono += ms
  }

  /** Starts a new daemon on the rows that are not dead; its monotonic clock starts at any value. */
  restart(mono: number): void {
    this.commit()
    const table = new Table(this.table.maxProcesses)
    table.apply(this.table.rows(), this.table.lastPid)
    table.home = this.table.home
    this.table = table
    this.overlay = new Overlay(table)
    this.mono = mono
  }

  /** Returns all facts of a process, including those before its fork. */
  history(uuid: Uuid): readonly Fact[] {
    const ownFacts = this.journal.get(uuid) ?? []
    const [first] = ownFacts
    if (first?.body.type !== 'process.forked') return ownFacts
    const { origin } = first.body
    return [...this.history(origin.uuid).filter(({ seq }) => seq <= origin.seq), ...ownFacts]
  }

  /** Returns the row, dead or alive. */
  row(uuid: Uuid): Process | undefined {
    return this.overlay.get(uuid) ?? this.dead.get(uuid)
  }
}

export function kernelSpec<D extends DriverName = 'native'>(changes: SpecChanges<D> = {}): SpecOf<D> {
  const spec: NativeSpec = {
    name: null,
    agent: 'default',
    driver: 'native',
    intent: 'work',
    cwd: '/',
    interactive: false,
    model: 'script:a.yaml',
    system: null,
    tools: null,
    deny: [],
    argv: null,
    env: {},
    credentials: [],
    containment: 'auto',
    limits: {},
  }
  return changedSpec(spec, changes)
}
