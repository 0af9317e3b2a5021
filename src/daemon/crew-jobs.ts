// What crews ask the daemon to do (the effects `crew.job` and `crew.move`), and the answers: a member is spawned, git is asked for files
// and commits, texts are read from journals. Owns that jobs of one member are done in order, and each once at a time; a job that is
// asked again after a crash may have been done already. Decides nothing. Test: test/e2e/crew.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { GitError } from '../drivers/files/git.ts'
import { takesMessages } from '../kernel/capabilities.ts'
import { DONE } from '../kernel/crewing.ts'
import { KernelError } from '../kernel/errors.ts'
import { isEnding, isLiving } from '../kernel/status.ts'
import { withRealPlaces } from './places.ts'
import type { CrewFact } from '../crew/facts.ts'
import type { Job, JobResult, Member, MemberId } from '../crew/types.ts'
import type { Effect } from '../kernel/effects.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Waiting } from '../kernel/inputs.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { CrewGit } from './crew-git.ts'
import type { Keys } from './keys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'
import type { Worktrees } from './worktrees.ts'

export type CrewEffect = Extract<Effect, { type: 'crew.job' | 'crew.move' | 'crew.retire' }>
type JobOf<T extends Job['type']> = Extract<Job, { type: T }>

export interface CrewJobsParts {
  readonly table: Table
  readonly store: Pick<Store, 'process' | 'facts'>
  readonly keys: Pick<Keys, 'of' | 'known' | 'forget'>
  readonly worktrees: Pick<Worktrees, 'plan'>
  readonly git: CrewGit
  readonly clock: Clock
  readonly pipeline: () => Pick<Pipeline, 'request' | 'submit'>
  readonly log: (message: string, error: unknown) => void
}

export function isOfCrew(effect: Effect): effect is CrewEffect {
  return effect.type.startsWith('crew.')
}

/** Waits before a spawn that was refused is tried again, in ms; after the last one the crew hears why. */
const AGAIN_MS: readonly number[] = [1_000, 5_000]

export class CrewJobs {
  readonly #parts: CrewJobsParts
  /** jobs under way */
  readonly #open = new Set<string>()
  /** the last job of each member */
  readonly #lines = new Map<string, Promise<void>>()
  /** who waits for the worktree of a process, or for its end */
  readonly #waiting = new Map<Uuid, (() => void)[]>()

  constructor(parts: CrewJobsParts) {
    this.#parts = parts
  }

  perform(effect: CrewEffect): void {
    if (effect.type === 'crew.move') return this.#apart(effect, this.#move(effect))
    if (effect.type === 'crew.retire') return this.#apart(effect, this.#retire(effect))
    const { uuid, job } = effect
    const id = `${uuid} ${job.job}`
    if (this.#open.has(id)) return
    this.#open.add(id)
    const line = `${uuid} ${job.member}`
    const turn = (this.#lines.get(line) ?? Promise.resolve()).then(() => this.#answer(uuid, job)).finally(() => {
      this.#open.delete(id)
      if (this.#lines.get(line) === turn) this.#lines.delete(line)
    })
    this.#lines.set(line, turn)
  }

  #apart({ type, uuid }: CrewEffect, done: Promise<void>): void {
    done.catch((error: unknown) => this.#parts.log(`${type} of crew ${uuid}`, error))
  }

  /** Facts that somebody may wait for. */
  see(facts: readonly StoredFact[]): void {
    if (this.#waiting.size === 0) return
    for (const { uuid, body: { type } } of facts) {
      if (type !== 'worktree.made' && type !== 'process.exited' && type !== 'process.reaped') continue
      const waiting = this.#waiting.get(uuid) ?? []
      this.#waiting.delete(uuid)
      for (const go of waiting) go()
    }
  }

  async #answer(uuid: Uuid, job: Job): Promise<void> {
    const { log, pipeline } = this.#parts
    try {
      const result = await this.#do(uuid, job)
      if (result) await pipeline().request({ type: 'crew', by: 'system', uuid, command: { type: 'job_done', job: job.job, result } })
    } catch (error) {
      // A crew that has ended, or a daemon that stops, hears no answer: the job is asked again when it goes on.
      if (!(error instanceof KernelError) || error.code === 'INTERNAL') log(`job ${job.job} (${job.type}) of crew ${uuid} was not answered`, error)
    }
  }

  /** Null: its crew is gone, and nobody waits for it; or it stops, which is no fault of the job: it is asked again. */
  async #do(uuid: Uuid, job: Job): Promise<JobResult | null> {
    if (!this.#parts.table.get(uuid)) return null
    try {
      return await this.#work(uuid, job)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const crew = this.#parts.table.get(uuid)
      if (!crew || isEnding(crew)) return null
      if (!(error instanceof KernelError) && !(error instanceof GitError)) this.#parts.log(`job ${job.job} (${job.type}) of crew ${uuid}`, error)
      return { type: 'error', error: error instanceof KernelError ? `${error.message}. ${error.hint}` : error.message }
    }
  }

  #work(uuid: Uuid, job: Job): Promise<JobResult> {
    switch (job.type) {
      case 'spawn': return this.#spawn(uuid, job.member)
      case 'prepare': return this.#prepare(uuid, job)
      case 'brief': return this.#brief(uuid, job)
      case 'commit': return this.#commit(uuid, job)
      case 'merge': return this.#merge(uuid, job)
      case 'reset': return this.#salvaged(uuid, job, (git, work) => git.reset(work))
      case 'salvage': return this.#salvaged(uuid, job, (git, work) => git.salvage(work))
    }
  }

