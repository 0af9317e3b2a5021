// A world around the machines of a crew: processes with queues that read one message per turn, a daemon that does jobs, a repository,
// and people. Everything that the crew hears comes from here, and all that it wants done is done here, or not. It keeps its own books,
// which the laws (laws.ts) compare with the crew's. Used by test/simulation/crew.test.ts and test/tables/crew-*.test.ts.
import { KernelError } from '../../../src/kernel/errors.ts'
import { decide } from '../../../src/crew/decide.ts'
import { successorOf } from '../../../src/crew/finding.ts'
import { foldCrew, NEW_CREW } from '../../../src/crew/fold.ts'
import { checkLaws } from './laws.ts'
import type { Act, By, Command } from '../../../src/crew/commands.ts'
import type { CrewFact } from '../../../src/crew/facts.ts'
import type { Crew, CrewSpec, Job, JobResult, MemberId } from '../../../src/crew/types.ts'
import type { ProcessSpec, Sender } from '../../../src/kernel/types.ts'

export interface Letter {
  readonly id: string
  readonly from: Sender
  readonly text: string
}

/** One member's process. */
export interface Proc {
  readonly id: MemberId
  readonly uuid: string
  alive: boolean
  /** it was told to go */
  going: boolean
  held: boolean
  queue: Letter[]
  turn: number
  /** what it reads in the turn that is on */
  reading: Letter | null
  /** what it still means to do in this turn */
  plan: string[]
  masked: boolean
  /** its files: changes that are not committed, and commits since its branch was prepared */
  dirty: boolean
  commit: string | null
  /** ids of what it read, in order */
  read: string[]
}

const NATIVE = { driver: 'native' } as unknown as ProcessSpec

export function specOf(more: Partial<CrewSpec> = {}): CrewSpec {
  return {
    coordinator: 'engine', gate: 'auto', merge: 'auto', reviews: true, maxAttempts: 3, maxWorkers: 4, staff: [{ role: 'generic', count: 2 }],
    git: { repository: '/repository', base: 'base', branch: 'reeve/crew' }, handOver: 0.9, stay: false,
    roles: { coordinator: NATIVE, generic: NATIVE, implementer: NATIVE, reviewer: NATIVE, researcher: NATIVE }, ...more,
  }
}

export class World {
  crew: Crew = NEW_CREW
  readonly spec: CrewSpec
  readonly journal: CrewFact[] = []
  /** when each was said */
  readonly #times: number[] = []
  readonly procs = new Map<MemberId, Proc>()
  /** jobs that were asked and are not done by this daemon */
  jobs: Job[] = []
  /** answers that were given, for those who give them twice */
  readonly given: { readonly job: number; readonly result: JobResult }[] = []
  /** what was written to a coordinator that was not there */
  readonly kept: (Letter & { readonly to: MemberId })[] = []
  /** ids of messages that reached nobody */
  readonly lost: string[] = []
  asks = new Map<string, string>()
  /** merges into the crew's branch, by task */
  readonly merges = new Map<string, number>()
  readonly notices: string[] = []
  /** all that was to be done, in order */
  readonly acts: Act[] = []
  ended: string | null = null
  /** the crew's own process is suspended */
  paused = false
  commands = 0
  refused = 0
  /** the text of the last refusal */
  refusal: KernelError | null = null
  #counter = 0
  #message = 0
  /** commands and what came of them, for a failure */
  readonly log: string[] = []

  constructor(spec: CrewSpec = specOf()) {
    this.spec = spec
  }

  number(): number {
    this.#counter += 1
    return this.#counter
  }

  /** Says it to the crew, and does what comes of it. Null: it was refused. */
  say(command: Command, by: By = { type: 'system' }): string | null {
    const before = this.crew
    this.commands += 1
    this.log.push(`${by.type === 'member' ? by.id : by.type}: ${JSON.stringify(command).slice(0, 200)}`)
    try {
      const { facts, acts, note } = decide(before, this.spec, command, { by, at: 1_000 + this.commands, seq: this.journal.length, paused: this.paused })
      this.refusal = null
      for (const fact of facts) this.#record(fact)
      for (const act of acts) this.#perform(act)
      this.#handOut()
      checkLaws(this, before, facts)
      return note
    } catch (error) {
      if (!(error instanceof KernelError) || error.code === 'INTERNAL') throw error
      if (by.type === 'system') throw new Error(`the kernel cannot be refused: ${error.message}`, { cause: error })
      if (error.hint === '') throw new Error('a refusal without a hint', { cause: error })
      this.refused += 1
      this.refusal = error
      this.log.push(`  refused: ${error.code} ${error.message}`)
      checkLaws(this, before, [])
      return null
    }
  }

