// A life of a crew in the kernel by chance: members that report, or do not, fail and are killed; jobs that are answered late, twice or
// with an error; people who interfere; daemons that die between any two inputs. After each input the rules are looked at: what the
// crew's row says of its members is what their processes do, no message is lost, and nobody's files change in a turn.
import { deadlineOf } from '../../../src/kernel/deadline.ts'
import { areFilesChanged } from '../../../src/kernel/crew-jobs.ts'
import { MAX_FRUITLESS } from '../../../src/crew/leading.ts'
import { successorOf } from '../../../src/crew/finding.ts'
import type { Command } from '../../../src/crew/commands.ts'
import type { CrewFact } from '../../../src/crew/facts.ts'
import type { CrewSpec, Job, JobResult, Member, MemberId, Phase, Task } from '../../../src/crew/types.ts'
import type { Effect } from '../../../src/kernel/effects.ts'
import type { InputBody } from '../../../src/kernel/inputs.ts'
import type { Process, Sender, Uuid } from '../../../src/kernel/types.ts'
import { compareFold } from './compare.ts'
import type { Pick } from './random.ts'
import { CREW, TEMPLATE } from './script-crew.ts'
import { Watch } from './watch.ts'
import { kernelSpec, World } from './world.ts'

const CREW_UUID = 'c'
const MAX_TASKS = 6
const AT_WORK: ReadonlySet<Phase> = new Set(['implementing', 'addressing_feedback', 'reviewing'])
type Start = Extract<Effect, { type: 'start' }>
type Move = Extract<Effect, { type: 'crew.move' | 'crew.retire' }>

export class CrewLife {
  readonly world = new World(30)
  readonly #watch = new Watch()
  readonly #pick: Pick
  readonly #last: string[] = []
  /** what the daemon was asked to do and has not done; gone with it */
  #jobs: Job[] = []
  #starts: Start[] = []
  #moves: Move[] = []
  #sent = new Map<string, MemberId>()
  #reply = 0
  #born = 0
  /** tasks that were added */
  #tasks = 0
  inputs = 0

  constructor(pick: Pick, spec: Partial<CrewSpec>) {
    this.#pick = pick
    this.#input({ type: 'spawn', reply: 0, by: 'user', uuid: CREW_UUID, parent: null, spec: kernelSpec({ driver: 'crew', agent: 'crew', model: null, crew: { ...CREW, stay: true, ...spec } }) })
  }

  get crew(): Process | undefined {
    return this.world.overlay.get(CREW_UUID)
  }

  get tasks(): readonly Task[] {
    return this.world.row(CREW_UUID)?.crew?.tasks ?? []
  }

