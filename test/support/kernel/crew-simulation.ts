// Simulates a crew on the kernel with random acts. Members report or stay silent, fail and are killed; jobs end late, twice or with
// errors; users interfere; daemons die between any two inputs. After each input the crew's row must match its members' processes.
// No message may be lost, and no job may change a member's files during its turn.
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import { areFilesChanging } from '../../../src/kernel/decide/crew-process/file-jobs.ts'
import { MAX_LOSSES_IN_ROW, lastSuccessorOf } from '../../../src/kernel/crew/state/queries.ts'
import type { Command } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Member, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { compareWithFold } from './compare-with-model.ts'
import type { PickNumber } from './random-inputs.ts'
import { CREW_SPEC, MEMBER_SPEC } from './transcript-crew-inputs.ts'
import { DecisionChecker } from './decision-invariants.ts'
import { kernelSpec, World } from './world.ts'
import type { Sender, Uuid } from '../../../src/kernel/model/ids.ts'
import type { MemberId, Phase } from '../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

const CREW_UUID = 'c'
const MAX_TASKS = 6
const AT_WORK: ReadonlySet<Phase> = new Set(['implementing', 'addressing_feedback', 'reviewing'])
type Start = Extract<Effect, { type: 'start' }>
type Move = Extract<Effect, { type: 'crew.move' | 'crew.retire' }>

export class CrewSimulation {
  readonly world = new World(30)
  readonly #checker = new DecisionChecker()
  readonly #pick: PickNumber
  readonly #recentInputs: string[] = []
  /** requested jobs that the daemon has not done; a new daemon does not know them */
  #jobs: Job[] = []
  #starts: Start[] = []
  #moves: Move[] = []
  #sent = new Map<string, MemberId>()
  #reply = 0
  #processCount = 0
  /** the number of added tasks */
  #tasks = 0
  inputs = 0

