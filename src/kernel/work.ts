// One decision in the making: facts in order, the effects after them, and the view as the facts so far have changed it.
// Owns how facts get their numbers. A decision that is refused is dropped with all that it had.
// Test: test/properties/kernel.test.ts.
import { KernelError } from './errors.ts'
import { fold } from './fold.ts'
import { keptOf, newsOf } from './member-news.ts'
import { Overlay } from './view.ts'
import type { SystemCommand } from '../crew/commands.ts'
import type { Effect } from './effects.ts'
import type { Fact, FactBody } from './facts.ts'
import type { Now, Pid, Process, Signal, Uuid } from './types.ts'
import type { View } from './view.ts'

/** What one input did. `processes` are the new values of all that changed. */
export interface Changes {
  readonly facts: readonly Fact[]
  readonly processes: ReadonlyMap<Uuid, Process>
  readonly lastPid: Pid
}

export interface Decision {
  readonly changes: Changes
  readonly effects: readonly Effect[]
}

/**
 * A process was released · goes on after a pause · was resumed after its end · a run knows more of its nodes · a supervisor is ready ·
 * begins, with the rows of its children that have ended · is to end · what a crew must hear of a member, or of an answer · a member
 * may begin a turn.
 */
export type News =
  | { readonly type: 'member'; readonly crew: Uuid; readonly command: SystemCommand }
  | { readonly type: 'answered'; readonly uuid: Uuid; readonly id: string; readonly option: string | null; readonly text: string | null }
  | { readonly type: 'ended' | 'woken' | 'revived' | 'changed' | 'up' | 'settle'; readonly uuid: Uuid }
  | { readonly type: 'begun'; readonly uuid: Uuid; readonly kin: readonly Process[] }
  | { readonly type: 'stopping'; readonly uuid: Uuid; readonly signal: Signal }

export class Work extends Overlay {
  readonly now: Now
  readonly facts: Fact[] = []
  readonly effects: Effect[] = []
  /** what supervisors and restart policies must hear of, in order: heeded at the end of the decision */
  readonly news: News[] = []
  #frozen: Process | null = null

  constructor(view: View, now: Now) {
    super(view)
    this.now = now
  }

  /** A process that must be there, also one that died in this decision. Errors: INTERNAL. */
  need(uuid: Uuid): Process {
    const process = this.last(uuid)
    if (!process) throw new KernelError('INTERNAL', `no row for ${uuid}`)
    return process
  }

  takePid(): Pid {
    this.lastPid += 1
    return this.lastPid
  }

  /** A resume begins from a dead row, which is not in the table. */
  bring(frozen: Process): void {
    this.#frozen = frozen
  }

  emit(uuid: Uuid, body: FactBody): Process {
    const before = this.last(uuid)
    const seq = (body.type === 'process.forked' ? body.origin.seq : (before?.seq ?? 0)) + 1
    const fact: Fact = { uuid, seq, pid: pidOf(before, body), at: this.now.wall, body }
    const after = fold(before, fact)
    this.put(after)
    this.facts.push(fact)
    if (after.spec.member) this.#tellCrew(before, after, after.spec.member.crew, body)
    return after
  }

  effect(effect: Effect): void {
    this.effects.push(effect)
  }

  decision(): Decision {
    return { changes: { facts: this.facts, processes: this.processes, lastPid: this.lastPid }, effects: this.effects }
  }

  #tellCrew(before: Process | undefined, after: Process, crew: Uuid, body: FactBody): void {
    const row = this.get(crew)
    const { member } = after.spec
    const handOver = row?.spec.crew?.handOver ?? null
    for (const command of newsOf({ before, after, handOver, kept: member ? keptOf(row, member.id).length : 0 }, body)) this.news.push({ type: 'member', crew, command })
  }

  /** Its row as this decision has it, also when it is dead by now; undefined: it is not in the table. */
  last(uuid: Uuid): Process | undefined {
    return this.processes.get(uuid) ?? this.get(uuid) ?? (this.#frozen?.uuid === uuid ? this.#frozen : undefined)
  }
}

/** A new incarnation's first fact already bears its PID. */
function pidOf(before: Process | undefined, body: FactBody): Pid {
  if (body.type === 'process.spawned' || body.type === 'process.forked' || body.type === 'process.resumed' || body.type === 'process.rehydrated') return body.pid
  if (!before) throw new KernelError('INTERNAL', `the first fact is ${body.type}`)
  return before.pid
}
