// Performs the effects of crews (`crew.job`, `crew.move`, `crew.retire`) and answers them. Spawns members, runs git jobs and commands, and
// reads texts from journals. Jobs that need the same member run in order, and no job runs twice at the same time. After a crash, a job is
// requested again even if it was done. Must never decide. Tests: test/tables/daemon/crew/jobs/jobs.test.ts, test/e2e/crew/crew.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { GitError } from '../../../drivers/git/git.ts'
import { WorktreeError } from '../../../drivers/git/open-worktree.ts'
import { hasPassed } from '../../../kernel/crew/decide/verify-results.ts'
import { verifyCommandOf } from '../../../kernel/crew/state/verify-rules.ts'
import { takesMessages } from '../../../kernel/model/capabilities.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { isEnding, isLiving } from '../../../kernel/model/status.ts'
import { shellLine } from '../../../api/text/shell-quote.ts'
import { isIndependentJob } from '../../../kernel/crew/state/queries.ts'
import { withRealPaths } from '../../operations/permission-paths.ts'
import { diskFullReason } from '../../../kernel/crew/decide/halt.ts'
import type { CrewFact, Job, JobResult, JobOf } from '../../../kernel/model/crew/facts.ts'
import type { ShellCommandRun } from '../../../kernel/model/crew/shell-command-results.ts'
import type { Member } from '../../../kernel/model/crew/crew.ts'
import type { Effect } from '../../../kernel/model/effects.ts'
import type { StoredFact } from '../../../kernel/model/facts.ts'
import type { PendingMessages } from '../../../kernel/model/inputs.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { Store } from '../../../store/store.ts'
import { KeyedQueue } from '../../loop/keyed-queue.ts'
import type { Clock } from '../../loop/clock.ts'
import { TaskPreparationError } from './git.ts'
import { RunningCommands, ObsoleteJobError } from './running-commands.ts'
import type { CrewShellCommandRunner } from './shell-command-runner.ts'
import type { CrewGit } from './git.ts'
import type { buildWithTaskAgent } from '../up/member-specs.ts'
import type { Credentials } from '../../incarnation/credentials.ts'
import type { Pipeline } from '../../loop/pipeline.ts'
import type { Table } from '../../loop/table.ts'
import type { Worktrees } from '../../operations/worktrees.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { MemberId } from '../../../kernel/model/crew/words.ts'
import type { RunnableSpec } from '../../../kernel/model/process-spec.ts'

export type CrewEffect = Extract<Effect, { type: 'crew.job' | 'crew.move' | 'crew.retire' }>

export interface CrewJobsDeps {
  readonly table: Table
  readonly store: Pick<Store, 'process' | 'facts'>
  readonly credentials: Pick<Credentials, 'resolveAndKeep' | 'storedKeys' | 'forget'>
  readonly worktrees: Pick<Worktrees, 'plan'>
  readonly git: CrewGit
  readonly commands: Pick<CrewShellCommandRunner, 'run'>
  readonly templates: Parameters<typeof buildWithTaskAgent>[2]
  readonly clock: Clock
  readonly pipeline: () => Pick<Pipeline, 'request' | 'submit'>
  readonly log: (message: string, error: unknown) => void
}

/** waits before each retry of a refused spawn, in ms; after the last retry the job fails */
const RETRY_WAITS_MS: readonly number[] = [1_000, 5_000]
/** interval between checks of a branch that is checked out elsewhere, in ms */
const FREE_CHECK_MS = 1_000
/** how long a repeatedly moved branch must stay unchanged, in ms */
const UNCHANGED_MS = 5_000

export class CrewJobs {
  readonly #deps: CrewJobsDeps
  /** keys of jobs in progress */
  readonly #openJobs = new Set<string>()
  /** keys of jobs that were requested again while they were in progress */
  readonly #requestedAgain = new Set<string>()
  readonly #running = new RunningCommands()
  /** runs the jobs of one member in order; jobs that do not need their member run in a queue for each task */
  readonly #queue = new KeyedQueue()
  /** by process: callbacks that wait until its worktree is created or the process ends */
  readonly #worktreeWaiters = new Map<Uuid, (() => void)[]>()

