// A simulated world around a crew's decisions: processes that read one message per turn, a daemon that does jobs, a repository and
// the user. All inputs of the crew come from here, and all its acts are performed or lost here. The world keeps its own records,
// which laws.ts compares with those of the crew. Used by the simulations of a crew and by test/tables/kernel/crew.
import { KernelError } from '../../../src/kernel/model/errors.ts'
import { decideCrew } from '../../../src/kernel/crew/decide/decide.ts'
import { lastSuccessorOf } from '../../../src/kernel/crew/state/queries.ts'
import { foldCrew, NEW_CREW } from '../../../src/kernel/crew/state/fold.ts'
import { checkLaws } from './laws.ts'
import type { Act, Issuer, Command } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew } from '../../../src/kernel/model/crew/crew.ts'
import type { Sender } from '../../../src/kernel/model/ids.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { NativeSpec, CrewSpec } from '../../../src/kernel/model/process-spec.ts'

export interface WorldMessage {
  readonly id: string
  readonly from: Sender
  readonly text: string
}

/** The process of one member. */
export interface MemberProcess {
  readonly id: MemberId
  readonly uuid: string
  isAlive: boolean
  /** the crew has asked the process to leave */
  isLeaving: boolean
  isHeld: boolean
  queue: WorldMessage[]
  turn: number
  /** the message of the current turn */
  reading: WorldMessage | null
  /** the planned calls of this turn */
  plan: string[]
  isMasked: boolean
  /** whether there are uncommitted changes */
  isDirty: boolean
  commit: string | null
  /** the version of its files; each change gives a new name */
  files: string
  /** ids of read messages, in order */
  read: string[]
}

const NATIVE = { driver: 'native' } as unknown as NativeSpec

export function crewSpecOf(overrides: Partial<CrewSpec> = {}): CrewSpec {
  return {
    coordinator: 'engine',
    gate: 'auto',
    merge: 'auto',
    reviews: true,
    maxAttempts: 3,
    maxWorkers: 4,
    staff: [{ role: 'generic', count: 2 }],
    git: { repository: '/repository', base: 'base', branch: 'reeve/crew' },
    handOver: 0.9,
    stay: false,
    roles: { coordinator: NATIVE, generic: NATIVE, implementer: NATIVE, reviewer: NATIVE, researcher: NATIVE },
    ...overrides,
  }
}

/** The crew's simulated repository. A world without one has only versions of files. */
export interface WorldRepository {
  spawn: (member: MemberId) => void
  edit: (proc: MemberProcess) => void
  commit: (proc: MemberProcess) => void
  /** performs a job; null if it is not done yet */
  perform: (job: Exclude<Job, { type: 'spawn' }>) => JobResult | null
  /** called after each command */
  recordCommand: (before: Crew, facts: readonly CrewFact[], command: Command, by: Issuer) => void
}

export interface WorldOptions {
  readonly repository?: WorldRepository
  /** the crew's decisions under test */
  readonly decide?: typeof decideCrew
}

export class CrewWorld {
  crew: Crew = NEW_CREW
  readonly spec: CrewSpec
  readonly repository: WorldRepository | null
  readonly #decide: typeof decideCrew
  readonly journal: CrewFact[] = []
  /** the time of each fact of the journal */
  readonly #times: number[] = []
  readonly procs = new Map<MemberId, MemberProcess>()
  /** requested jobs that the current daemon has not done */
  jobs: Job[] = []
  /** the results of earlier jobs, which may be repeated */
  readonly answeredJobs: { readonly job: number; readonly result: JobResult }[] = []
  /** messages to a coordinator that was not running */
  readonly keptMessages: (WorldMessage & { readonly to: MemberId })[] = []
  /** ids of undelivered messages */
  readonly lostMessages: string[] = []
  /** the task of each open question */
  openQuestions = new Map<string, string>()
  /** the number of merges of each task since it was last opened */
  readonly mergeCounts = new Map<string, number>()
  /** the files of each commit and candidate */
  readonly filesByCommit = new Map<string, string>()
  readonly notices: string[] = []
  /** all acts, in order */
  readonly acts: Act[] = []
  /** the outcome of the crew; null before its end */
  outcome: string | null = null
  /** the crew's own process is suspended */
  isPaused = false
  commandCount = 0
  /** number of file changes */
  editCount = 0
  refusalCount = 0
  /** the error of the last command; null if it was accepted */
  lastRefusal: KernelError | null = null
  #counter = 0
  #message = 0
  /** commands with their results, for failure messages */
  readonly log: string[] = []

  constructor(spec: CrewSpec = crewSpecOf(), options: WorldOptions = {}) {
    this.spec = spec
    this.repository = options.repository ?? null
    this.#decide = options.decide ?? decideCrew
  }

  nextNumber(): number {
    this.#counter += 1
    return this.#counter
  }

