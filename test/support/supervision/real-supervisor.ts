// Runs a supervisor and its children on the real kernel, through its public entry. The simulated drivers answer at once, but a stopped
// child ends only when the test decides.
import { Table } from '../../../src/daemon/loop/table.ts'
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import { isSuspended } from '../../../src/kernel/model/status.ts'
import { World, kernelSpec } from '../kernel/world.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { RestartType, Strategy } from '../../../src/kernel/model/supervision.ts'
import type { ChildState, ChildEnd } from './model.ts'

export const SUPERVISOR = 's'
const BACKOFF = { initialMs: 1_000, maxMs: 1_000, factor: 1 }
/** Longer than a backoff, shorter than the window. */
const ADVANCE_MS = 1_001

export class RealSupervisor {
  readonly #world = new World()
  readonly #ids: readonly string[]
  readonly #log: string[] = []
  #replies = 0

  constructor(strategy: Strategy, types: readonly RestartType[], maxRestarts: number) {
    this.#ids = types.map((_, index) => 'abcdefgh'[index] ?? '')
    this.#world.table = new Table(100)
    const intensity = { maxRestarts, windowMs: 1e9, backoff: BACKOFF }
    this.#put({
      type: 'spawn',
      reply: this.#reply(),
      by: 'user',
      uuid: SUPERVISOR,
      parent: null,
      spec: kernelSpec({ driver: 'supervisor', intent: '', supervisor: { strategy, ...intensity } }),
    })
    for (const [index, type] of types.entries()) {
      const id = this.#ids[index] ?? ''
      this.#put({
        type: 'spawn',
        reply: this.#reply(),
        by: 'user',
        uuid: id,
        parent: SUPERVISOR,
        spec: kernelSpec({ driver: 'command', argv: ['x'], childId: id, restart: { type } }),
      })
    }
    this.#log.length = 0
  }

  /** the inputs since the beginning, as text */
  get log(): string {
    return this.#log.join('\n')
  }

  end(index: number, how: ChildEnd): void {
    const uuid = this.#ids[index] ?? ''
    const row = this.#row(uuid)
    if (row?.life.state !== 'running' || !row.life.attached) return
    if (row.life.stopping) return this.finish(index)
    const report = how === 'final' ? { code: 1, error: '401 no' } : { code: how === 'crash' ? 3 : 0 }
    this.#exited(row, { type: 'exited', osSignal: null, ...report })
  }

  finish(index: number): void {
    const row = this.#row(this.#ids[index] ?? '')
    if (row?.life.state === 'running' && row.life.stopping) this.#exited(row, { type: 'exited', code: null, osSignal: 'SIGTERM' })
  }

  kill(index: number): void {
    this.#signal(this.#ids[index] ?? '', 'SIGKILL')
  }

  pause(index: number): void {
    this.#signal(this.#ids[index] ?? '', 'SIGPAUSE')
  }

  resume(index: number): void {
    this.#resume(this.#ids[index] ?? '')
  }

  stop(): void {
    this.#signal(SUPERVISOR, 'SIGTERM')
  }

  pauseAll(): void {
    this.#signal(SUPERVISOR, 'SIGPAUSE')
  }

  resumeAll(): void {
    const row = this.#row(SUPERVISOR)
    if (row?.life.state === 'running' && row.life.holds.length > 0) this.#resume(SUPERVISOR)
  }

  advanceClock(): void {
    this.#world.wind(ADVANCE_MS)
    for (const uuid of [...this.#world.overlay.all()]) {
      const row = this.#world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.#world.mono) this.#put({ type: 'tick', uuid })
    }
  }

  /** All rows as they are now. */
  rows(): Process[] {
    return [SUPERVISOR, ...this.#ids].flatMap((uuid) => this.#world.row(uuid) ?? [])
  }

  states(): ChildState[] {
    return this.#ids.map((uuid) => stateOf(this.#world.row(uuid)))
  }

  restartCounts(): number[] {
    const children = this.#world.row(SUPERVISOR)?.supervision?.children ?? []
    return this.#ids.map((id) => children.find((child) => child.id === id)?.restarts?.times.length ?? 0)
  }

  supervisor(): 'up' | 'paused' | 'stopping' | 'down' {
    const row = this.#world.row(SUPERVISOR)
    if (row?.life.state !== 'running') return 'down'
    return row.life.stopping ? 'stopping' : row.life.holds.length > 0 ? 'paused' : 'up'
  }

  #row(uuid: string): Process | undefined {
    return this.#world.overlay.get(uuid)
  }

  #signal(uuid: string, signal: 'SIGKILL' | 'SIGPAUSE' | 'SIGTERM'): void {
    this.#put({ type: 'signal', reply: this.#reply(), by: 'user', uuid, signal, subtree: false, graceMs: null, freeze: false })
  }

  #resume(uuid: string): void {
    const row = this.#row(uuid)
    this.#put({
      type: 'resume',
      reply: this.#reply(),
      by: 'user',
      uuid,
      endedRow: this.#world.dead.get(uuid) ?? null,
      subtree: false,
      only: true,
      rerun: !(row && isSuspended(row)),
      message: null,
      spec: null,
    })
  }

  #exited({ uuid, pid }: Process, report: Extract<InputBody, { type: 'report' }>['report']): void {
    this.#put({ type: 'report', reply: this.#reply(), uuid, pid, report })
  }

  #put(body: InputBody): void {
    this.#log.push(
      `${body.type} ${'uuid' in body ? body.uuid : ''} ${body.type === 'signal' ? body.signal : ''}${body.type === 'report' ? body.report.type : ''}`,
    )
    const { effects } = this.#world.step(body)
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: Effect): void {
    if (!('uuid' in effect)) return
    const { uuid, pid } = effect
    switch (effect.type) {
      case 'start': {
        const endedChildren = (this.#row(uuid)?.supervision?.children ?? []).flatMap((child) => this.#world.dead.get(child.uuid) ?? [])
        return this.#put({
          type: 'start',
          uuid,
          pid,
          missingKeys: [],
          containment: { kind: 'group', path: null, marker: uuid },
          endedChildren,
        })
      }
      case 'driver.start':
        return this.#put({ type: 'report', reply: this.#reply(), uuid, pid, report: { type: 'up' } })
      case 'driver.stop':
        if (uuid === SUPERVISOR)
          this.#put({ type: 'report', reply: this.#reply(), uuid, pid, report: { type: 'exited', code: 0, osSignal: null } })
        return
      case 'release':
        if (effect.action === 'await') this.#put({ type: 'released', uuid, pid, survivors: [] })
        return
      default:
    }
  }

  #reply(): number {
    this.#replies += 1
    return this.#replies
  }
}

function stateOf(row: Process | undefined): ChildState {
  if (!row || row.life.state === 'dead' || row.life.state === 'zombie') return 'down'
  if (row.life.state === 'created') return row.restart?.at === null ? 'joins' : 'waits'
  if (row.life.stopping) return 'ending'
  if (row.life.holds.some(({ reason }) => reason === 'supervisor')) return 'held'
  if (row.life.holds.length > 0) return row.life.attached ? 'paused' : 'parked'
  return 'up'
}