  constructor(deps: CrewJobsDeps) {
    this.#deps = deps
  }

  perform(effect: CrewEffect): void {
    if (effect.type === 'crew.move') return this.#runDetached(effect, this.#move(effect))
    if (effect.type === 'crew.retire') return this.#runDetached(effect, this.#retire(effect))
    const { uuid, job } = effect
    const jobKey = `${uuid} ${job.job}`
    if (this.#openJobs.has(jobKey)) {
      this.#requestedAgain.add(jobKey)
      return
    }
    this.#openJobs.add(jobKey)
    const queueKey = `${uuid} ${isIndependentJob(job) && 'task' in job ? `${job.task} is merged` : job.member}`
    const done = this.#queue
      .run(queueKey, () => this.#performAndAnswer(uuid, job))
      .then((isAnswered) => {
        this.#openJobs.delete(jobKey)
        // The crew ended and was resumed while the job was being aborted.
        if (this.#requestedAgain.delete(jobKey) && !isAnswered) this.perform(effect)
      })
    this.#runDetached(effect, done)
  }

  #runDetached({ type, uuid }: CrewEffect, done: Promise<void>): void {
    done.catch((error: unknown) => this.#deps.log(`${type} of crew ${uuid} failed`, error))
  }

  /** Aborts the running commands. Their jobs are not answered. */
  stop(): Promise<void> {
    return this.#running.stop()
  }

  /** Aborts the commands that committed facts make obsolete, and continues the jobs that wait for these facts. */
  onFacts(facts: readonly StoredFact[]): void {
    this.#running.abortObsolete(facts)
    if (this.#worktreeWaiters.size === 0) return
    for (const {
      uuid,
      body: { type },
    } of facts) {
      if (type !== 'worktree.made' && type !== 'process.exited' && type !== 'process.reaped') continue
      const resumeCallbacks = this.#worktreeWaiters.get(uuid) ?? []
      this.#worktreeWaiters.delete(uuid)
      for (const resume of resumeCallbacks) resume()
    }
  }

  /** Performs a job and sends its result to the crew. Returns whether the crew closed the job. Never rejects. */
  async #performAndAnswer(uuid: Uuid, job: Job): Promise<boolean> {
    const { log, pipeline } = this.#deps
    try {
      const result = await this.#perform(uuid, job)
      if (result) await pipeline().request({ type: 'crew', by: 'system', uuid, command: { type: 'job_done', job: job.job, result } })
      // A job that failed because the disk is full stays open, and is requested again.
      return result !== null && diskFullReason(result) === null
    } catch (error) {
      // An ended crew and a stopping daemon accept no result. The job is requested again when the crew resumes.
      if (!(error instanceof KernelError) || error.code === 'INTERNAL')
        log(`job ${job.job} (${job.type}) of crew ${uuid} was not answered`, error)
      return false
    }
  }

  /** Performs a job and returns its result. Null if the crew has ended or is stopping, so that it needs no result now. */
  async #perform(uuid: Uuid, job: Job): Promise<JobResult | null> {
    if (!this.#deps.table.get(uuid)) return null
    try {
      return await this.#dispatch(uuid, job)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      if (error instanceof ObsoleteJobError) return null
      const crew = this.#deps.table.get(uuid)
      if (!crew || isEnding(crew)) return null
      if (!(error instanceof KernelError) && !(error instanceof GitError))
        this.#deps.log(`job ${job.job} (${job.type}) of crew ${uuid} failed`, error)
      return {
        type: 'error',
        error: error instanceof KernelError ? `${error.message}. ${error.hint}` : error.message,
        ...culpritOf(job, error),
      }
    }
  }

  #dispatch(uuid: Uuid, job: Job): Promise<JobResult> {
    switch (job.type) {
      case 'spawn':
        return this.#spawn(uuid, job.member)
      case 'setup':
        return this.#setUp(uuid, job)
      case 'prepare':
        return this.#prepare(uuid, job)
      case 'brief':
        return this.#brief(uuid, job)
      case 'check':
        return this.#check(uuid, job)
      case 'commit':
        return this.#commit(uuid, job)
      case 'merge':
        return this.#merge(uuid, job)
      case 'land':
        return this.#land(uuid, job)
      case 'verify':
        return this.#verify(uuid, job)
      case 'reset':
        return this.#salvage(uuid, job, (git, work) => git.reset(work))
      case 'park':
        return this.#park(uuid, job)
      case 'salvage':
        return this.#salvage(uuid, job, (git, work) => git.salvage(work))
    }
  }

  async #spawn(uuid: Uuid, id: MemberId): Promise<JobResult> {
    for (let tries = 0; ; tries += 1) {
      const { crew, member } = this.#requireMember(uuid, id)
      if (member.uuid !== null) return { type: 'spawned', uuid: member.uuid }
      try {
        return { type: 'spawned', uuid: await this.#spawnMember(crew, member) }
      } catch (error) {
        const wait = RETRY_WAITS_MS[tries]
        if (wait === undefined || !(error instanceof KernelError) || error.code !== 'RESOURCE_EXHAUSTED') throw error
        await new Promise<void>((resolve) => this.#deps.clock.after(wait, resolve))
      }
    }
  }

  async #spawnMember(crew: Process, member: Member): Promise<Uuid> {
    const { credentials, worktrees, git, pipeline } = this.#deps
    const uuid = uuidv7()
    const memberSpec = await this.#memberSpec(crew, member)
    const worktree = member.role === 'coordinator' ? null : await git.planMemberBranch(crew, member.id)
    const spec = await withRealPaths(worktree ? await worktrees.plan(uuid, memberSpec, worktree) : memberSpec)
    try {
      // A missing key pauses the member with the hold `credentials`, and the user is notified.
      await credentials.resolveAndKeep({ uuid, spec }, credentials.storedKeys(crew.uuid))
      await pipeline().request({ type: 'spawn', by: 'system', uuid, spec, parent: crew.uuid })
    } catch (error) {
      credentials.forget(uuid)
      throw error
    }
    return uuid
  }

  /** The member's spec: the template of its role, with the agent and model that the member was spawned with. */
  async #memberSpec(crew: Process, member: Member): Promise<RunnableSpec> {
    const { role, who } = member
    const template = templateOf(crew, role)
    if (!who) return memberSpec(crew, member, template)
    const specs = await import('../up/member-specs.ts')
    const { spec } = await specs.buildWithTaskAgent(
      template,
      { role, taskAgent: who, crewSecrets: this.#deps.credentials.storedKeys(crew.uuid) },
      this.#deps.templates,
    )
    return memberSpec(crew, member, spec)
  }

  async #prepare(uuid: Uuid, { member: id, task, from, read, keeps }: JobOf<'prepare'>): Promise<JobResult> {
    const member = await this.#waitForFiles(uuid, id)
    const predecessor = from === null ? null : await this.#findProcess(uuid, from)
    const { salvaged, ...files } = await this.#deps.git.prepare(
      { crew: this.#requireCrew(uuid), member, task },
      { from: predecessor, ...(keeps ? { keeps } : {}) },
    )
    const without = from !== null && !predecessor ? { without: `${from} no longer has a process` } : {}
    return { type: 'prepared', ...without, ...files, read: await this.#readFacts(uuid, read), ...(salvaged === null ? {} : { salvaged }) }
  }

  async #brief(uuid: Uuid, { implementer, task, read, commit }: JobOf<'brief'>): Promise<JobResult> {
    const member = implementer === null ? null : await this.#requireProcess(uuid, implementer)
    const location = member
      ? await this.#deps.git.brief({ crew: this.#requireCrew(uuid), member, task }, commit)
      : { dir: null, branch: null, head: null }
    return { type: 'briefed', ...location, read: await this.#readFacts(uuid, read) }
  }

  async #check(uuid: Uuid, { member: id, task, reviewed }: JobOf<'check'>): Promise<JobResult> {
    return {
      type: 'checked',
      ...(await this.#deps.git.check({ crew: this.#requireCrew(uuid), member: await this.#requireProcess(uuid, id), task }, reviewed)),
    }
  }

  async #commit(uuid: Uuid, { member: id, task, ...options }: JobOf<'commit'>): Promise<JobResult> {
    const end = await this.#deps.git.commit({ crew: this.#requireCrew(uuid), member: await this.#requireProcess(uuid, id), task }, options)
    switch (end.type) {
      case 'differs':
        return { type: 'differs', commit: end.commit, from: end.from, files: fileNames(end) }
      case 'conflict':
        return { type: 'conflict', commit: end.commit, files: fileNames(end), branch: end.branch }
      case 'committed':
        return { type: 'committed', commit: end.commit, dirty: false, ...(end.notes.length > 0 ? { output: end.notes.join('; ') } : {}) }
      case 'nothing':
        return { type: 'committed', commit: null, dirty: false }
      case 'uncommitted':
        return { type: 'committed', commit: null, dirty: true, output: `not committed: ${fileNames(end).join(', ')}` }
      case 'refused':
        return { type: 'committed', commit: null, dirty: true, output: end.output }
    }
  }