  /** One thing that may happen. `kind`: nobody interferes, all do their work. */
  play(kind: boolean): void {
    try {
      this.#play(kind)
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\nafter:\n${this.#last.slice(-25).join('\n')}`, { cause: error })
    }
  }

  /** Everything that somebody waits for happens, until nothing does: how many rounds that took, at most `most`. */
  quiet(most: number): number {
    for (let round = 0; round < most; round += 1) {
      if (this.tasks.every(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled')) return round
      this.play(true)
    }
    return most
  }

  end(): void {
    for (let move = this.#moves.shift(); move; move = this.#moves.shift()) this.#move(move)
    this.world.commit()
    const { crew } = this.world.row(CREW_UUID) ?? {}
    for (const { id, uuid, state } of crew?.members ?? []) {
      if (uuid === null) continue
      this.#inOrder(id, uuid)
      const heir = crew ? successorOf(crew, id) : undefined
      const left = this.world.row(uuid)?.queue.length ?? 0
      if (state === 'gone' && heir?.state === 'on' && heir.id !== id && this.world.overlay.get(CREW_UUID)) must(left === 0, `${id} left ${left} messages, and ${heir.id} came after it`)
    }
    for (const uuid of this.world.journal.keys()) fail(compareFold(this.world, uuid))
  }

  /** What the crew wrote is queued in its order, also what came from a predecessor; what one is told as it comes is first. */
  #inOrder(id: MemberId, uuid: Uuid): void {
    const own = (this.world.journal.get(uuid) ?? []).flatMap(({ body }) => (body.type === 'process.queue' && /^\d+$/.test(body.id) && !/^You (take over|coordinate)/.test(body.text) ? [Number(body.id)] : []))
    must(own.every((number, index) => index === 0 || number > (own[index - 1] ?? 0)), `${id} got its messages in order, each once: ${own.join()}`)
  }

  #play(kind: boolean): void {
    const dice = this.#pick(100)
    if (!kind && dice < 3) return this.#restart()
    if (!kind && dice < 18) return this.#interfere()
    if (dice < 24) return this.#wind()
    if (dice < 28) return this.world.commit()
    if (dice < 45) return this.#daemon(kind)
    if (this.world.dead.get(CREW_UUID) && (kind || this.#pick(4) === 0)) return this.#resume(CREW_UUID)
    if (kind && this.#pick(20) === 0) this.#bringLead()
    const rows = [...this.world.overlay.all()].flatMap((uuid) => this.world.overlay.get(uuid) ?? [])
    const row = rows[this.#pick(Math.max(1, rows.length))]
    if (row) this.#goOn(row, kind)
  }

  /** A coordinator that a person has ended is a person's to bring back. */
  #bringLead(): void {
    const leads = (this.crew?.crew?.members ?? []).filter(({ role }) => role === 'coordinator')
    const last = leads.findLast(({ uuid, leave, heir }) => uuid !== null && heir === null && (leave?.how === 'lost' || leave?.how === 'stopped'))
    if (last?.uuid && leads.every(({ state }) => state === 'gone') && this.world.dead.get(last.uuid)) this.#resume(last.uuid)
  }

  /** What the daemon has to do: starts, jobs, moves, in any order. */
  #daemon(kind: boolean): void {
    const start = this.#starts.shift()
    if (start) return this.#start(start)
    const move = this.#moves.shift()
    if (move) return this.#move(move)
    const job = this.#jobs[this.#pick(Math.max(1, this.#jobs.length))]
    if (!job) return
    // An answer may be given twice.
    if (kind || this.#pick(6) > 0) this.#jobs = this.#jobs.filter((one) => one !== job)
    this.#answer(job, kind)
  }

  #start({ uuid, pid }: Start): void {
    const children = this.world.row(uuid)?.supervision?.children ?? []
    const kin = children.flatMap((child) => (this.world.overlay.get(child.uuid) ? [] : (this.world.dead.get(child.uuid) ?? [])))
    this.#input({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: uuid }, missingKeys: [], ...(kin.length > 0 ? { kin } : {}) })
  }

  #move(effect: Move): void {
    if (effect.type === 'crew.retire') {
      for (const uuid of effect.members) {
        const frozen = this.world.row(uuid)
        if (frozen) this.#input({ type: 'retire', uuid, frozen, by: 'system', reason: 'the crew is done' })
      }
      return
    }
    const from = effect.from.flatMap((uuid) => this.world.row(uuid) ?? []).map((process) => {
      const texts = (this.world.journal.get(process.uuid) ?? []).flatMap(({ body }) => (body.type === 'process.queue' ? [body] : []))
      return { process, messages: process.queue.flatMap(({ id }) => texts.filter((one) => one.id === id).slice(-1)) }
    })
    this.#input({ type: 'crewMoved', uuid: CREW_UUID, from, to: effect.to, all: effect.all })
  }

  #answer(job: Job, kind: boolean): void {
    if (job.type === 'spawn' && (kind || this.#pick(8) > 0)) {
      const member = this.crew?.crew?.members.find(({ id }) => id === job.member)
      if (!this.crew || member?.uuid) return this.#done(job, { type: 'error', error: 'too late' })
      this.#born += 1
      return this.#input({ type: 'spawn', reply: 0, by: 'system', uuid: `m${this.#born}`, parent: CREW_UUID, spec: { ...TEMPLATE, restart: { type: 'transient' }, childId: job.member, member: { crew: CREW_UUID, id: job.member, role: member?.role ?? 'generic' } } })
    }
    this.#done(job, kind || this.#pick(5) > 0 ? this.#result(job) : { type: 'error', error: 'it broke' })
  }

  #done({ job }: Job, result: JobResult): void {
    this.#input({ type: 'crew', reply: 0, by: 'system', uuid: CREW_UUID, command: { type: 'job_done', job, result } })
  }

  #result(job: Job): JobResult {
    const facts = this.world.journal.get(CREW_UUID) ?? []
    const read = 'read' in job ? job.read.flatMap((seq) => facts.filter((fact) => fact.seq === seq).map(({ body }) => body as CrewFact)) : []
    switch (job.type) {
      case 'spawn': return { type: 'error', error: 'it cannot begin' }
      case 'prepare': return { type: 'prepared', base: 'base', read }
      case 'brief': return { type: 'briefed', dir: '/w', branch: 'b', head: 'h', read }
      case 'commit': return { type: 'committed', commit: `c${job.job}`, dirty: false }
      case 'merge': return { type: 'merged', merged: `g${job.job}` }
      case 'reset':
      case 'salvage': return { type: 'salvaged', ref: null }
    }
  }

  #interfere(): void {
    const { members = [] } = this.world.row(CREW_UUID)?.crew ?? {}
    const member = members[this.#pick(Math.max(1, members.length))]
    const { tasks } = this
    const task = tasks[this.#pick(Math.max(1, tasks.length))]?.id ?? 'none'
    const id = member?.id ?? 'worker-1'
    const isLead = member?.role === 'coordinator'
    const uuid = member?.uuid ?? CREW_UUID
    const whom = this.#pick(4) === 0 ? CREW_UUID : uuid
    switch (this.#pick(11)) {
      case 0:
      case 1: return this.#addTask()
      case 2: return this.#person({ type: 'send_message', to: id, text: `hello ${this.inputs}` })
      case 3: return this.#person({ type: 'retire_worker', member: id, reason: 'enough' })
      case 4: return this.#person({ type: 'stop_worker', member: id, reason: 'later' })
      case 5: return isLead && this.#pick(3) > 0 ? undefined : this.#person({ type: 'replace_worker', member: id, summary: 'halfway' })
      case 6: return this.#person({ type: 'cancel_task', task, reason: 'wrong', requeue: this.#pick(2) === 0 })
      case 7: return this.#person({ type: 'assign_task', task, member: id })
      case 8: return this.#signal(whom, this.#pick(2) === 0 ? 'SIGTERM' : 'SIGKILL')
      case 9: return this.#signal(whom, 'SIGPAUSE')
      default: return this.#resume(whom)
    }
  }

  #addTask(): void {
    if (this.#tasks >= MAX_TASKS) return
    this.#tasks += 1
    const needs = this.#tasks > 1 && this.#pick(3) === 0 ? [`t${this.#tasks - 1}`] : []
    this.#person({ type: 'add_task', id: `t${this.#tasks}`, title: 'a task', text: 'do it', needs, ...(this.#pick(6) === 0 ? { kind: 'human' as const } : {}) })
  }

  #person(command: Command): void {
    this.#input({ type: 'crew', reply: 0, by: 'user', uuid: CREW_UUID, command })
  }

  #signal(uuid: Uuid, signal: 'SIGTERM' | 'SIGKILL' | 'SIGPAUSE'): void {
    if (this.world.overlay.get(uuid)) this.#input({ type: 'signal', reply: 0, by: 'user', uuid, signal, subtree: this.#pick(2) === 0, graceMs: null, freeze: false })
  }