  async #spawn(uuid: Uuid, id: MemberId): Promise<JobResult> {
    for (let tries = 0; ; tries += 1) {
      const { crew, member } = this.#member(uuid, id)
      if (member.uuid !== null) return { type: 'spawned', uuid: member.uuid }
      try {
        return { type: 'spawned', uuid: await this.#begin(crew, member) }
      } catch (error) {
        const wait = AGAIN_MS[tries]
        if (wait === undefined || !(error instanceof KernelError) || error.code !== 'RESOURCE_EXHAUSTED') throw error
        await new Promise<void>((resolve) => this.#parts.clock.after(wait, resolve))
      }
    }
  }

  async #begin(crew: Process, member: Member): Promise<Uuid> {
    const { keys, worktrees, git, pipeline } = this.#parts
    const uuid = uuidv7()
    const asked = memberSpec(crew, member)
    const place = member.role === 'coordinator' ? null : await git.place(crew, member.id)
    const spec = await withRealPlaces(place ? await worktrees.plan(uuid, asked, place) : asked)
    try {
      // A key that is missing holds the member (`credentials`), and a person hears of it.
      await keys.of({ uuid, spec }, keys.known(crew.uuid))
      await pipeline().request({ type: 'spawn', by: 'system', uuid, spec, parent: crew.uuid })
    } catch (error) {
      keys.forget(uuid)
      throw error
    }
    return uuid
  }

  async #prepare(uuid: Uuid, { member: id, task, from, read }: JobOf<'prepare'>): Promise<JobResult> {
    const member = await this.#ready(uuid, id)
    const old = from === null ? null : await this.#rowOf(uuid, from)
    const { base, salvaged } = await this.#parts.git.prepare({ crew: this.#crew(uuid), member, task }, old)
    return { type: 'prepared', base, read: await this.#read(uuid, read), ...(salvaged === null ? {} : { salvaged }) }
  }

  async #brief(uuid: Uuid, { implementer, task, read }: JobOf<'brief'>): Promise<JobResult> {
    const member = implementer === null ? null : await this.#rowOf(uuid, implementer)
    const place = member ? await this.#parts.git.brief({ crew: this.#crew(uuid), member, task }) : { dir: null, branch: null, head: null }
    return { type: 'briefed', ...place, read: await this.#read(uuid, read) }
  }