  async #merge(uuid: Uuid, { member: id, task, commit, patient }: JobOf<'merge'>): Promise<JobResult> {
    const member = await this.#findProcess(uuid, id)
    const merge = () => this.#deps.git.merge({ crew: this.#requireCrew(uuid), member, task }, commit)
    let end = await merge()
    // The head of the branch at the last try; null after a wait for a checked-out branch.
    let head: string | null | undefined
    while (
      patient &&
      (end.type === 'occupied' || (end.type === 'candidate' && head !== null && head !== end.head)) &&
      !this.#requireCrew(uuid).crew?.ending
    ) {
      head = end.type === 'occupied' ? null : end.head
      const ms = end.type === 'occupied' ? FREE_CHECK_MS : UNCHANGED_MS
      await new Promise<void>((resolve) => this.#deps.clock.after(ms, resolve))
      end = await merge()
    }
    switch (end.type) {
      case 'candidate':
        return { type: 'candidate', candidate: end.commit, head: end.head, tree: end.tree }
      case 'merged':
        return { type: 'merged', merged: end.commit }
      case 'conflict':
        return { type: 'conflict', files: end.files, branch: end.branch }
      case 'occupied':
        return { type: 'occupied', reason: end.reason }
      case 'left':
        return { type: 'left', branch: end.branch, reason: end.reason }
    }
  }

