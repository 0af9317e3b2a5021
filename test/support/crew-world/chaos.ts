// Random faults in the simulated world of a crew, chosen by numbers. Reports come late, twice or never; members and the daemon
// crash; job answers fail or repeat; the user gives arbitrary commands. Used by test/simulation/crew.test.ts.
import { commitFiles, commitResult, editFiles } from './files.ts'
import {
  addTasks,
  answerQuestion,
  beginTurn,
  byMember,
  canBegin,
  resumeDead,
  doJob,
  doJobUnanswered,
  endTurn,
  endProcess,
  continueTurn,
  setHeld,
  nextJobs,
  setCrewPaused,
} from './life.ts'
import type { Command, LeadCommand, WorkerCommand } from '../../../src/kernel/model/crew/commands.ts'
import type { MemberProcess, World } from './world.ts'
import type { MemberId, WorkerRole } from '../../../src/kernel/model/crew/words.ts'
import type { Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'

/** A source of choices, made from numbers: the same numbers give the same choices. */
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

  /** Returns true once in `of` calls on average. */
  once(of: number): boolean {
    return this.next() % of === 1
  }
}

const ROLES: readonly WorkerRole[] = ['generic', 'implementer', 'reviewer', 'researcher']
const WORKER_COMMANDS: readonly WorkerCommand[] = [
  { type: 'signal_ready' },
  { type: 'post_message', to: 'coordinator', text: 'what now?' },
  { type: 'report_implementation_complete', summary: 'done, I think' },
  { type: 'report_review_verdict', verdict: 'APPROVED', comments: '' },
  { type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' },
]

/** Performs one event: mostly a regular one, sometimes a fault. `performGitOperation` performs a hostile operation. */
export function playRandomEvent(world: World, dice: Dice, performGitOperation?: (choose: number) => void): void {
  const what = dice.next() % 100
  if (performGitOperation && dice.once(6)) return performGitOperation(dice.next())
  if (what < 30) return playRandomTurn(world, dice)
  if (what < 55) return playRandomJob(world, dice)
  if (what < 70) return callRandomTool(world, dice)
  if (what < 80) return sendRandomUserCommand(world, dice)
  if (what < 86) return endOrResumeRandomMember(world, dice)
  if (what < 90) return pauseRandomMember(world, dice)
  if (what < 93) return answerRandomQuestion(world, dice)
  if (what < 95) return fillRandomContext(world, dice)
  if (what < 97) return repeatRandomAnswer(world, dice)
  return crashDaemon(world, dice)
}

function livingProcesses(world: World): MemberProcess[] {
  return [...world.procs.values()].filter(({ alive }) => alive)
}

function playRandomTurn(world: World, dice: Dice): void {
  const proc = dice.pick(livingProcesses(world).filter((one) => !one.going && !one.held && (one.reading !== null || canBegin(world, one))))
  if (!proc) return playRandomJob(world, dice)
  if (!proc.reading) return beginTurn(world, proc)
  if (proc.queue.length > 0 && dice.once(25)) return beginTurn(world, proc)
  if (dice.once(12)) return endTurn(world, proc, dice.once(2) ? 'error' : 'interrupted')
  if (dice.once(10)) return endTurn(world, proc, 'ok')
  continueTurn(world, proc)
}

function playRandomJob(world: World, dice: Dice): void {
  const job = dice.pick(nextJobs(world))
  if (!job) return
  if (job.type === 'spawn' && !world.procs.has(job.member) && dice.once(3)) {
    // The process already runs, but the daemon has not yet answered the spawn job.
    world.submit({ type: 'member_running', member: job.member, uuid: world.spawn(job.member), turn: null })
    return
  }
  if (world.repository && dice.once(40)) {
    doJobUnanswered(world, job)
    return crashDaemon(world, dice)
  }
  const wrong = dice.once(world.repository ? 25 : 8) ? randomFailure(world, job, dice) : null
  if (!wrong) return doJob(world, job)
  world.jobs = world.jobs.filter((one) => one.job !== job.job)
  world.answeredJobs.push({ job: job.job, result: wrong })
  world.submit({ type: 'job_done', job: job.job, result: wrong })
}

/** Sometimes a member's files are lost, or the task cannot be prepared in any worktree. */
function randomLoss(job: Job, dice: Dice): { lost?: MemberId; of?: 'task' } {
  const id = job.type === 'brief' ? job.implementer : job.member
  if (job.type === 'prepare' && dice.once(4)) return { of: 'task' }
  return job.type !== 'spawn' && id !== null && dice.once(2) ? { lost: id } : {}
}

function randomFailure(world: World, job: Job, dice: Dice): JobResult {
  return (world.repository ? null : randomGitFailure(world, job)) ?? randomError(world, job, dice)
}

/** A random git result for worlds without the model of git. */
function randomGitFailure(world: World, job: Job): JobResult | null {
  if (job.type === 'merge')
    return world.merges.has(job.task)
      ? { type: 'merged', merged: `m-${job.commit}` }
      : world.nextNumber() % 3 === 0
        ? { type: 'occupied', reason: 'the user looks at it' }
        : { type: 'conflict', files: ['a.ts'] }
  if (job.type === 'land') return world.merges.has(job.task) ? { type: 'merged', merged: job.candidate } : { type: 'moved' }
  if (job.type === 'check') return { type: 'checked', files: ['a.ts'], tasks: [] }
  const done = job.type === 'commit' ? commitResult(world, world.requireProcess(job.member), job) : null
  return done?.type === 'committed' && done.commit !== null ? { type: 'conflict', commit: done.commit, files: ['a.ts'] } : null
}

function randomError(world: World, job: Job, dice: Dice): JobResult {
  // A member with a process was spawned, so a failed spawn is impossible.
  const known = job.type === 'spawn' ? world.procs.get(job.member) : undefined
  if (known) return { type: 'spawned', uuid: known.uuid }
  return { type: 'error', error: dice.once(3) ? 'write: No space left on device' : 'it could not be done', ...randomLoss(job, dice) }
}

/** Repeats a job's answer, as a daemon does if it crashed before the answer was acknowledged. */
function repeatRandomAnswer(world: World, dice: Dice): void {
  const given = dice.pick(world.answeredJobs)
  if (given) world.submit({ type: 'job_done', ...given })
}

/** A worker calls any tool: in its current turn, in an old turn, twice, or as a coordinator. */
function callRandomTool(world: World, dice: Dice): void {
  const proc = dice.pick(livingProcesses(world))
  const command = dice.pick(WORKER_COMMANDS)
  if (!proc || !command) return
  if (dice.once(6)) editFiles(world, proc)
  if (dice.once(10)) commitFiles(world, proc)
  const turn = dice.once(5) ? proc.turn - 1 : proc.turn
  const call = dice.once(3) ? 'the same' : `x${world.nextNumber()}`
  const given: Command = dice.once(12) ? randomLeadCommand(world, dice) : command
  world.submit(given, byMember({ id: proc.id, turn }, call))
  if (dice.once(4)) world.submit(given, byMember({ id: proc.id, turn }, call))
}

function sendRandomUserCommand(world: World, dice: Dice): void {
  world.submit((dice.once(3) ? reopenOrRetryCommand(world, dice) : null) ?? randomLeadCommand(world, dice), { type: 'user' })
}

/** Returns a command that opens a closed task again; null if no task is closed. */
function reopenOrRetryCommand({ crew }: World, dice: Dice): LeadCommand | null {
  const closed = dice.pick(crew.tasks.filter(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled'))
  if (!closed) return null
  return closed.state === 'done'
    ? { type: 'reopen_task', task: closed.id, comments: 'a test is missing' }
    : { type: 'retry_task', task: closed.id }
}

function randomLeadCommand(world: World, dice: Dice): LeadCommand {
  const { crew } = world
  const task = dice.pick(crew.tasks)?.id ?? 'task-9'
  const member: MemberId = dice.pick(crew.members)?.id ?? 'worker-9'
  const role = dice.pick(ROLES) ?? 'generic'
  const reason = 'the user wants it so'
  const needs = dice.once(3) && crew.tasks.length > 0 ? [task] : []
  const commands: readonly LeadCommand[] = [
    {
      type: 'add_task',
      title: 'one more',
      text: 'do it',
      needs,
      ...(dice.once(4) ? { kind: 'human' } : {}),
      ...(dice.once(5) ? { role: 'researcher' } : {}),
    },
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
    { type: 'retry_task', task },
    { type: 'reopen_task', task, comments: 'a test is missing' },
    {
      type: 'edit_task',
      task,
      text: 'do it well',
      ...(dice.once(3) ? { acceptance: 'it is good', reviews: dice.once(2) } : {}),
      ...(dice.once(3) ? { needs } : {}),
    },
    { type: 'set_priority', task, priority: (dice.next() % 5) - 2 },
    { type: 'set_priority', task, before: dice.pick(crew.tasks)?.id ?? 'task-9' },
    { type: 'mark_task_done', task, reason },
    { type: 'mark_task_failed', task, reason },
    { type: 'notify_user', text: 'look' },
  ]
  if (dice.once(60))
    return { type: 'complete_crew', summary: 'enough', outcome: dice.pick(['completed', 'failed', 'cancelled'] as const) ?? 'failed' }
  return dice.pick(commands) ?? { type: 'notify_user', text: 'look' }
}

/** A dismissed member leaves, a member dies, or a dead member is resumed. */
function endOrResumeRandomMember(world: World, dice: Dice): void {
  const going = dice.pick(livingProcesses(world).filter((proc) => proc.going))
  if (going) return endProcess(world, going, 'parent')
  const proc = dice.pick([...world.procs.values()])
  if (!proc) return
  if (!proc.alive) {
    resumeDead(world, proc)
    return
  }
  if (dice.once(2)) return endProcess(world, proc, dice.pick(['person', 'agent', 'limit', 'daemon'] as const) ?? 'agent')
}

function pauseRandomMember(world: World, dice: Dice): void {
  if (dice.once(4)) return setCrewPaused(world, !world.paused)
  const proc = dice.pick(livingProcesses(world))
  if (proc) setHeld(world, proc, !proc.held, dice.pick(['user', 'user', 'context-full', 'loop', 'breaker', 'rate-limit', 'budget']))
}

function answerRandomQuestion(world: World, dice: Dice): void {
  const id = dice.pick([...world.asks.keys()])
  if (id !== undefined)
    answerQuestion(world, id, dice.pick(['approve', 'deny', 'cancel', 'done', 'failed']) ?? 'done', dice.once(2) ? 'so it is' : null)
}

function fillRandomContext(world: World, dice: Dice): void {
  const proc = dice.pick(livingProcesses(world))
  if (proc && dice.once(2)) return void world.submit({ type: 'member_usage', member: proc.id, spent: { costUsd: 0.05, steps: 2 } })
  if (proc) world.submit({ type: 'member_context_full', member: proc.id, share: 0.91 })
}

/** The daemon crashes: turns are cut off or continue, and only the journal remains. */
function crashDaemon(world: World, dice: Dice): void {
  world.crash()
  for (const proc of livingProcesses(world)) {
    if (proc.going) continue
    const cut = proc.reading !== null && dice.once(3)
    if (cut) {
      proc.reading = null
      proc.plan = []
    }
    // Messages on their way to an ended member are lost.
    if (proc.reading === null && dice.once(4)) world.lost.push(...proc.queue.splice(0).map(({ id }) => id))
    world.submit({
      type: 'member_running',
      member: proc.id,
      uuid: proc.uuid,
      turn: proc.reading ? proc.turn : null,
      queued: proc.queue.length,
    })
  }
}

/** A started crew with some tasks. */
export function startCrew(world: World, dice: Dice): void {
  world.submit({ type: 'begin' })
  const count = 1 + (dice.next() % 7)
  addTasks(
    world,
    Array.from({ length: count }, (_, index) => ({
      id: `t${index}`,
      title: `number ${index}`,
      text: 'write it',
      needs: index > 0 && dice.once(3) ? [`t${index - 1}`] : [],
      ...(dice.once(7) ? { kind: 'human' as const } : {}),
      ...(dice.once(7) ? { role: 'researcher' as const } : {}),
      ...(dice.once(6) ? { reviews: false } : {}),
      ...(dice.once(5) ? { limits: { budgetUsd: 0.06, maxSteps: 4 } } : {}),
      ...(dice.once(5) ? { model: dice.once(2) ? 'acme/big' : 'acme/small' } : {}),
      ...(dice.once(9) ? { agent: 'other' } : {}),
    })),
  )
}