  async #commit(uuid: Uuid, { member: id, task, base, force }: JobOf<'commit'>): Promise<JobResult> {
    const end = await this.#parts.git.commit({ crew: this.#crew(uuid), member: await this.#rowOf(uuid, id), task }, { base, force })
    switch (end.type) {
      case 'committed': return { type: 'committed', commit: end.commit, dirty: false, ...(end.notes.length > 0 ? { output: end.notes.join('; ') } : {}) }
      case 'nothing': return { type: 'committed', commit: null, dirty: false }
      case 'uncommitted': return { type: 'committed', commit: null, dirty: true, output: `not committed: ${end.files.join(', ')}${end.more > 0 ? ` and ${end.more} more` : ''}` }
      case 'refused': return { type: 'committed', commit: null, dirty: true, output: end.output }
    }
  }

  async #merge(uuid: Uuid, { member: id, task, commit }: JobOf<'merge'>): Promise<JobResult> {
    const member = await this.#rowOf(uuid, id).catch(() => null)
    const end = await this.#parts.git.merge({ crew: this.#crew(uuid), member, task }, commit)
    switch (end.type) {
      case 'merged': return { type: 'merged', merged: end.commit }
      case 'conflict': return { type: 'conflict', files: end.files, branch: end.branch }
      case 'left': return { type: 'left', branch: end.branch, reason: end.reason }
    }
  }

  async #salvaged(uuid: Uuid, { member: id, task }: JobOf<'reset' | 'salvage'>, work: (git: CrewGit, on: Parameters<CrewGit['reset']>[0]) => Promise<string | null>): Promise<JobResult> {
    return { type: 'salvaged', ref: await work(this.#parts.git, { crew: this.#crew(uuid), member: await this.#rowOf(uuid, id), task }) }
  }

  /** The texts that a decision needs: they stand in facts alone. */
  async #read(uuid: Uuid, seqs: readonly number[]): Promise<CrewFact[]> {
    const facts = await Promise.all(seqs.map(async (seq) => (await this.#parts.store.facts(uuid, seq - 1, 1))[0]))
    return facts.flatMap((fact) => (fact ? [fact.body as CrewFact] : []))
  }

  #crew(uuid: Uuid): Process {
    const crew = this.#parts.table.get(uuid)
    if (!crew?.spec.crew) throw new KernelError('NOT_FOUND', `crew ${uuid} has ended`)
    return crew
  }

  #member(uuid: Uuid, id: MemberId): { readonly crew: Process; readonly member: Member } {
    const crew = this.#crew(uuid)
    const member = crew.crew?.members.find((one) => one.id === id)
    if (!member) throw new KernelError('INTERNAL', `crew ${crew.pid} has no member ${id}`)
    return { crew, member }
  }

  /** Its process, dead or alive. */
  async #rowOf(uuid: Uuid, id: MemberId): Promise<Process> {
    const { member } = this.#member(uuid, id)
    const process = member.uuid === null ? undefined : (this.#parts.table.get(member.uuid) ?? await this.#parts.store.process(member.uuid))
    if (!process) throw new KernelError('NOT_FOUND', `${id} has no process any more`)
    return process
  }

  /** Its process with its worktree, which is made when it begins. Errors: NOT_FOUND where that ends before. */
  async #ready(uuid: Uuid, id: MemberId): Promise<Process> {
    for (;;) {
      const process = await this.#rowOf(uuid, id)
      if (process.spec.worktree === undefined || process.files) return process
      if (!isLiving(process)) throw new KernelError('NOT_FOUND', `${id} ended before it had its files`)
      await new Promise<void>((resolve) => this.#waiting.set(process.uuid, [...(this.#waiting.get(process.uuid) ?? []), resolve]))
    }
  }

  async #retire({ uuid, members }: Extract<CrewEffect, { type: 'crew.retire' }>): Promise<void> {
    for (const member of members) {
      const frozen = await this.#parts.store.process(member)
      if (frozen) this.#parts.pipeline().submit({ type: 'retire', uuid: member, frozen, by: `agent:${uuid}`, reason: DONE })
    }
  }

  async #move({ uuid, from, to, all }: Extract<CrewEffect, { type: 'crew.move' }>): Promise<void> {
    const waiting = (await Promise.all(from.map((source) => this.#waitingFor(source)))).filter((one) => one !== null)
    if (all || waiting.some(({ messages }) => messages.length > 0)) this.#parts.pipeline().submit({ type: 'crewMoved', uuid, from: waiting, to, all })
  }

  async #waitingFor(uuid: Uuid): Promise<Waiting | null> {
    const { table, store } = this.#parts
    const process = table.get(uuid) ?? await store.process(uuid)
    if (!process) return null
    const facts = await Promise.all(process.queue.map(async ({ seq }) => (await store.facts(uuid, seq - 1, 1))[0]?.body))
    return { process, messages: facts.flatMap((body) => (body?.type === 'process.queue' ? [{ id: body.id, from: body.from, text: body.text }] : [])) }
  }
}

/** The template of its role, and its place: it waits for messages, and comes back as its crew says. */
function memberSpec(crew: Process, { id, role }: Member): ProcessSpec {
  const template = crew.spec.crew?.roles[role]
  if (!template) throw new KernelError('INVALID', `crew ${crew.pid} says nothing of a ${role}`, undefined, `It has ${Object.keys(crew.spec.crew?.roles ?? {}).join(', ')}.`)
  if (!takesMessages({ ...template, interactive: true })) throw new KernelError('INVALID', `${template.agent} cannot be a ${role}: it takes no messages while it runs`)
  return { ...template, name: null, interactive: true, restart: template.restart ?? { type: 'transient' }, childId: id, member: { crew: crew.uuid, id, role } }
}