  async #land(uuid: Uuid, { member: id, task, ...candidate }: JobOf<'land'>): Promise<JobResult> {
    const member = await this.#findProcess(uuid, id)
    const end = await this.#deps.git.land({ crew: this.#requireCrew(uuid), member, task }, candidate)
    return end.type === 'merged' ? { type: 'merged', merged: end.commit } : end
  }

  async #setUp(uuid: Uuid, job: JobOf<'setup'>): Promise<JobResult> {
    const { git, commands } = this.#deps
    const member = await this.#waitForFiles(uuid, job.member)
    const crew = this.#requireCrew(uuid)
    const setup = crew.spec.crew?.setup
    return this.#running.runAbortable(uuid, job, async (signal) => ({
      type: 'setUp',
      command: setup ? shellLine(setup.command) : null,
      ...(await git.setUp(crew, member, setup ? () => commands.run(member.spec, setup, signal) : null)),
    }))
  }

  async #verify(uuid: Uuid, job: JobOf<'verify'>): Promise<JobResult> {
    const { git, commands } = this.#deps
    const crew = this.#requireCrew(uuid)
    const member = await this.#requireProcess(uuid, job.member)
    const task = crew.crew?.tasks.find(({ id }) => id === job.task)
    const command =
      task && crew.crew && crew.spec.crew ? verifyCommandOf(crew.crew, crew.spec.crew, task, await this.#readFacts(uuid, job.read)) : null
    if (command === null) throw new KernelError('NOT_FOUND', `${job.task} has no verify command`)
    return this.#running.runAbortable(uuid, job, async (signal) => {
      const run = async (cwd = member.spec.cwd, isNew = false): Promise<ShellCommandRun> => {
        const setup = isNew ? crew.spec.crew?.setup : undefined
        const setupRun = setup ? await commands.run({ ...member.spec, cwd }, setup, signal) : null
        if (setup && setupRun && !hasPassed(setupRun))
          return { ...setupRun, output: `setup (${shellLine(setup.command)}) failed:\n${setupRun.output}` }
        return commands.run({ ...member.spec, cwd }, command, signal)
      }
      const files = { crew, member, task: job.task }
      return {
        type: 'verified',
        command: shellLine(command.command),
        ...(await (job.merge ? git.verifyMerged(files, job.merge, run) : git.verify(files, run))),
      }
    })
  }

  async #park(uuid: Uuid, { member: id, task }: JobOf<'park'>): Promise<JobResult> {
    await this.#deps.git.park({ crew: this.#requireCrew(uuid), member: await this.#requireProcess(uuid, id), task })
    return { type: 'parked' }
  }

  async #salvage(
    uuid: Uuid,
    { member: id, task }: JobOf<'reset' | 'salvage'>,
    salvageFiles: (git: CrewGit, on: Parameters<CrewGit['reset']>[0]) => Promise<string | null>,
  ): Promise<JobResult> {
    return {
      type: 'salvaged',
      ref: await salvageFiles(this.#deps.git, { crew: this.#requireCrew(uuid), member: await this.#requireProcess(uuid, id), task }),
    }
  }

  /** Reads the facts with the texts that a decision needs. */
  async #readFacts(uuid: Uuid, seqs: readonly number[]): Promise<CrewFact[]> {
    const facts = await Promise.all(seqs.map(async (seq) => (await this.#deps.store.facts(uuid, seq - 1, 1))[0]))
    return facts.flatMap((fact) => (fact ? [fact.body as CrewFact] : []))
  }

  #requireCrew(uuid: Uuid): Process {
    const crew = this.#deps.table.get(uuid)
    if (!crew?.spec.crew) throw new KernelError('NOT_FOUND', `crew ${uuid} has ended`)
    return crew
  }

  #requireMember(uuid: Uuid, id: MemberId): { readonly crew: Process; readonly member: Member } {
    const crew = this.#requireCrew(uuid)
    const member = crew.crew?.members.find((member) => member.id === id)
    if (!member) throw new KernelError('INTERNAL', `crew ${crew.pid} has no member ${id}`)
    return { crew, member }
  }

  /** The process of a member, dead or alive. Errors: NOT_FOUND. */
  async #requireProcess(uuid: Uuid, id: MemberId): Promise<Process> {
    this.#requireMember(uuid, id)
    const process = await this.#findProcess(uuid, id)
    if (!process) throw new KernelError('NOT_FOUND', `${id} no longer has a process`)
    return process
  }

  /** The process of a member, dead or alive. Null if the process was removed. Errors: those of the store. */
  async #findProcess(uuid: Uuid, id: MemberId): Promise<Process | null> {
    const member = this.#requireCrew(uuid).crew?.members.find((member) => member.id === id)
    if (!member || member.uuid === null) return null
    return this.#deps.table.get(member.uuid) ?? (await this.#deps.store.process(member.uuid)) ?? null
  }

  /**
   * Waits for the member's worktree, which is created when its process starts. Errors: `GitError` if the process ends before that;
   * NOT_FOUND if the process was removed.
   */
  async #waitForFiles(uuid: Uuid, id: MemberId): Promise<Process> {
    for (;;) {
      const process = await this.#requireProcess(uuid, id)
      if (process.spec.worktree === undefined || process.files) return process
      if (!isLiving(process)) throw new GitError(`${id} ended before its files were ready: ${exitReasonOf(process)}`)
      await new Promise<void>((resolve) =>
        this.#worktreeWaiters.set(process.uuid, [...(this.#worktreeWaiters.get(process.uuid) ?? []), resolve]),
      )
    }
  }

  async #retire({ uuid, members, reason }: Extract<CrewEffect, { type: 'crew.retire' }>): Promise<void> {
    for (const member of members) {
      const endedRow = await this.#deps.store.process(member)
      if (endedRow) this.#deps.pipeline().submit({ type: 'retire', uuid: member, endedRow, by: `agent:${uuid}`, reason })
    }
  }

  async #move({ uuid, from, to, all }: Extract<CrewEffect, { type: 'crew.move' }>): Promise<void> {
    const pendingByProcess = (await Promise.all(from.map((source) => this.#pendingMessages(source)))).filter((pending) => pending !== null)
    if (all || pendingByProcess.some(({ messages }) => messages.length > 0))
      this.#deps.pipeline().submit({ type: 'crewMoved', uuid, from: pendingByProcess, to, all })
  }

  async #pendingMessages(uuid: Uuid): Promise<PendingMessages | null> {
    const { table, store } = this.#deps
    const process = table.get(uuid) ?? (await store.process(uuid))
    if (!process) return null
    const facts = await Promise.all(process.queue.map(async ({ seq }) => (await store.facts(uuid, seq - 1, 1))[0]?.body))
    return {
      process,
      messages: facts.flatMap((body) => (body?.type === 'process.queue' ? [{ id: body.id, from: body.from, text: body.text }] : [])),
    }
  }
}

