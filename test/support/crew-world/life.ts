// What can happen in the world of a crew: turns begin, go on and end, jobs are done, people answer. Each function does one thing,
// rightly; chaos.ts does the same things wrongly. A worker knows nothing but the text that it reads. Used by chaos.ts and tests.
import { engine } from '../../../src/crew/engine.ts'
import type { By, Command, WorkerCommand } from '../../../src/crew/commands.ts'
import type { CrewFact } from '../../../src/crew/facts.ts'
import type { Job, JobResult, MemberId } from '../../../src/crew/types.ts'
import type { Proc, World } from './world.ts'

export function byMember({ id, turn }: Pick<Proc, 'id' | 'turn'>, call: string | null = null): By {
  return { type: 'member', id, turn, call }
}

const PERSON: By = { type: 'person' }

/** Nobody is disturbed while its files are being changed. */
export function canBegin({ crew }: World, { id, queue }: Proc): boolean {
  return queue.length > 0 && !crew.jobs.some(({ type, member }) => member === id && (type === 'prepare' || type === 'reset'))
}

/** It reads the next message: a turn begins. */
export function beginTurn(world: World, proc: Proc): void {
  const letter = proc.queue.shift()
  if (!letter) return
  proc.turn += 1
  proc.reading = letter
  proc.read.push(letter.id)
  proc.plan = planFor(proc.id, letter.text)
  world.say({ type: 'turn_begun', member: proc.id, turn: proc.turn, from: [letter.from] })
}

/** What a good member makes of a text. */
function planFor(id: MemberId, text: string): string[] {
  if (id.startsWith('coordinator')) return text.includes('Call replace_worker with your own id') ? ['replace'] : ['lead']
  if (text.startsWith('Review ') || text.includes('call report_review_verdict.')) return ['verdict']
  if (/^Task .*(is yours now)/.test(text) && !text.includes('report_implementation_complete')) return ['ready']
  if (text.includes('Stop working on it')) return ['ready']
  if (/(is approved: commit it|is not committed yet)/.test(text)) return ['commit']
  if (text.includes('with a summary for your successor')) return ['post']
  if (text.includes('report_implementation_complete')) return ['edit', 'report']
  return ['ready']
}

const TOOLS: Readonly<Record<string, WorkerCommand>> = {
  verdict: { type: 'report_review_verdict', verdict: 'APPROVED', comments: 'good' },
  report: { type: 'report_implementation_complete', summary: 'it works' },
  post: { type: 'post_message', to: 'coordinator', text: 'half of it is done' },
  ready: { type: 'signal_ready' },
}

/** The next thing that it means to do, or the end of its turn. */
export function goOn(world: World, proc: Proc): void {
  const step = proc.plan.shift()
  if (step === undefined) return endTurn(world, proc, 'ok')
  if (step === 'interrupted') return endTurn(world, proc, 'interrupted')
  if (step === 'edit') proc.dirty = true
  else if (step === 'commit') commit(world, proc)
  else if (step === 'lead') lead(world, proc)
  else if (step === 'replace') world.say({ type: 'replace_worker', member: proc.id, summary: 'so far so good' }, byMember(proc))
  else {
    const command = TOOLS[step]
    const refused = command && world.say(command, byMember(proc, `c${world.number()}`)) === null
    if (refused && step !== 'ready') proc.plan = ['ready']
  }
}

export function commit(world: World, proc: Proc): void {
  proc.commit = `${proc.id}-${world.number()}`
  proc.dirty = false
}

/** A coordinator that says what the engine would, and wakes who does nothing. */
export function lead(world: World, proc: Proc): void {
  const by = byMember(proc)
  for (let said = 0; said < 50; said += 1) {
    const command = engine(world.crew, { ...world.spec, coordinator: 'engine' })
    if (!command || world.say(command, by) === null) break
  }
  for (const task of world.crew.tasks) {
    const reviewed = task.state === 'approved' || (task.state === 'awaiting_review' && !task.reviews)
    if (reviewed && !task.cleared && world.spec.gate === 'coordinator') world.say({ type: 'approve_commit', task: task.id }, by)
  }
  for (const member of world.crew.members) {
    const idle = member.state === 'on' && member.role !== 'coordinator' && member.turn.open === null && !member.told && !world.crew.jobs.some((job) => job.member === member.id)
    const duty = member.phase === 'reviewing' ? 'call report_review_verdict.' : 'go on, and call report_implementation_complete'
    if (idle && (member.phase === 'implementing' || member.phase === 'addressing_feedback' || member.phase === 'reviewing')) world.say({ type: 'send_message', to: member.id, text: duty }, by)
  }
}

export function endTurn(world: World, proc: Proc, outcome: 'ok' | 'error' | 'interrupted'): void {
  proc.reading = null
  proc.plan = []
  world.say({ type: 'turn_ended', member: proc.id, turn: proc.turn, outcome, queued: proc.queue.length, text: 'my last words', spent: { steps: 1, costUsd: 0.01 } })
}

/** Who was told to go is gone. */
export function go(world: World, proc: Proc, cause: 'parent' | 'person' | 'agent' | 'limit' | 'daemon'): void {
  proc.alive = false
  proc.going = false
  proc.held = false
  proc.masked = false
  proc.reading = null
  proc.plan = []
  world.say({ type: 'member_gone', member: proc.id, cause, reason: `ended by ${cause}` })
}

/** The daemon does what was asked first of one member, and says how it went. */
export function doJob(world: World, job: Job): void {
  const result = resultOf(world, job)
  if (!result) return
  world.jobs = world.jobs.filter((one) => one.job !== job.job)
  world.given.push({ job: job.job, result })
  world.say({ type: 'job_done', job: job.job, result })
}

