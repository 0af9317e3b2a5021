// The kernel with a table and a clock, as the daemon's pipeline uses it, and nothing else: inputs go in, what was decided
// is laid over the table, and `commit` applies it. Keeps the journal and the rows that have died.
import { step } from '../../../src/kernel/step.ts'
import { Overlay } from '../../../src/kernel/view.ts'
import { Table } from '../../../src/daemon/table.ts'
import type { Fact } from '../../../src/kernel/facts.ts'
import type { Input, InputBody } from '../../../src/kernel/inputs.ts'
import type { Process, ProcessSpec, Uuid } from '../../../src/kernel/types.ts'
import type { Decision } from '../../../src/kernel/work.ts'

export const WALL = 1_700_000_000_000

export class World {
  table: Table
  overlay: Overlay
  wall = WALL
  mono = 1_000
  /** facts of each process, in order */
  readonly journal = new Map<Uuid, Fact[]>()
  readonly dead = new Map<Uuid, Process>()

  constructor(maxProcesses = 100) {
    this.table = new Table(maxProcesses)
    this.overlay = new Overlay(this.table)
  }

  /** Decides one input on the table and what is laid over it. */
  step(body: InputBody): Decision {
    const decision = step(this.overlay, { ...body, now: { wall: this.wall, mono: this.mono } } as Input)
    for (const process of decision.changes.processes.values()) {
      this.overlay.put(process)
      if (process.life.state === 'dead') this.dead.set(process.uuid, process)
      else this.dead.delete(process.uuid)
    }
    this.overlay.lastPid = decision.changes.lastPid
    for (const fact of decision.changes.facts) {
      const known = this.journal.get(fact.uuid)
      if (known) known.push(fact)
      else this.journal.set(fact.uuid, [fact])
    }
    return decision
  }

  commit(): void {
    this.table.apply(this.overlay.processes.values(), this.overlay.lastPid)
    this.table.pack()
    this.overlay = new Overlay(this.table)
  }

  wind(ms: number): void {
    this.wall += ms
    this.mono += ms
  }

  /** A new daemon finds the rows that have not died; its monotonic clock begins where it likes. */
  restart(mono: number): void {
    this.commit()
    const table = new Table(this.table.maxProcesses)
    table.apply(this.table.rows(), this.table.lastPid)
    this.table = table
    this.overlay = new Overlay(table)
    this.mono = mono
  }

  /** All facts that a process has, those before its fork too. */
  history(uuid: Uuid): readonly Fact[] {
    const own = this.journal.get(uuid) ?? []
    const [first] = own
    if (first?.body.type !== 'process.forked') return own
    const { origin } = first.body
    return [...this.history(origin.uuid).filter(({ seq }) => seq <= origin.seq), ...own]
  }

  /** The row, dead or alive. */
  row(uuid: Uuid): Process | undefined {
    return this.overlay.get(uuid) ?? this.dead.get(uuid)
  }
}

export function kernelSpec(changes: Partial<ProcessSpec> = {}): ProcessSpec {
  return {
    name: null, agent: 'default', driver: 'native', intent: 'work', cwd: '/', interactive: false, model: 'script:a.yaml', system: null,
    tools: null, deny: [], argv: null, env: {}, credentials: [], containment: 'auto', limits: {}, ...changes,
  }
}