/** The cause of an error: a member with unusable files (`lost`), or a task that would fail with every member (`of`). */
function culpritOf(job: Job, error: Error): Pick<Extract<JobResult, { type: 'error' }>, 'lost' | 'of'> {
  if (error instanceof TaskPreparationError) return { of: 'task' }
  const id = job.type === 'brief' ? job.implementer : job.member
  return error instanceof WorktreeError && id !== null ? { lost: id } : {}
}

/** The reason why a process ended. */
function exitReasonOf({ life }: Process): string {
  return life.state === 'dead' || life.state === 'zombie' ? (life.exit.error ?? life.exit.reason) : 'its process is gone'
}

/** The names of files. A last entry gives the number of the names that are left out. */
function fileNames({ files, more }: { readonly files: readonly string[]; readonly more: number }): readonly string[] {
  return more > 0 ? [...files, `and ${more} more`] : files
}

function templateOf(crew: Process, role: Member['role']): RunnableSpec {
  const template = crew.spec.crew?.roles[role]
  if (!template)
    throw new KernelError(
      'INVALID',
      `crew ${crew.pid} has no template for a ${role}`,
      undefined,
      `It has ${Object.keys(crew.spec.crew?.roles ?? {}).join(', ')}.`,
    )
  return template
}

/** The spec of a member: interactive, a child of the crew, with the crew's restart policy. */
function memberSpec({ uuid }: Process, { id, role }: Member, template: RunnableSpec): RunnableSpec {
  if (!takesMessages({ ...template, interactive: true }))
    throw new KernelError('INVALID', `${template.agent} cannot be a ${role}: it takes no messages while it runs`)
  return {
    ...template,
    name: null,
    interactive: true,
    restart: template.restart ?? { type: 'transient' },
    childId: id,
    member: { crew: uuid, id, role },
  }
}