  #record(fact: CrewFact): void {
    this.journal.push(fact)
    this.#times.push(1_000 + this.commands)
    this.crew = deepFreeze(foldCrew(this.crew, { seq: this.journal.length, at: 1_000 + this.commands, body: fact }))
    this.log.push(`    ${JSON.stringify(fact).slice(0, 160)}`)
  }

  /** What the crew is by its journal alone. */
  refolded(): Crew {
    const facts = JSON.parse(JSON.stringify(this.journal)) as CrewFact[]
    return facts.reduce((crew, body, index) => foldCrew(crew, { seq: index + 1, at: this.#times[index] ?? 0, body }), NEW_CREW)
  }

  #perform(act: Act): void {
    this.acts.push(act)
    switch (act.type) {
      case 'message': return this.#message_(act)
      case 'move': return this.#move(act)
      case 'job': {
        if (!this.jobs.some(({ job }) => job === act.job.job)) this.jobs.push(act.job)
        return
      }
      case 'stop': {
        const proc = this.need(act.member)
        if (!proc.alive || proc.going) throw new Error(`${act.member} is stopped twice, or is dead`)
        if (proc.masked) throw new Error(`${act.member} is stopped while it commits`)
        proc.going = true
        return
      }
      case 'interrupt': {
        const proc = this.need(act.member)
        if (proc.reading) proc.plan = ['interrupted']
        return
      }
      case 'mask': {
        this.need(act.member).masked = act.on
        return
      }
      case 'ask': {
        this.asks.set(act.id, act.task)
        return
      }
      case 'unask': {
        if (!this.asks.delete(act.id)) throw new Error(`${act.id} was not asked`)
        return
      }
      case 'end': {
        if (this.ended !== null) throw new Error('the crew ends twice')
        this.ended = act.outcome
        return
      }
      case 'notify':
      case 'warn': {
        this.notices.push(act.text)
      }
    }
  }

  #message_({ to, id, from, text }: Extract<Act, { type: 'message' }>): void {
    const proc = this.procs.get(to)
    if (!proc?.alive && !to.startsWith('coordinator')) throw new Error(`a message to ${to}, which is dead, would be lost`)
    if (Number(id) !== this.#message + 1) throw new Error(`message ${id} follows ${this.#message}`)
    this.#message = Number(id)
    if (proc?.alive) proc.queue.push({ id, from, text })
    else this.kept.push({ to, id, from, text })
  }

  /** Back to the senders is out of the world. */
  #move({ from, to }: Extract<Act, { type: 'move' }>): void {
    for (const id of from) {
      const waiting = this.need(id).queue.splice(0)
      if (to === null) this.lost.push(...waiting.map((letter) => letter.id))
      else this.need(to).queue.push(...waiting)
    }
  }

  /** Who is there reads what was kept for it, or for those before it. */
  #handOut(): void {
    for (const letter of this.kept.splice(0)) {
      const reader = successorOf(this.crew, letter.to)
      const proc = reader?.state === 'on' ? this.procs.get(reader.id) : undefined
      if (proc?.alive) proc.queue.push(letter)
      else this.kept.push(letter)
    }
  }

  need(id: MemberId): Proc {
    const proc = this.procs.get(id)
    if (!proc) throw new Error(`${id} has no process`)
    return proc
  }

  /** The daemon starts a member. */
  spawn(id: MemberId): string {
    const uuid = `u-${id}`
    this.procs.set(id, { id, uuid, alive: true, going: false, held: false, queue: [], turn: 0, reading: null, plan: [], masked: false, dirty: false, commit: null, read: [] })
    return uuid
  }

  /** The daemon dies and starts again: it knows what is in the journal, and asks its open jobs again. */
  crash(): void {
    this.jobs = []
    this.say({ type: 'begin' })
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}