  constructor(pick: PickNumber, spec: Partial<CrewSpec>) {
    this.#pick = pick
    this.#submit({
      type: 'spawn',
      reply: 0,
      by: 'user',
      uuid: CREW_UUID,
      parent: null,
      spec: kernelSpec({ driver: 'crew', agent: 'crew', model: null, crew: { ...CREW_SPEC, stay: true, ...spec } }),
    })
  }

  get crew(): Process | undefined {
    return this.world.overlay.get(CREW_UUID)
  }

  /** Whether the crew is paused, or not ready yet after the daemon's death. It repeats its requests when it is ready. */
  get #isHeld(): boolean {
    const { crew } = this
    return crew?.life.state === 'running' && (crew.life.holds.length > 0 || crew.life.activity === 'starting')
  }

  get tasks(): readonly Task[] {
    return this.world.row(CREW_UUID)?.crew?.tasks ?? []
  }

  /** Performs one random act that is possible now. With `isFaultless`, all members do their work, and the user does not interfere. */
  play(isFaultless: boolean): void {
    try {
      this.#playEvent(isFaultless)
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\nafter:\n${this.#recentInputs.slice(-25).join('\n')}`, {
        cause: error,
      })
    }
  }

  /** Performs acts without faults until none is left; returns the number of rounds, at most `maxRounds`. */
  playWithoutFaults(maxRounds: number): number {
    for (let round = 0; round < maxRounds; round += 1) {
      if (!this.#isHeld && this.tasks.every(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled')) return round
      this.play(true)
    }
    return maxRounds
  }

  /** Performs the remaining moves, and checks the messages and journals. */
  checkEnd(): void {
    for (let move = this.#moves.shift(); move; move = this.#moves.shift()) this.#performMove(move)
    this.world.commit()
    const { crew } = this.world.row(CREW_UUID) ?? {}
    for (const { id, uuid, state } of crew?.members ?? []) {
      if (uuid === null) continue
      this.#checkMessageOrder(id, uuid)
      const successor = crew ? lastSuccessorOf(crew, id) : undefined
      const unreadCount = this.world.row(uuid)?.queue.length ?? 0
      if (state === 'gone' && successor?.state === 'on' && successor.id !== id && this.world.overlay.get(CREW_UUID))
        requireRule(unreadCount === 0, `${successor.id} takes over all messages of ${id}, not all but ${unreadCount}`)
    }
    for (const uuid of this.world.journal.keys()) failIfWrong(compareWithFold(this.world, uuid))
  }

  /** Checks that the queue has the crew's messages in order, with the introduction first and those of a predecessor included. */
  #checkMessageOrder(id: MemberId, uuid: Uuid): void {
    const messageNumbers = (this.world.journal.get(uuid) ?? []).flatMap(({ body }) =>
      body.type === 'process.queue' && /^\d+$/.test(body.id) && !/^You (take over|coordinate)/.test(body.text) ? [Number(body.id)] : [],
    )
    requireRule(
      messageNumbers.every((number, index) => index === 0 || number > (messageNumbers[index - 1] ?? 0)),
      `${id} got its messages in order, each once: ${messageNumbers.join()}`,
    )
  }

  #playEvent(isFaultless: boolean): void {
    const dice = this.#pick(100)
    if (!isFaultless && dice < 3) return this.#restartDaemon()
    if (!isFaultless && dice < 18) return this.#interfereAsUser()
    if (dice < 24) return this.#advanceClock()
    if (dice < 28) return this.world.commit()
    if (dice < 45) return this.#performDaemonAct(isFaultless)
    if (this.world.dead.get(CREW_UUID) && (isFaultless || this.#pick(4) === 0)) return this.#resumeProcess(CREW_UUID)
    if (isFaultless && this.#pick(20) === 0) this.#resumeCoordinator()
    const rows = [...this.world.overlay.all()].flatMap((uuid) => this.world.overlay.get(uuid) ?? [])
    const row = rows[this.#pick(Math.max(1, rows.length))]
    if (row) this.#playProcess(row, isFaultless)
  }

  /** Resumes, as the user, a coordinator that the user has ended, or replaces one that never began. */
  #resumeCoordinator(): void {
    const coordinators = (this.crew?.crew?.members ?? []).filter(({ role }) => role === 'coordinator')
    const lastCoordinator = coordinators.findLast(({ leave, heir }) => heir === null && (leave?.how === 'lost' || leave?.how === 'stopped'))
    if (!lastCoordinator || coordinators.some(({ state }) => state !== 'gone')) return
    if (lastCoordinator.uuid === null) this.#submitUserCommand({ type: 'replace_worker', member: 'coordinator', summary: 'from the tasks' })
    else if (this.world.dead.get(lastCoordinator.uuid)) this.#resumeProcess(lastCoordinator.uuid)
  }

  /** Performs one act of the daemon: a start, a job or a move, in any order. */
  #performDaemonAct(isFaultless: boolean): void {
    const start = this.#starts.shift()
    if (start) return this.#startProcess(start)
    const move = this.#moves.shift()
    if (move) return this.#performMove(move)
    const job = this.#jobs[this.#pick(Math.max(1, this.#jobs.length))]
    if (!job) return
    // A job's answer may come twice.
    if (isFaultless || this.#pick(6) > 0) this.#jobs = this.#jobs.filter((otherJob) => otherJob !== job)
    this.#answerJob(job, isFaultless)
  }

  #startProcess({ uuid, pid }: Start): void {
    const children = this.world.row(uuid)?.supervision?.children ?? []
    const endedChildren = children.flatMap((child) => (this.world.overlay.get(child.uuid) ? [] : (this.world.dead.get(child.uuid) ?? [])))
    this.#submit({
      type: 'start',
      uuid,
      pid,
      containment: { kind: 'group', path: null, marker: uuid },
      missingKeys: [],
      ...(endedChildren.length > 0 ? { endedChildren } : {}),
    })
  }

  #performMove(effect: Move): void {
    if (effect.type === 'crew.retire') {
      for (const uuid of effect.members) {
        const endedRow = this.world.row(uuid)
        if (endedRow) this.#submit({ type: 'retire', uuid, endedRow, by: 'system', reason: 'the crew is done' })
      }
      return
    }
    const senders = effect.from
      .flatMap((uuid) => this.world.row(uuid) ?? [])
      .map((process) => {
        const texts = (this.world.journal.get(process.uuid) ?? []).flatMap(({ body }) => (body.type === 'process.queue' ? [body] : []))
        return { process, messages: process.queue.flatMap(({ id }) => texts.filter((message) => message.id === id).slice(-1)) }
      })
    this.#submit({ type: 'crewMoved', uuid: CREW_UUID, from: senders, to: effect.to, all: effect.all })
  }

  #answerJob(job: Job, isFaultless: boolean): void {
    if (job.type === 'spawn' && (isFaultless || this.#pick(8) > 0)) {
      const member = this.crew?.crew?.members.find(({ id }) => id === job.member)
      if (!this.crew || member?.uuid) return this.#submitResult(job, { type: 'error', error: 'too late' })
      this.#processCount += 1
      return this.#submit({
        type: 'spawn',
        reply: 0,
        by: 'system',
        uuid: `m${this.#processCount}`,
        parent: CREW_UUID,
        spec: {
          ...MEMBER_SPEC,
          restart: { type: 'transient' },
          childId: job.member,
          member: { crew: CREW_UUID, id: job.member, role: member?.role ?? 'generic' },
        },
      })
    }
    this.#submitResult(job, isFaultless || this.#pick(5) > 0 ? this.#resultOf(job) : { type: 'error', error: 'it broke' })
  }

  #submitResult({ job }: Job, result: JobResult): void {
    this.#submit({ type: 'crew', reply: 0, by: 'system', uuid: CREW_UUID, command: { type: 'job_done', job, result } })
  }

  #resultOf(job: Job): JobResult {
    const facts = this.world.journal.get(CREW_UUID) ?? []
    const read =
      'read' in job ? job.read.flatMap((seq) => facts.filter((fact) => fact.seq === seq).map(({ body }) => body as CrewFact)) : []
    switch (job.type) {
      case 'spawn':
        return { type: 'error', error: 'it cannot begin' }
      case 'setup':
        return { type: 'setUp', command: null, ran: null, copied: 1, skipped: [] }
      case 'prepare':
        return { type: 'prepared', base: 'base', read }
      case 'park':
        return { type: 'parked' }
      case 'brief':
        return { type: 'briefed', dir: '/w', branch: 'b', head: job.commit ?? 'h', read }
      case 'check':
        return { type: 'checked', files: this.#pick(4) === 0 ? ['a.ts'] : [], tasks: [] }
      case 'commit':
        return this.#commitResult(job)
      case 'merge':
        return { type: 'candidate', candidate: `g${job.job}`, head: 'h', tree: this.#pick(2) === 0 ? 't' : 'u' }
      case 'land':
        return { type: 'merged', merged: job.candidate }
      case 'verify':
        return {
          type: 'verified',
          command: 'make',
          ran: { end: 'exited', code: this.#pick(4) === 0 ? 1 : 0, signal: null, ms: 5, output: 'so it is', left: 0 },
          commit: 'v',
          tree: 't',
          changed: [],
        }
      case 'reset':
      case 'salvage':
        return { type: 'salvaged', ref: null }
    }
  }

  /** Usually commits the approved files. Sometimes they need another review, or there is a conflict. */
  #commitResult({ job, reviewed, instead }: Extract<Job, { type: 'commit' }>): JobResult {
    const commit = `c${job}`
    if (this.#pick(6) === 0) return { type: 'conflict', commit, files: ['a.ts'] }
    if (reviewed?.startsWith('c')) return { type: 'committed', commit: reviewed, dirty: false }
    return reviewed !== undefined && !instead && this.#pick(5) === 0
      ? { type: 'differs', commit, from: reviewed, files: ['a.ts'] }
      : { type: 'committed', commit, dirty: false }
  }

  #interfereAsUser(): void {
    const { members = [] } = this.world.row(CREW_UUID)?.crew ?? {}
    const member = members[this.#pick(Math.max(1, members.length))]
    const { tasks } = this
    const task = tasks[this.#pick(Math.max(1, tasks.length))]?.id ?? 'none'
    const id = member?.id ?? 'worker-1'
    const isLead = member?.role === 'coordinator'
    const uuid = member?.uuid ?? CREW_UUID
    const target = this.#pick(4) === 0 ? CREW_UUID : uuid
    switch (this.#pick(11)) {
      case 0:
      case 1:
        return this.#addTask()
      case 2:
        return this.#submitUserCommand({ type: 'send_message', to: id, text: `hello ${this.inputs}` })
      case 3:
        return this.#submitUserCommand({ type: 'retire_worker', member: id, reason: 'enough' })
      case 4:
        return this.#submitUserCommand({ type: 'stop_worker', member: id, reason: 'later' })
      case 5:
        return isLead && this.#pick(3) > 0 ? undefined : this.#submitUserCommand({ type: 'replace_worker', member: id, summary: 'halfway' })
      case 6:
        return this.#submitUserCommand({ type: 'cancel_task', task, reason: 'wrong', requeue: this.#pick(2) === 0 })
      case 7:
        return this.#submitUserCommand({ type: 'assign_task', task, member: id })
      case 8:
        return this.#sendSignal(target, this.#pick(2) === 0 ? 'SIGTERM' : 'SIGKILL')
      case 9:
        return this.#sendSignal(target, 'SIGPAUSE')
      default:
        return this.#resumeProcess(target)
    }
  }

  #addTask(): void {
    if (this.#tasks >= MAX_TASKS) return
    this.#tasks += 1
    const needs = this.#tasks > 1 && this.#pick(3) === 0 ? [`t${this.#tasks - 1}`] : []
    this.#submitUserCommand({
      type: 'add_task',
      id: `t${this.#tasks}`,
      title: 'a task',
      text: 'do it',
      needs,
      ...(this.#pick(6) === 0 ? { kind: 'human' as const } : {}),
    })
  }

  #submitUserCommand(command: Command): void {
    this.#submit({ type: 'crew', reply: 0, by: 'user', uuid: CREW_UUID, command })
  }

  #sendSignal(uuid: Uuid, signal: 'SIGTERM' | 'SIGKILL' | 'SIGPAUSE'): void {
    if (this.world.overlay.get(uuid))
      this.#submit({ type: 'signal', reply: 0, by: 'user', uuid, signal, subtree: this.#pick(2) === 0, graceMs: null, freeze: false })
  }

  #resumeProcess(uuid: Uuid): void {
    this.#submit({
      type: 'resume',
      reply: 0,
      by: 'user',
      uuid,
      endedRow: this.world.dead.get(uuid) ?? null,
      subtree: true,
      only: false,
      rerun: false,
      message: null,
      spec: null,
    })
  }

  /** Performs the next act of a process. */
  #playProcess(row: Process, isFaultless: boolean): void {
    const { uuid, pid, life } = row
    if (life.state === 'zombie') return this.#submit({ type: 'released', uuid, pid, survivors: [] })
    if (life.state !== 'running') return
    if (life.holds.length > 0 && !life.stopping) return isFaultless ? this.#resumeProcess(uuid) : undefined
    if (!life.attached) return
    if (life.stopping) return this.#submitReport(row, { type: 'exited', code: 0, osSignal: null })
    if (life.activity === 'starting') return this.#submitReport(row, { type: 'up' })
    if (uuid === CREW_UUID) return this.#answerAsk(row)
    if (life.activity === 'working') this.#playTurn(row, isFaultless)
    // The user asks an idle coordinator a question.
    else if (isFaultless && row.spec.member?.role === 'coordinator')
      this.#submit({ type: 'send', reply: 0, by: 'user', uuid, id: `p${this.inputs}`, text: 'how does it go?' })
    else if (!isFaultless && this.#pick(30) === 0)
      this.#submitReport(row, { type: 'exited', code: 1, osSignal: null, error: `boom ${this.#pick(3)}` })
  }

  #answerAsk({ asks = [] }: Process): void {
    const [ask] = asks
    if (ask)
      this.#submit({
        type: 'answer',
        reply: 0,
        by: 'user',
        uuid: CREW_UUID,
        id: ask.id,
        option: ask.options[0]?.id ?? null,
        text: ask.options.length > 0 ? null : 'blue',
      })
  }

  /** A working member may call a tool, and ends its turn. */
  #playTurn(row: Process, isFaultless: boolean): void {
    const dice = this.#pick(10)
    if (!isFaultless && dice === 0)
      return this.#submitReport(row, { type: 'exited', code: 1, osSignal: null, error: `boom ${this.#pick(3)}` })
    if (dice < 5 || (isFaultless && !this.#memberOf(row)?.turn.answered)) this.#callTool(row, isFaultless)
    if (dice >= 4)
      this.#submitReport(row, { type: 'turn.ended', turn: row.progress.turn, outcome: !isFaultless && dice === 9 ? 'error' : 'ok' })
  }

  #memberOf({ spec }: Process): Member | undefined {
    return this.crew?.crew?.members.find(({ id }) => id === spec.member?.id)
  }

  #callTool(row: Process, isFaultless: boolean): void {
    const member = this.#memberOf(row)
    const isLate = !isFaultless && this.#pick(10) === 0
    const issuer: Sender = `agent:${row.uuid}`
    this.#submit({
      type: 'crew',
      reply: 0,
      by: issuer,
      uuid: CREW_UUID,
      command: this.#toolOf(member, isFaultless),
      call: { pid: isLate ? row.pid - 1 : row.pid, turn: row.progress.turn, id: this.#pick(2) === 0 ? null : `k${this.#pick(5)}` },
    })
  }

  #toolOf(member: Member | undefined, isFaultless: boolean): Command {
    if (member?.role === 'coordinator') return this.#coordinatorCommand()
    if (!isFaultless && this.#pick(4) === 0) return { type: 'post_message', to: 'coordinator', text: 'hm' }
    switch (member?.phase) {
      case 'implementing':
      case 'addressing_feedback':
        return { type: 'report_implementation_complete', summary: 'did it' }
      case 'reviewing':
        return { type: 'report_review_verdict', verdict: isFaultless || this.#pick(3) > 0 ? 'APPROVED' : 'DENIED', comments: 'so' }
      default:
        return { type: 'signal_ready' }
    }
  }

  /** The coordinator's next command; it may be refused. */
  #coordinatorCommand(): Command {
    const members = this.crew?.crew?.members ?? []
    // Members that ended their turn without the expected report.
    const silent = members.find(
      ({ role, state, phase, turn, told }) =>
        role !== 'coordinator' &&
        state === 'on' &&
        AT_WORK.has(phase) &&
        turn.open === null &&
        (turn.reminders > 1 || (turn.answered && !told)),
    )
    if (silent) return { type: 'send_message', to: silent.id, text: 'go on' }
    const workers = members.filter(({ role, state, phase }) => role !== 'coordinator' && state === 'on' && phase === 'idle')
    const openTasks = this.tasks.filter(({ state }) => state === 'awaiting_review' || state === 'queued')
    const [worker, task] = [workers[this.#pick(Math.max(1, workers.length))], openTasks[this.#pick(Math.max(1, openTasks.length))]]
    // Another worker has refused the task.
    if (!worker && task && (this.crew?.crew?.fruitless ?? 0) >= MAX_LOSSES_IN_ROW)
      return { type: 'mark_task_failed', task: task.id, reason: 'no member can do it' }
    // An idle worker that had the task before cannot review it.
    if (!worker || this.#pick(10) === 0) return { type: 'spawn_worker', role: 'generic' }
    if (!task) return { type: 'notify_user', text: 'nothing to do' }
    return task.state === 'queued'
      ? { type: 'assign_task', task: task.id, member: worker.id }
      : { type: 'assign_review', task: task.id, member: worker.id }
  }

  #submitReport({ uuid, pid }: Process, report: Extract<InputBody, { type: 'report' }>['report']): void {
    this.#submit({ type: 'report', reply: 0, uuid, pid, report })
  }

  #advanceClock(): void {
    this.world.wind(20_000)
    for (const uuid of [...this.world.overlay.all()]) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) this.#submit({ type: 'tick', uuid })
    }
  }

  /** Forgets the daemon's pending acts, and boots the rows in the order of the table. */
  #restartDaemon(): void {
    this.world.restart(1 + this.#pick(500))
    this.#jobs = []
    this.#starts = []
    this.#moves = []
    for (const uuid of [...this.world.overlay.all()]) this.#submit({ type: 'boot', uuid, survivors: [] })
  }

  #submit(body: InputBody): void {
    this.#reply += 1
    const input = 'reply' in body ? { ...body, reply: this.#reply } : body
    this.#recentInputs.push(
      JSON.stringify(input, (key, value: unknown) =>
        ['spec', 'endedRow', 'endedChildren', 'containment', 'read'].includes(key) || (key === 'from' && typeof value === 'object')
          ? undefined
          : value,
      ),
    )
    this.inputs += 1
    const decision = this.world.step(input)
    this.#checker.check(input, decision)
    for (const effect of decision.effects) {
      if (effect.type === 'crew.job') this.#jobs.push(effect.job)
      else if (effect.type === 'start') this.#starts.push(effect)
      else if (effect.type === 'crew.move' || effect.type === 'crew.retire') this.#moves.push(effect)
      else if (effect.type === 'refuse' && effect.code === 'INTERNAL') throw new Error(`refused: ${effect.message}`)
    }
    for (const { uuid, body: fact } of decision.changes.facts) {
      // Jobs stop when their crew is reaped.
      if (fact.type === 'process.reaped' && uuid === CREW_UUID) this.#jobs = []
      if (fact.type === 'crew.sent') this.#sent.set(String(fact.message), fact.to)
      if (fact.type === 'process.queue') this.#sent.delete(fact.id.split('/').at(-1) ?? '')
      if (fact.type === 'process.error' && INPUT_ERROR.test(fact.message))
        throw new Error(`the crew did not take an input: ${fact.message}`)
    }
    this.#checkRules()
  }

  /** The invariants after every input. */
  #checkRules(): void {
    requireRule(this.#sent.size === 0, `message ${[...this.#sent.keys()].join()} is in a queue in the commit that sends it`)
    const crew = this.crew
    if (!crew?.crew || crew.life.state !== 'running' || !crew.life.attached || crew.life.stopping) return
    requireRule(crew.crew.members.filter(({ phase }) => phase === 'committing').length <= 1, 'only one member commits at a time')
    for (const member of crew.crew.members) this.#checkMember(crew, member)
  }

  #checkMember(crew: Process, { id, uuid, state, turn, held, phase }: Member): void {
    if (uuid === null || state === 'gone' || state === 'starting') return
    const row = this.world.overlay.get(uuid)
    requireRule(row !== undefined, `${id} is ${state}, and has a process`)
    if (row.life.state !== 'running') return
    requireRule(crew.supervision?.children.some((child) => child.uuid === uuid) === true, `${id} is supervised by its crew`)
    requireRule(row.life.stopping !== null || held === row.life.holds.length > 0, `${id} is held (${held}) as its process is`)
    if (row.life.attached && row.life.activity === 'working' && row.life.stopping === null)
      requireRule(turn.open === row.progress.turn, `the open turn of ${id} is ${row.progress.turn}, and its crew knows ${turn.open}`)
    if (row.life.activity === 'ready')
      requireRule(turn.open === null || row.progress.turnOpen || row.life.stopping !== null, `${id} is ready and has no open turn`)
    if (row.life.activity === 'ready' && row.life.attached && row.life.holds.length === 0 && row.life.stopping === null)
      requireRule(row.queue.length === 0 || areFilesChanging(this.world.overlay, row), `${id} is ready and has no unread message`)
    if (phase === 'committing' && state === 'on')
      requireRule(row.signals.mask.includes('SIGTERM'), `${id} cannot be ended while it commits`)
    requireRule(row.parent === CREW_UUID || row.spec.member?.role !== 'coordinator', `${id} is a child of its crew`)
    if (row.life.activity === 'working')
      requireRule(
        !areFilesChanging(this.world.overlay, row) ||
          !this.#jobs.some((job) => job.member === id && crew.crew?.jobs.some((openJob) => openJob.job === job.job)) ||
          !row.progress.turnOpen,
        `no job changes the files of ${id} during its turn`,
      )
  }
}

/** Matches errors about inputs that the kernel could not apply to a crew. */
const INPUT_ERROR = /^(begin|woken|member_\w+|turn_\w+|answered): /

function requireRule(isKept: boolean, rule: string): asserts isKept {
  if (!isKept) throw new Error(`broken: ${rule}`)
}

function failIfWrong(violation: string | null): void {
  if (violation !== null) throw new Error(violation)
}
