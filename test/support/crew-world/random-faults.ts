// Random faults in the simulated world of a crew, chosen by numbers. Reports come late, twice or never; members and the daemon
// crash; job answers fail or repeat; the user gives arbitrary commands. Used by the tests in test/simulation and by
// test/support/simulated-git/simulated-crew.ts.
import { commitFiles, commitResult, editFiles } from './files.ts'
import {
  addTasks,
  answerQuestion,
  beginTurn,
  senderOfMember,
  canBeginTurn,
  resumeDeadMember,
  performJob,
  performJobWithLostResult,
  endTurn,
  endProcess,
  continueTurn,
  setMemberHeld,
  nextJobOfEachMember,
  setCrewPaused,
} from './regular-work.ts'
import type { Command, LeadCommand, WorkerCommand } from '../../../src/kernel/model/crew/commands.ts'
import type { MemberProcess, CrewWorld } from './world.ts'
import { WORKER_ROLES, type MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'

/** A source of choices, made from numbers: the same numbers give the same choices. After the last number, it goes on with zeros. */
export class Dice {
  readonly #numbers: readonly number[]
  #at = 0

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers
  }

  get hasNumbers(): boolean {
    return this.#at < this.#numbers.length
  }

  nextNumber(): number {
    const number = this.#numbers[this.#at] ?? 0
    this.#at += 1
    return number
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.nextNumber() % list.length]
  }

  /** Returns true once in `calls` calls on average. */
  happensOnceIn(calls: number): boolean {
    return this.nextNumber() % calls === 1
  }
}