/** Jobs of one member are done in order. */
export function nextJobs(world: World): Job[] {
  return world.jobs.filter((job) => !world.jobs.some((one) => one.member === job.member && one.job < job.job))
}

function resultOf(world: World, job: Job): JobResult {
  if (job.type === 'spawn') {
    const known = world.procs.get(job.member)
    return { type: 'spawned', uuid: known ? known.uuid : world.spawn(job.member) }
  }
  const proc = world.need(job.member)
  const read = (seqs: readonly number[]): CrewFact[] => seqs.flatMap((seq) => world.journal[seq - 1] ?? [])
  switch (job.type) {
    case 'prepare': {
      if (proc.reading && proc.alive) throw new Error(`the files of ${proc.id} are changed under its hands`)
      if (job.from !== null && world.need(job.from).alive) throw new Error(`${job.from} lives, and its files are taken away`)
      if (job.from !== null) proc.dirty = world.need(job.from).dirty
      else proc.dirty = false
      proc.commit = null
      return { type: 'prepared', base: world.spec.git ? 'base' : null, read: read(job.read) }
    }
    case 'brief': return { type: 'briefed', dir: '/files', branch: 'b', head: 'head', read: read(job.read) }
    case 'commit': {
      if (proc.commit === null && job.force && proc.dirty) commit(world, proc)
      return { type: 'committed', commit: proc.commit, dirty: proc.dirty }
    }
    case 'merge': {
      world.merges.set(job.task, 1)
      return { type: 'merged', merged: `m-${job.commit}` }
    }
    case 'reset':
    case 'salvage': {
      if (job.type === 'reset' && proc.reading && proc.alive) throw new Error(`the files of ${proc.id} are reset under its hands`)
      const ref = proc.dirty ? `refs/salvage/${proc.id}` : null
      if (job.type === 'reset') proc.dirty = false
      return { type: 'salvaged', ref }
    }
  }
}

/** A person says yes. */
export function answer(world: World, id: string, option: string, text: string | null): void {
  const task = world.asks.get(id)
  if (task === undefined) return
  world.asks.delete(id)
  world.say({ type: 'answered', task, id, option, text })
}

/** From here on all behave: nobody is paused, nobody dies, everybody does what the text says. Returns the commands that it took. */
export function behave(world: World, bound: number): number {
  const from = world.commands
  for (const proc of world.procs.values()) if (proc.held) hold(world, proc, false)
  if (world.paused) suspend(world, false)
  let woken = 0
  while (!over(world)) {
    if (world.commands - from > bound) throw new Error(`the crew does not come to its end within ${bound} commands`)
    if (!moveOn(world)) {
      woken += 1
      if (woken > 20 || !wake(world)) throw new Error(`nothing goes on: ${[...world.crew.tasks, ...world.crew.members].map((one) => JSON.stringify(one)).join('\n')}`)
    }
  }
  return world.commands - from
}

function over({ crew, spec, ended }: World): boolean {
  return ended !== null || (spec.stay && crew.tasks.every(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled') && crew.jobs.length === 0)
}

export function hold(world: World, proc: Proc, held: boolean, reason = 'user'): void {
  proc.held = held
  world.say({ type: 'member_held', member: proc.id, held, ...(held ? { reason } : {}) })
}

/** The crew's own process is paused, or goes on. */
export function suspend(world: World, paused: boolean): void {
  world.paused = paused
  if (!paused) world.say({ type: 'woken' })
}

/** Something that can happen does. */
export function moveOn(world: World): boolean {
  const [job] = nextJobs(world)
  if (job) {
    doJob(world, job)
    return true
  }
  for (const proc of world.procs.values()) {
    if (!proc.alive) continue
    if (proc.going) go(world, proc, 'parent')
    else if (proc.reading) goOn(world, proc)
    else if (canBegin(world, proc)) beginTurn(world, proc)
    else continue
    return true
  }
  const [ask] = world.asks.keys()
  if (ask !== undefined) answer(world, ask, world.crew.tasks.find(({ id }) => id === world.asks.get(ask))?.kind === 'human' ? 'done' : 'approve', null)
  return ask !== undefined
}

/** Nothing goes on without a person: there is no coordinator, or one that was told often enough. */
function wake(world: World): boolean {
  const { crew, spec } = world
  if (spec.coordinator === 'engine') return false
  const last = [...world.procs.values()].findLast(({ id }) => id.startsWith('coordinator') && crew.members.find((one) => one.id === id)?.heir === null)
  if (!last?.alive) return (last !== undefined && comeBack(world, last)) || world.say({ type: 'replace_worker', member: 'coordinator', summary: 'begin anew' }, PERSON) !== null
  return world.say({ type: 'send_message', to: last.id, text: 'go on' }, PERSON) !== null
}

/** A person brings a dead member back. */
export function comeBack(world: World, proc: Proc): boolean {
  const member = world.crew.members.find(({ id }) => id === proc.id)
  if (proc.alive || member?.leave?.how === 'retired' || member?.leave?.how === 'replaced' || member?.heir !== null) return false
  proc.alive = true
  world.say({ type: 'member_on', member: proc.id, uuid: proc.uuid, turn: null, queued: proc.queue.length })
  return true
}

export function add(world: World, tasks: Extract<Command, { type: 'add_tasks' }>['tasks']): void {
  world.say({ type: 'add_tasks', tasks }, PERSON)
}