  /** Applies a command and performs its acts. Returns the note for the sender; null if the command was refused. */
  submit(command: Command, by: Issuer = { type: 'system' }): string | null {
    const before = this.crew
    this.commandCount += 1
    this.log.push(`${by.type === 'member' ? by.id : by.type}: ${JSON.stringify(command).slice(0, 200)}`)
    try {
      const { facts, acts, note } = this.#decide(before, this.spec, command, {
        by,
        at: 1_000 + this.commandCount,
        seq: this.journal.length,
        paused: this.isPaused,
      })
      this.lastRefusal = null
      for (const fact of facts) this.#record(fact)
      for (const act of acts) this.#perform(act)
      this.#deliverKeptMessages()
      this.repository?.recordCommand(before, facts, command, by)
      checkLaws(this, before, facts)
      return note
    } catch (error) {
      if (!(error instanceof KernelError) || error.code === 'INTERNAL') throw error
      if (by.type === 'system') throw new Error(`a command of the system was refused: ${error.message}`, { cause: error })
      if (error.hint === '') throw new Error('a refusal without a hint', { cause: error })
      this.refusalCount += 1
      this.lastRefusal = error
      this.log.push(`  refused: ${error.code} ${error.message}`)
      checkLaws(this, before, [])
      return null
    }
  }

  #record(fact: CrewFact): void {
    this.journal.push(fact)
    // The earlier merge stays on the branch, but a reopened task may be merged again.
    if (fact.type === 'task.retried' || fact.type === 'task.reopened') this.mergeCounts.delete(fact.task)
    this.#times.push(1_000 + this.commandCount)
    this.crew = deepFreeze(foldCrew(this.crew, { seq: this.journal.length, at: 1_000 + this.commandCount, body: fact }))
    this.log.push(`    ${JSON.stringify(fact).slice(0, 160)}`)
  }

  /** The crew's state folded from its journal. */
  foldJournal(): Crew {
    const facts = JSON.parse(JSON.stringify(this.journal)) as CrewFact[]
    return facts.reduce((crew, body, index) => foldCrew(crew, { seq: index + 1, at: this.#times[index] ?? 0, body }), NEW_CREW)
  }

  #perform(act: Act): void {
    this.acts.push(act)
    switch (act.type) {
      case 'message':
        return this.#queueMessage(act)
      case 'move':
        return this.#move(act)
      case 'job': {
        if (!this.jobs.some(({ job }) => job === act.job.job)) this.jobs.push(act.job)
        return
      }
      case 'stop': {
        const proc = this.requireProcess(act.member)
        if (!proc.isAlive || proc.isLeaving) throw new Error(`${act.member} is stopped twice, or is dead`)
        if (proc.isMasked) throw new Error(`${act.member} is stopped while it commits`)
        proc.isLeaving = true
        return
      }
      case 'retire': {
        if (this.requireProcess(act.member).isAlive) throw new Error(`${act.member} is retired as if it had ended`)
        return
      }
      case 'interrupt': {
        const proc = this.requireProcess(act.member)
        if (proc.reading) proc.plan = ['interrupted']
        return
      }
      case 'mask': {
        this.requireProcess(act.member).isMasked = act.on
        return
      }
      case 'ask': {
        this.openQuestions.set(act.id, act.task)
        return
      }
      case 'unask': {
        if (!this.openQuestions.delete(act.id)) throw new Error(`${act.id} was not asked`)
        return
      }
      case 'hold': {
        if (this.isPaused) throw new Error('the crew is held twice')
        this.isPaused = true
        return
      }
      case 'end': {
        if (this.outcome !== null) throw new Error('the crew ends twice')
        this.outcome = act.outcome
        return
      }
      case 'notify':
      case 'warn': {
        this.notices.push(act.text)
      }
    }
  }

  #queueMessage({ to, id, from, text }: Extract<Act, { type: 'message' }>): void {
    const proc = this.procs.get(to)
    if (!proc?.isAlive && !to.startsWith('coordinator')) throw new Error(`a message to ${to}, which is dead, would be lost`)
    if (Number(id) !== this.#message + 1) throw new Error(`message ${id} follows ${this.#message}`)
    this.#message = Number(id)
    if (proc?.isAlive) proc.queue.push({ id, from, text })
    else this.keptMessages.push({ to, id, from, text })
  }

  /** Moves the queued messages of members to another one. Without another one they are lost, because they return to their senders. */
  #move({ from, to }: Extract<Act, { type: 'move' }>): void {
    for (const id of from) {
      const waitingMessages = this.requireProcess(id).queue.splice(0)
      if (to === null) this.lostMessages.push(...waitingMessages.map((message) => message.id))
      else this.requireProcess(to).queue.push(...waitingMessages)
    }
  }

  /** Delivers messages that were kept for a running member or its predecessors. */
  #deliverKeptMessages(): void {
    for (const message of this.keptMessages.splice(0)) {
      const reader = lastSuccessorOf(this.crew, message.to)
      const proc = reader?.state === 'on' ? this.procs.get(reader.id) : undefined
      if (proc?.isAlive) proc.queue.push(message)
      else this.keptMessages.push(message)
    }
  }

  requireProcess(id: MemberId): MemberProcess {
    const proc = this.procs.get(id)
    if (!proc) throw new Error(`${id} has no process`)
    return proc
  }

  /** Spawns a member's process, and returns its UUID. */
  spawn(id: MemberId): string {
    const uuid = `u-${id}`
    this.procs.set(id, {
      id,
      uuid,
      isAlive: true,
      isLeaving: false,
      isHeld: false,
      queue: [],
      turn: 0,
      reading: null,
      plan: [],
      isMasked: false,
      isDirty: false,
      commit: null,
      files: 'base',
      read: [],
    })
    this.repository?.spawn(id)
    return uuid
  }

  /** Restarts the daemon. The new daemon knows only the journal, so the crew requests its open jobs again. */
  crash(): void {
    this.jobs = []
    this.submit({ type: 'begin' })
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}
