// What can go wrong in the world of a crew, chosen by numbers: reports that come late, twice or never, members that die, a daemon
// that dies, jobs that fail or are answered twice, and people who say anything at any time. Used by test/simulation/crew.test.ts.
import { add, answer, beginTurn, byMember, canBegin, comeBack, commit, doJob, endTurn, go, goOn, hold, nextJobs, suspend } from './life.ts'
import type { Command, LeadCommand, WorkerCommand } from '../../../src/crew/commands.ts'
import type { Job, JobResult, MemberId, WorkerRole } from '../../../src/crew/types.ts'
import type { Proc, World } from './world.ts'

/** Numbers that choose; the same list chooses the same. */
export class Dice {
  readonly #numbers: readonly number[]
  #at = 0

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers
  }

  get left(): boolean {
    return this.#at < this.#numbers.length
  }

  next(): number {
    const number = this.#numbers[this.#at] ?? 0
    this.#at += 1
    return number
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.next() % list.length]
  }

  /** One time in `of`. */
  once(of: number): boolean {
    return this.next() % of === 1
  }
}

const ROLES: readonly WorkerRole[] = ['generic', 'implementer', 'reviewer', 'researcher']
const WORDS: readonly WorkerCommand[] = [
  { type: 'signal_ready' },
  { type: 'post_message', to: 'coordinator', text: 'what now?' },
  { type: 'report_implementation_complete', summary: 'done, I think' },
  { type: 'report_review_verdict', verdict: 'APPROVED', comments: '' },
  { type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' },
]

/** One thing happens: mostly what should, sometimes what should not. */
export function happen(world: World, dice: Dice): void {
  const what = dice.next() % 100
  if (what < 30) return someTurn(world, dice)
  if (what < 55) return someJob(world, dice)
  if (what < 70) return somethingSaid(world, dice)
  if (what < 80) return somePerson(world, dice)
  if (what < 86) return someEnd(world, dice)
  if (what < 90) return somePause(world, dice)
  if (what < 93) return someAnswer(world, dice)
  if (what < 95) return full(world, dice)
  if (what < 97) return lateJob(world, dice)
  return crash(world, dice)
}

function living(world: World): Proc[] {
  return [...world.procs.values()].filter(({ alive }) => alive)
}

function someTurn(world: World, dice: Dice): void {
  const proc = dice.pick(living(world).filter((one) => !one.going && !one.held && (one.reading !== null || canBegin(world, one))))
  if (!proc) return someJob(world, dice)
  if (!proc.reading) return beginTurn(world, proc)
  if (proc.queue.length > 0 && dice.once(25)) return beginTurn(world, proc)
  if (dice.once(12)) return endTurn(world, proc, dice.once(2) ? 'error' : 'interrupted')
  if (dice.once(10)) return endTurn(world, proc, 'ok')
  goOn(world, proc)
}

function someJob(world: World, dice: Dice): void {
  const job = dice.pick(nextJobs(world))
  if (!job) return
  if (job.type === 'spawn' && !world.procs.has(job.member) && dice.once(3)) {
    // It runs, and the daemon has not said yet that it was started.
    world.say({ type: 'member_on', member: job.member, uuid: world.spawn(job.member), turn: null })
    return
  }
  const wrong = dice.once(8) ? failure(world, job) : null
  if (!wrong) return doJob(world, job)
  world.jobs = world.jobs.filter((one) => one.job !== job.job)
  world.given.push({ job: job.job, result: wrong })
  world.say({ type: 'job_done', job: job.job, result: wrong })
}

function failure(world: World, job: Job): JobResult {
  if (job.type === 'merge') return world.merges.has(job.task) ? { type: 'merged', merged: `m-${job.commit}` } : { type: 'conflict', files: ['a.ts'] }
  // A member that has a process was spawned, whoever says otherwise.
  const known = job.type === 'spawn' ? world.procs.get(job.member) : undefined
  return known ? { type: 'spawned', uuid: known.uuid } : { type: 'error', error: 'the disk is full' }
}

/** An answer that was given already, by a daemon that died before it heard so. */
function lateJob(world: World, dice: Dice): void {
  const given = dice.pick(world.given)
  if (given) world.say({ type: 'job_done', ...given })
}

/** A worker calls any tool: in the turn that is on, in an old one, twice, or as if it led. */
function somethingSaid(world: World, dice: Dice): void {
  const proc = dice.pick(living(world))
  const command = dice.pick(WORDS)
  if (!proc || !command) return
  if (dice.once(6)) proc.dirty = true
  if (dice.once(10)) commit(world, proc)
  const turn = dice.once(5) ? proc.turn - 1 : proc.turn
  const call = dice.once(3) ? 'the same' : `x${world.number()}`
  const said: Command = dice.once(12) ? leadCommand(world, dice) : command
  world.say(said, byMember({ id: proc.id, turn }, call))
  if (dice.once(4)) world.say(said, byMember({ id: proc.id, turn }, call))
}

function somePerson(world: World, dice: Dice): void {
  world.say(leadCommand(world, dice), { type: 'person' })
}

function leadCommand(world: World, dice: Dice): LeadCommand {
  const { crew } = world
  const task = dice.pick(crew.tasks)?.id ?? 'task-9'
  const member: MemberId = dice.pick(crew.members)?.id ?? 'worker-9'
  const role = dice.pick(ROLES) ?? 'generic'
  const reason = 'a person wants it so'
  const needs = dice.once(3) && crew.tasks.length > 0 ? [task] : []
  const commands: readonly LeadCommand[] = [
    { type: 'add_task', title: 'one more', text: 'do it', needs, ...(dice.once(4) ? { kind: 'human' } : {}), ...(dice.once(5) ? { role: 'researcher' } : {}) },
    { type: 'spawn_worker', role },
    { type: 'assign_task', task, member },
    { type: 'assign_task', task, member },
    { type: 'assign_review', task, member },
    { type: 'assign_review', task, member },
    { type: 'approve_commit', task },
    { type: 'send_message', to: dice.once(4) ? 'all' : member, text: 'how far are you?' },
    { type: 'replace_worker', member, summary: 'half of it is done' },
    { type: 'retire_worker', member, reason },
    { type: 'stop_worker', member, reason },
    { type: 'cancel_task', task, reason, requeue: dice.once(2) },
    { type: 'mark_task_done', task, reason },
    { type: 'mark_task_failed', task, reason },
    { type: 'notify_user', text: 'look' },
  ]
  if (dice.once(60)) return { type: 'complete_crew', summary: 'enough', outcome: dice.pick(['completed', 'failed', 'cancelled'] as const) ?? 'failed' }
  return dice.pick(commands) ?? { type: 'notify_user', text: 'look' }
}

/** One that was told to go does, or one dies, or comes back. */
function someEnd(world: World, dice: Dice): void {
  const going = dice.pick(living(world).filter((proc) => proc.going))
  if (going) return go(world, going, 'parent')
  const proc = dice.pick([...world.procs.values()])
  if (!proc) return
  if (!proc.alive) {
    comeBack(world, proc)
    return
  }
  if (dice.once(2)) return go(world, proc, dice.pick(['person', 'agent', 'limit', 'daemon'] as const) ?? 'agent')
}

function somePause(world: World, dice: Dice): void {
  if (dice.once(4)) return suspend(world, !world.paused)
  const proc = dice.pick(living(world))
  if (proc) hold(world, proc, !proc.held, dice.once(4) ? 'context-full' : 'user')
}

function someAnswer(world: World, dice: Dice): void {
  const id = dice.pick([...world.asks.keys()])
  if (id !== undefined) answer(world, id, dice.pick(['approve', 'deny', 'cancel', 'done', 'failed']) ?? 'done', dice.once(2) ? 'so it is' : null)
}

function full(world: World, dice: Dice): void {
  const proc = dice.pick(living(world))
  if (proc) world.say({ type: 'member_full', member: proc.id, share: 0.91 })
}

/** The daemon dies: turns are cut off or go on, and the journal is all that is left. */
function crash(world: World, dice: Dice): void {
  world.crash()
  for (const proc of living(world)) {
    if (proc.going) continue
    const cut = proc.reading !== null && dice.once(3)
    if (cut) {
      proc.reading = null
      proc.plan = []
    }
    // What was on its way to one that had ended is lost.
    if (proc.reading === null && dice.once(4)) world.lost.push(...proc.queue.splice(0).map(({ id }) => id))
    world.say({ type: 'member_on', member: proc.id, uuid: proc.uuid, turn: proc.reading ? proc.turn : null, queued: proc.queue.length })
  }
}

/** A crew has begun, with some tasks. */
export function start(world: World, dice: Dice): void {
  world.say({ type: 'begin' })
  const count = 1 + (dice.next() % 7)
  add(world, Array.from({ length: count }, (_, index) => ({
    id: `t${index}`, title: `number ${index}`, text: 'write it', needs: index > 0 && dice.once(3) ? [`t${index - 1}`] : [],
    ...(dice.once(7) ? { kind: 'human' as const } : {}), ...(dice.once(7) ? { role: 'researcher' as const } : {}), ...(dice.once(6) ? { reviews: false } : {}),
  })))
}