const WORKER_COMMANDS: readonly WorkerCommand[] = [
  { type: 'signal_ready' },
  { type: 'post_message', to: 'coordinator', text: 'what now?' },
  { type: 'report_implementation_complete', summary: 'done, I think' },
  { type: 'report_review_verdict', verdict: 'APPROVED', comments: '' },
  { type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' },
]

/** Performs one act: mostly regular work, sometimes a fault. `performGitOperation` performs a hostile operation. */
export function playRandomAct(world: CrewWorld, dice: Dice, performGitOperation?: (chosenNumber: number) => void): void {
  const percent = dice.nextNumber() % 100
  if (performGitOperation && dice.happensOnceIn(6)) return performGitOperation(dice.nextNumber())
  if (percent < 30) return playRandomTurn(world, dice)
  if (percent < 55) return playRandomJob(world, dice)
  if (percent < 70) return callRandomTool(world, dice)
  if (percent < 80) return sendRandomUserCommand(world, dice)
  if (percent < 86) return endOrResumeRandomMember(world, dice)
  if (percent < 90) return pauseRandomMember(world, dice)
  if (percent < 93) return answerRandomQuestion(world, dice)
  if (percent < 95) return fillRandomContext(world, dice)
  if (percent < 97) return repeatRandomAnswer(world, dice)
  return crashDaemon(world, dice)
}

function livingProcesses(world: CrewWorld): MemberProcess[] {
  return [...world.procs.values()].filter(({ isAlive }) => isAlive)
}

function playRandomTurn(world: CrewWorld, dice: Dice): void {
  const proc = dice.pick(
    livingProcesses(world).filter(
      (candidate) => !candidate.isLeaving && !candidate.isHeld && (candidate.reading !== null || canBeginTurn(world, candidate)),
    ),
  )
  if (!proc) return playRandomJob(world, dice)
  if (!proc.reading) return beginTurn(world, proc)
  if (proc.queue.length > 0 && dice.happensOnceIn(25)) return beginTurn(world, proc)
  if (dice.happensOnceIn(12)) return endTurn(world, proc, dice.happensOnceIn(2) ? 'error' : 'interrupted')
  if (dice.happensOnceIn(10)) return endTurn(world, proc, 'ok')
  continueTurn(world, proc)
}

function playRandomJob(world: CrewWorld, dice: Dice): void {
  const job = dice.pick(nextJobOfEachMember(world))
  if (!job) return
  if (job.type === 'spawn' && !world.procs.has(job.member) && dice.happensOnceIn(3)) {
    // The process already runs, but the daemon has not yet answered the spawn job.
    world.submit({ type: 'member_running', member: job.member, uuid: world.spawn(job.member), turn: null })
    return
  }
  if (world.repository && dice.happensOnceIn(40)) {
    performJobWithLostResult(world, job)
    return crashDaemon(world, dice)
  }
  const failure = dice.happensOnceIn(world.repository ? 25 : 8) ? randomFailure(world, job, dice) : null
  if (!failure) return performJob(world, job)
  world.jobs = world.jobs.filter((openJob) => openJob.job !== job.job)
  world.answeredJobs.push({ job: job.job, result: failure })
  world.submit({ type: 'job_done', job: job.job, result: failure })
}

/** Sometimes a member's files are lost, or the task cannot be prepared in any worktree. */
function randomLoss(job: Job, dice: Dice): { lost?: MemberId; of?: 'task' } {
  const id = job.type === 'brief' ? job.implementer : job.member
  if (job.type === 'prepare' && dice.happensOnceIn(4)) return { of: 'task' }
  return job.type !== 'spawn' && id !== null && dice.happensOnceIn(2) ? { lost: id } : {}
}

function randomFailure(world: CrewWorld, job: Job, dice: Dice): JobResult {
  return (world.repository ? null : randomGitFailure(world, job)) ?? randomError(world, job, dice)
}

/** A random git result for worlds without the simulated git. */
function randomGitFailure(world: CrewWorld, job: Job): JobResult | null {
  if (job.type === 'merge')
    return world.mergeCounts.has(job.task)
      ? { type: 'merged', merged: `m-${job.commit}` }
      : world.nextNumber() % 3 === 0
        ? { type: 'occupied', reason: 'the user looks at it' }
        : { type: 'conflict', files: ['a.ts'] }
  if (job.type === 'land') return world.mergeCounts.has(job.task) ? { type: 'merged', merged: job.candidate } : { type: 'moved' }
  if (job.type === 'check') return { type: 'checked', files: ['a.ts'], tasks: [] }
  const commit = job.type === 'commit' ? commitResult(world, world.requireProcess(job.member), job) : null
  return commit?.type === 'committed' && commit.commit !== null ? { type: 'conflict', commit: commit.commit, files: ['a.ts'] } : null
}

function randomError(world: CrewWorld, job: Job, dice: Dice): JobResult {
  // A member with a process was spawned, so a failed spawn is impossible.
  const proc = job.type === 'spawn' ? world.procs.get(job.member) : undefined
  if (proc) return { type: 'spawned', uuid: proc.uuid }
  return {
    type: 'error',
    error: dice.happensOnceIn(3) ? 'write: No space left on device' : 'it could not be done',
    ...randomLoss(job, dice),
  }
}

/** Repeats a job's answer, as a daemon does if it crashed before the answer was acknowledged. */
function repeatRandomAnswer(world: CrewWorld, dice: Dice): void {
  const answer = dice.pick(world.answeredJobs)
  if (answer) world.submit({ type: 'job_done', ...answer })
}

/** A worker calls any tool: in its current turn, in an old turn, twice, or as a coordinator. */
function callRandomTool(world: CrewWorld, dice: Dice): void {
  const proc = dice.pick(livingProcesses(world))
  const command = dice.pick(WORKER_COMMANDS)
  if (!proc || !command) return
  if (dice.happensOnceIn(6)) editFiles(world, proc)
  if (dice.happensOnceIn(10)) commitFiles(world, proc)
  const turn = dice.happensOnceIn(5) ? proc.turn - 1 : proc.turn
  const call = dice.happensOnceIn(3) ? 'the same' : `x${world.nextNumber()}`
  const leadCommand: Command = dice.happensOnceIn(12) ? randomLeadCommand(world, dice) : command
  world.submit(leadCommand, senderOfMember({ id: proc.id, turn }, call))
  if (dice.happensOnceIn(4)) world.submit(leadCommand, senderOfMember({ id: proc.id, turn }, call))
}

function sendRandomUserCommand(world: CrewWorld, dice: Dice): void {
  world.submit((dice.happensOnceIn(3) ? reopenOrRetryCommand(world, dice) : null) ?? randomLeadCommand(world, dice), { type: 'user' })
}

/** Returns a command that opens a closed task again; null if no task is closed. */
function reopenOrRetryCommand({ crew }: CrewWorld, dice: Dice): LeadCommand | null {
  const closed = dice.pick(crew.tasks.filter(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled'))
  if (!closed) return null
  return closed.state === 'done'
    ? { type: 'reopen_task', task: closed.id, comments: 'a test is missing' }
    : { type: 'retry_task', task: closed.id }
}

function randomLeadCommand(world: CrewWorld, dice: Dice): LeadCommand {
  const { crew } = world
  const task = dice.pick(crew.tasks)?.id ?? 'task-9'
  const member: MemberId = dice.pick(crew.members)?.id ?? 'worker-9'
  const role = dice.pick(WORKER_ROLES) ?? 'generic'
  const reason = 'the user wants it so'
  const neededTasks = dice.happensOnceIn(3) && crew.tasks.length > 0 ? [task] : []
  const commands: readonly LeadCommand[] = [
    {
      type: 'add_task',
      title: 'one more',
      text: 'do it',
      needs: neededTasks,
      ...(dice.happensOnceIn(4) ? { kind: 'human' } : {}),
      ...(dice.happensOnceIn(5) ? { role: 'researcher' } : {}),
    },
    { type: 'spawn_worker', role },
    { type: 'assign_task', task, member },
    { type: 'assign_task', task, member },
    { type: 'assign_review', task, member },
    { type: 'assign_review', task, member },
    { type: 'approve_commit', task },
    { type: 'send_message', to: dice.happensOnceIn(4) ? 'all' : member, text: 'how far are you?' },
    { type: 'replace_worker', member, summary: 'half of it is done' },
    { type: 'retire_worker', member, reason },
    { type: 'stop_worker', member, reason },
    { type: 'cancel_task', task, reason, requeue: dice.happensOnceIn(2) },
    { type: 'retry_task', task },
    { type: 'reopen_task', task, comments: 'a test is missing' },
    {
      type: 'edit_task',
      task,
      text: 'do it well',
      ...(dice.happensOnceIn(3) ? { acceptance: 'it is good', reviews: dice.happensOnceIn(2) } : {}),
      ...(dice.happensOnceIn(3) ? { needs: neededTasks } : {}),
    },
    { type: 'set_priority', task, priority: (dice.nextNumber() % 5) - 2 },
    { type: 'set_priority', task, before: dice.pick(crew.tasks)?.id ?? 'task-9' },
    { type: 'mark_task_done', task, reason },
    { type: 'mark_task_failed', task, reason },
    { type: 'notify_user', text: 'look' },
  ]
  if (dice.happensOnceIn(60))
    return { type: 'complete_crew', summary: 'enough', outcome: dice.pick(['completed', 'failed', 'cancelled'] as const) ?? 'failed' }
  return dice.pick(commands) ?? { type: 'notify_user', text: 'look' }
}

/** A dismissed member leaves, a member dies, or a dead member is resumed. */
function endOrResumeRandomMember(world: CrewWorld, dice: Dice): void {
  const leavingProcess = dice.pick(livingProcesses(world).filter((proc) => proc.isLeaving))
  if (leavingProcess) return endProcess(world, leavingProcess, 'parent')
  const proc = dice.pick([...world.procs.values()])
  if (!proc) return
  if (!proc.isAlive) {
    resumeDeadMember(world, proc)
    return
  }
  if (dice.happensOnceIn(2)) return endProcess(world, proc, dice.pick(['person', 'agent', 'limit', 'daemon'] as const) ?? 'agent')
}

function pauseRandomMember(world: CrewWorld, dice: Dice): void {
  if (dice.happensOnceIn(4)) return setCrewPaused(world, !world.isPaused)
  const proc = dice.pick(livingProcesses(world))
  if (proc) setMemberHeld(world, proc, !proc.isHeld, dice.pick(['user', 'user', 'context-full', 'loop', 'breaker', 'rate-limit', 'budget']))
}

function answerRandomQuestion(world: CrewWorld, dice: Dice): void {
  const id = dice.pick([...world.openQuestions.keys()])
  if (id !== undefined)
    answerQuestion(
      world,
      id,
      dice.pick(['approve', 'deny', 'cancel', 'done', 'failed']) ?? 'done',
      dice.happensOnceIn(2) ? 'so it is' : null,
    )
}

function fillRandomContext(world: CrewWorld, dice: Dice): void {
  const proc = dice.pick(livingProcesses(world))
  if (proc && dice.happensOnceIn(2)) return void world.submit({ type: 'member_usage', member: proc.id, spent: { costUsd: 0.05, steps: 2 } })
  if (proc) world.submit({ type: 'member_context_full', member: proc.id, share: 0.91 })
}

/** The daemon crashes: turns are cut off or continue, and only the journal remains. */
function crashDaemon(world: CrewWorld, dice: Dice): void {
  world.crash()
  for (const proc of livingProcesses(world)) {
    if (proc.isLeaving) continue
    const isCutOff = proc.reading !== null && dice.happensOnceIn(3)
    if (isCutOff) {
      proc.reading = null
      proc.plan = []
    }
    // Messages on their way to an ended member are lost.
    if (proc.reading === null && dice.happensOnceIn(4)) world.lostMessages.push(...proc.queue.splice(0).map(({ id }) => id))
    world.submit({
      type: 'member_running',
      member: proc.id,
      uuid: proc.uuid,
      turn: proc.reading ? proc.turn : null,
      queued: proc.queue.length,
    })
  }
}

/** Starts a crew with one to seven tasks. */
export function startCrew(world: CrewWorld, dice: Dice): void {
  world.submit({ type: 'begin' })
  const count = 1 + (dice.nextNumber() % 7)
  addTasks(
    world,
    Array.from({ length: count }, (_, index) => ({
      id: `t${index}`,
      title: `number ${index}`,
      text: 'write it',
      needs: index > 0 && dice.happensOnceIn(3) ? [`t${index - 1}`] : [],
      ...(dice.happensOnceIn(7) ? { kind: 'human' as const } : {}),
      ...(dice.happensOnceIn(7) ? { role: 'researcher' as const } : {}),
      ...(dice.happensOnceIn(6) ? { reviews: false } : {}),
      ...(dice.happensOnceIn(5) ? { limits: { budgetUsd: 0.06, maxSteps: 4 } } : {}),
      ...(dice.happensOnceIn(5) ? { model: dice.happensOnceIn(2) ? 'acme/big' : 'acme/small' } : {}),
      ...(dice.happensOnceIn(9) ? { agent: 'other' } : {}),
    })),
  )
}