  #resume(uuid: Uuid): void {
    this.#input({ type: 'resume', reply: 0, by: 'user', uuid, frozen: this.world.dead.get(uuid) ?? null, subtree: true, only: false, rerun: false, message: null, spec: null })
  }

  /** What a process does next by itself. */
  #goOn(row: Process, kind: boolean): void {
    const { uuid, pid, life } = row
    if (life.state === 'zombie') return this.#input({ type: 'released', uuid, pid, survivors: [] })
    if (life.state !== 'running') return
    if (life.holds.length > 0 && !life.stopping) return kind ? this.#resume(uuid) : undefined
    if (!life.attached) return
    if (life.stopping) return this.#report(row, { type: 'exited', code: 0, osSignal: null })
    if (life.activity === 'starting') return this.#report(row, { type: 'up' })
    if (uuid === CREW_UUID) return this.#answerAsk(row)
    if (life.activity === 'working') this.#turn(row, kind)
    // A coordinator that has come to nothing is asked how it goes.
    else if (kind && row.spec.member?.role === 'coordinator') this.#input({ type: 'send', reply: 0, by: 'user', uuid, id: `p${this.inputs}`, text: 'how does it go?' })
    else if (!kind && this.#pick(30) === 0) this.#report(row, { type: 'exited', code: 1, osSignal: null, error: `boom ${this.#pick(3)}` })
  }

  #answerAsk({ asks = [] }: Process): void {
    const [open] = asks
    if (open) this.#input({ type: 'answer', reply: 0, by: 'user', uuid: CREW_UUID, id: open.id, option: open.options[0]?.id ?? null, text: open.options.length > 0 ? null : 'blue' })
  }

  /** A member that works calls a tool, or not, and ends its turn. */
  #turn(row: Process, kind: boolean): void {
    const dice = this.#pick(10)
    if (!kind && dice === 0) return this.#report(row, { type: 'exited', code: 1, osSignal: null, error: `boom ${this.#pick(3)}` })
    if (dice < 5 || (kind && !this.#memberOf(row)?.turn.answered)) this.#call(row, kind)
    if (dice >= 4) this.#report(row, { type: 'turn.ended', turn: row.progress.turn, outcome: !kind && dice === 9 ? 'error' : 'ok' })
  }

  #memberOf({ spec }: Process): Member | undefined {
    return this.crew?.crew?.members.find(({ id }) => id === spec.member?.id)
  }

  #call(row: Process, kind: boolean): void {
    const member = this.#memberOf(row)
    const late = !kind && this.#pick(10) === 0
    const by: Sender = `agent:${row.uuid}`
    this.#input({ type: 'crew', reply: 0, by, uuid: CREW_UUID, command: this.#toolOf(member, kind), call: { pid: late ? row.pid - 1 : row.pid, turn: row.progress.turn, id: this.#pick(2) === 0 ? null : `k${this.#pick(5)}` } })
  }

  #toolOf(member: Member | undefined, kind: boolean): Command {
    if (member?.role === 'coordinator') return this.#leads()
    if (!kind && this.#pick(4) === 0) return { type: 'post_message', to: 'coordinator', text: 'hm' }
    switch (member?.phase) {
      case 'implementing':
      case 'addressing_feedback': return { type: 'report_implementation_complete', summary: 'did it' }
      case 'reviewing': return { type: 'report_review_verdict', verdict: kind || this.#pick(3) > 0 ? 'APPROVED' : 'DENIED', comments: 'so' }
      default: return { type: 'signal_ready' }
    }
  }

  /** What a coordinator says next; it may be refused. */
  #leads(): Command {
    const members = this.crew?.crew?.members ?? []
    // Let through, or it said something and not that it is done.
    const silent = members.find(({ role, state, phase, turn, told }) => role !== 'coordinator' && state === 'on' && AT_WORK.has(phase) && turn.open === null && (turn.reminders > 1 || (turn.answered && !told)))
    if (silent) return { type: 'send_message', to: silent.id, text: 'go on' }
    const workers = members.filter(({ role, state, phase }) => role !== 'coordinator' && state === 'on' && phase === 'idle')
    const open = this.tasks.filter(({ state }) => state === 'awaiting_review' || state === 'queued')
    const [worker, task] = [workers[this.#pick(Math.max(1, workers.length))], open[this.#pick(Math.max(1, open.length))]]
    // It does what the refusal of another worker tells it to.
    if (!worker && task && (this.crew?.crew?.fruitless ?? 0) >= MAX_FRUITLESS) return { type: 'mark_task_failed', task: task.id, reason: 'nobody can do it' }
    // Who is idle may have had the task, and then does not review it.
    if (!worker || this.#pick(10) === 0) return { type: 'spawn_worker', role: 'generic' }
    if (!task) return { type: 'notify_user', text: 'nothing to do' }
    return task.state === 'queued' ? { type: 'assign_task', task: task.id, member: worker.id } : { type: 'assign_review', task: task.id, member: worker.id }
  }

  #report({ uuid, pid }: Process, report: Extract<InputBody, { type: 'report' }>['report']): void {
    this.#input({ type: 'report', reply: 0, uuid, pid, report })
  }

  #wind(): void {
    this.world.wind(20_000)
    for (const uuid of [...this.world.overlay.all()]) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) this.#input({ type: 'tick', uuid })
    }
  }

  /** What the daemon was about to do is forgotten; the rows are booted in the order of the table. */
  #restart(): void {
    this.world.restart(1 + this.#pick(500))
    this.#jobs = []
    this.#starts = []
    this.#moves = []
    for (const uuid of [...this.world.overlay.all()]) this.#input({ type: 'boot', uuid, survivors: [] })
  }

  #input(body: InputBody): void {
    this.#reply += 1
    const input = 'reply' in body ? { ...body, reply: this.#reply } : body
    this.#last.push(JSON.stringify(input, (key, value: unknown) => (['spec', 'frozen', 'kin', 'containment', 'read'].includes(key) || (key === 'from' && typeof value === 'object') ? undefined : value)))
    this.inputs += 1
    const decision = this.world.step(input as InputBody)
    this.#watch.check(input as InputBody, decision)
    for (const effect of decision.effects) {
      if (effect.type === 'crew.job') this.#jobs.push(effect.job)
      else if (effect.type === 'start') this.#starts.push(effect)
      else if (effect.type === 'crew.move' || effect.type === 'crew.retire') this.#moves.push(effect)
      else if (effect.type === 'refuse' && effect.code === 'INTERNAL') throw new Error(`refused: ${effect.message}`)
    }
    for (const { uuid, body: fact } of decision.changes.facts) {
      // What is under way is broken off with its crew.
      if (fact.type === 'process.reaped' && uuid === CREW_UUID) this.#jobs = []
      if (fact.type === 'crew.sent') this.#sent.set(String(fact.message), fact.to)
      if (fact.type === 'process.queue') this.#sent.delete(fact.id.split('/').at(-1) ?? '')
      if (fact.type === 'process.error' && TOLD.test(fact.message)) throw new Error(`the crew could not be told: ${fact.message}`)
    }
    this.#rules()
  }

  /** What holds after every input. */
  #rules(): void {
    must(this.#sent.size === 0, `message ${[...this.#sent.keys()].join()} is in a queue with the commit that says so`)
    const crew = this.crew
    if (!crew?.crew || crew.life.state !== 'running' || !crew.life.attached || crew.life.stopping) return
    must(crew.crew.members.filter(({ phase }) => phase === 'committing').length <= 1, 'one commits at a time')
    for (const member of crew.crew.members) this.#memberRules(crew, member)
  }

  #memberRules(crew: Process, { id, uuid, state, turn, held, phase }: Member): void {
    if (uuid === null || state === 'gone' || state === 'starting') return
    const row = this.world.overlay.get(uuid)
    must(row !== undefined, `${id} is ${state}, and has a process`)
    if (row.life.state !== 'running') return
    must(crew.supervision?.children.some((child) => child.uuid === uuid) === true, `${id} is kept by its crew`)
    must(row.life.stopping !== null || held === row.life.holds.length > 0, `${id} is held (${held}) as its process is`)
    if (row.life.attached && row.life.activity === 'working' && row.life.stopping === null) must(turn.open === row.progress.turn, `the open turn of ${id} is ${row.progress.turn}, and its crew knows ${turn.open}`)
    if (row.life.activity === 'ready') must(turn.open === null || row.progress.turnOpen || row.life.stopping !== null, `${id} is in no turn`)
    if (row.life.activity === 'ready' && row.life.attached && row.life.holds.length === 0 && row.life.stopping === null) must(row.queue.length === 0 || areFilesChanged(this.world.overlay, row), `${id} reads what waits`)
    if (phase === 'committing' && state === 'on') must(row.signals.mask.includes('SIGTERM'), `${id} cannot be ended while it commits`)
    must(row.parent === CREW_UUID || row.spec.member?.role !== 'coordinator', `${id} stands below its crew`)
    if (row.life.activity === 'working') must(!areFilesChanged(this.world.overlay, row) || !this.#jobs.some((job) => job.member === id && crew.crew?.jobs.some((open) => open.job === job.job)) || row.progress.turnOpen === false, `the files of ${id} stay as they are in a turn`)
  }
}

/** Words of a command that the kernel could not tell. */
const TOLD = /^(begin|woken|member_\w+|turn_\w+|answered): /

function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`broken: ${rule}`)
}

function fail(wrong: string | null): void {
  if (wrong !== null) throw new Error(wrong)
}
