// The regular work in the simulated world of a crew: turns begin, continue and end, jobs end, and the user answers questions.
// The file random-faults.ts adds the faults. A worker decides only from the texts that it reads.
// Used by random-faults.ts, prepared-world.ts and tests.
import { nextEngineCommand } from '../../../src/kernel/crew/decide/engine.ts'
import { isIndependentJob, needsUnusedFiles } from '../../../src/kernel/crew/state/queries.ts'
import { resetFiles, commitFiles, commitResult, editFiles, keepFiles, keptFiles, reviewCommitOf } from './files.ts'
import type { Issuer, Command, WorkerCommand } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { MemberProcess, CrewWorld } from './world.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'

export function senderOfMember({ id, turn }: Pick<MemberProcess, 'id' | 'turn'>, call: string | null = null): Issuer {
  return { type: 'member', id, turn, call }
}

const USER: Issuer = { type: 'user' }

/** Whether a message waits, and no job needs the member's files. */
export function canBeginTurn({ crew }: CrewWorld, { id, queue }: MemberProcess): boolean {
  return queue.length > 0 && !crew.jobs.some((job) => job.member === id && needsUnusedFiles(job))
}

/** Starts a turn with the next message. */
export function beginTurn(world: CrewWorld, proc: MemberProcess): void {
  const message = proc.queue.shift()
  if (!message) return
  proc.turn += 1
  proc.reading = message
  proc.read.push(message.id)
  proc.plan = plannedCallsFor(proc.id, message.text)
  world.submit({ type: 'turn_begun', member: proc.id, turn: proc.turn, from: [message.from] })
}

/** Returns the tool calls with which a correct member follows a text. */
function plannedCallsFor(id: MemberId, text: string): string[] {
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

/** Performs the member's next planned call, or ends its turn. */
export function continueTurn(world: CrewWorld, proc: MemberProcess): void {
  const step = proc.plan.shift()
  if (step === undefined) return endTurn(world, proc, 'ok')
  if (step === 'interrupted') return endTurn(world, proc, 'interrupted')
  if (step === 'edit') editFiles(world, proc)
  else if (step === 'commit') commitFiles(world, proc)
  else if (step === 'lead') runCoordinatorTurn(world, proc)
  else if (step === 'replace') world.submit({ type: 'replace_worker', member: proc.id, summary: 'so far so good' }, senderOfMember(proc))
  else {
    const command = TOOLS[step]
    const refused = command && world.submit(command, senderOfMember(proc, `c${world.nextNumber()}`)) === null
    if (refused && step !== 'ready') proc.plan = ['ready']
  }
}

/** Plays a coordinator's turn: issues the commands that the engine would issue, and wakes idle members. */
export function runCoordinatorTurn(world: CrewWorld, proc: MemberProcess): void {
  const issuer = senderOfMember(proc)
  for (let count = 0; count < 50; count += 1) {
    const command = nextEngineCommand(world.crew, { ...world.spec, coordinator: 'engine' })
    if (!command || world.submit(command, issuer) === null) break
  }
  for (const task of world.crew.tasks) {
    const reviewed = task.state === 'approved' || (task.state === 'awaiting_review' && !task.reviews)
    if (reviewed && !task.cleared && world.spec.gate === 'coordinator') world.submit({ type: 'approve_commit', task: task.id }, issuer)
  }
  for (const member of world.crew.members) {
    const isIdle =
      member.state === 'on' &&
      member.role !== 'coordinator' &&
      member.turn.open === null &&
      !member.told &&
      !world.crew.jobs.some((job) => job.member === member.id)
    const duty = member.phase === 'reviewing' ? 'call report_review_verdict.' : 'go on, and call report_implementation_complete'
    if (isIdle && (member.phase === 'implementing' || member.phase === 'addressing_feedback' || member.phase === 'reviewing'))
      world.submit({ type: 'send_message', to: member.id, text: duty }, issuer)
  }
}

export function endTurn(world: CrewWorld, proc: MemberProcess, outcome: 'ok' | 'error' | 'interrupted'): void {
  proc.reading = null
  proc.plan = []
  world.submit({
    type: 'turn_ended',
    member: proc.id,
    turn: proc.turn,
    outcome,
    queued: proc.queue.length,
    text: 'my last words',
    spent: { steps: 1, costUsd: 0.01 },
  })
}

/** Ends a member's process. */
export function endProcess(world: CrewWorld, proc: MemberProcess, cause: 'parent' | 'person' | 'agent' | 'limit' | 'daemon'): void {
  proc.isAlive = false
  proc.isLeaving = false
  proc.isHeld = false
  proc.isMasked = false
  proc.reading = null
  proc.plan = []
  world.submit({ type: 'member_gone', member: proc.id, cause, reason: `ended by ${cause}` })
}

/** Performs the job as the daemon does, and submits its result. */
export function performJob(world: CrewWorld, job: Job): void {
  const result = resultOf(world, job)
  if (!result) return
  world.jobs = world.jobs.filter((openJob) => openJob.job !== job.job)
  world.answeredJobs.push({ job: job.job, result })
  world.submit({ type: 'job_done', job: job.job, result })
}

/** Performs the job, but its result is lost. */
export function performJobWithLostResult(world: CrewWorld, job: Job): void {
  if (job.type !== 'spawn') resultOf(world, job)
}

/** Returns the first open job of each member: jobs of one member run in order. */
export function nextJobOfEachMember(world: CrewWorld): Job[] {
  return world.jobs.filter(
    (job) =>
      isIndependentJob(job) ||
      !world.jobs.some((openJob) => openJob.member === job.member && !isIndependentJob(openJob) && openJob.job < job.job),
  )
}

/** Returns the job's result; null if it is not done yet. */
function resultOf(world: CrewWorld, job: Job): JobResult | null {
  if (!world.repository || job.type === 'spawn') return simulateResult(world, job)
  checkFilesUnused(world, job)
  const result = world.repository.perform(job)
  return result && 'read' in result && 'read' in job ? { ...result, read: readFacts(world, job.read) } : result
}

function readFacts(world: CrewWorld, seqs: readonly number[]): CrewFact[] {
  return seqs.flatMap((seq) => world.journal[seq - 1] ?? [])
}

/** Fails when a member is in a turn while a job uses its files. */
function checkFilesUnused(world: CrewWorld, job: Exclude<Job, { type: 'spawn' }>): void {
  const { id, turn, reading, isAlive } = world.requireProcess(job.member)
  const isOpen = reading !== null && isAlive && (job.type !== 'setup' || turn > 0)
  if (isOpen && needsUnusedFiles(job)) throw new Error(`the files of ${id} are needed for ${job.type}, but the member is in a turn`)
  if (job.type === 'prepare' && job.from !== null && world.requireProcess(job.from).isAlive)
    throw new Error(`the files of ${job.from} are taken away, but its process runs`)
}

function simulateResult(world: CrewWorld, job: Job): JobResult {
  if (job.type === 'spawn') {
    const proc = world.procs.get(job.member)
    return { type: 'spawned', uuid: proc ? proc.uuid : world.spawn(job.member) }
  }
  const proc = world.requireProcess(job.member)
  const readFactsBySeq = (seqs: readonly number[]): CrewFact[] => readFacts(world, seqs)
  checkFilesUnused(world, job)
  switch (job.type) {
    case 'setup': {
      return {
        type: 'setUp',
        command: 'make',
        ran: { end: 'exited', code: 0, signal: null, ms: 5, output: 'made', left: 0 },
        copied: 1,
        skipped: [],
      }
    }
    case 'prepare': {
      const { isDirty, files } =
        job.from === null ? { isDirty: job.keeps !== undefined, files: keptFiles(world, job) } : world.requireProcess(job.from)
      Object.assign(proc, { isDirty, files, commit: null })
      const keptFields =
        job.keeps && job.from === null && world.filesByCommit.has(`ref of ${job.task}`) ? { kept: `refs/${job.keeps}/${job.task}` } : {}
      return { type: 'prepared', base: world.spec.git ? 'base' : null, read: readFactsBySeq(job.read), ...keptFields }
    }
    case 'park': {
      keepFiles(world, job.task, proc.files)
      return { type: 'parked' }
    }
    case 'brief':
      return {
        type: 'briefed',
        dir: '/files',
        branch: 'b',
        head: reviewCommitOf(world, world.procs.get(job.implementer ?? job.member), job),
        read: readFactsBySeq(job.read),
      }
    case 'check':
      return { type: 'checked', files: [], tasks: [] }
    case 'commit':
      return commitResult(world, proc, job)
    case 'verify': {
      const files = job.merge ? (world.filesByCommit.get(job.merge.candidate) ?? 'unknown') : proc.files
      // One version of the files in five fails verify, and some fail only when they are merged.
      const isRed = Number(/\d+/.exec(files)?.[0] ?? 1) % 5 === 0 || (job.merge !== undefined && files.length % 4 === 0)
      return {
        type: 'verified',
        command: 'make check',
        ran: { end: 'exited', code: isRed ? 1 : 0, signal: null, ms: 5, output: isRed ? 'not ok' : 'ok', left: 0 },
        commit: files,
        tree: files,
        changed: [],
      }
    }
    case 'merge': {
      const files = world.filesByCommit.get(job.commit) ?? 'unknown'
      const tree = world.mergeCounts.size === 0 ? files : `${files} and ${[...world.mergeCounts.keys()].join()}`
      world.filesByCommit.set(`m-${job.commit}`, tree)
      return { type: 'candidate', candidate: `m-${job.commit}`, head: 'head', tree }
    }
    case 'land': {
      world.mergeCounts.set(job.task, 1)
      return { type: 'merged', merged: job.candidate }
    }
    case 'reset':
    case 'salvage': {
      const ref = proc.isDirty ? `refs/salvage/${proc.id}` : null
      if (job.type === 'reset') resetFiles(proc)
      return { type: 'salvaged', ref }
    }
  }
}

/** Answers a question as the user. */
export function answerQuestion(world: CrewWorld, id: string, option: string, text: string | null): void {
  const task = world.openQuestions.get(id)
  if (task === undefined) return
  world.openQuestions.delete(id)
  world.submit({ type: 'answered', task, id, option, text })
}

/** Runs the world to its end without pauses and crashes; members follow their texts. Returns the number of commands. */
export function runWithoutFaults(world: CrewWorld, bound: number): number {
  const commandsBefore = world.commandCount
  for (const proc of world.procs.values()) if (proc.isHeld) setMemberHeld(world, proc, false)
  if (world.isPaused) setCrewPaused(world, false)
  let woken = 0
  while (!isOver(world)) {
    if (world.commandCount - commandsBefore > bound) throw new Error(`the crew has not ended within ${bound} commands`)
    if (!playAct(world)) {
      woken += 1
      if (woken > 20 || !promptCoordinator(world))
        throw new Error(
          `no act is possible: ${[...world.crew.tasks, ...world.crew.members].map((item) => JSON.stringify(item)).join('\n')}`,
        )
    }
  }
  return world.commandCount - commandsBefore
}

function isOver({ crew, spec, outcome }: CrewWorld): boolean {
  return (
    outcome !== null ||
    (spec.stay &&
      crew.tasks.every(({ state }) => state === 'done' || state === 'failed' || state === 'cancelled') &&
      crew.jobs.length === 0)
  )
}

export function setMemberHeld(world: CrewWorld, proc: MemberProcess, isHeld: boolean, reason = 'user'): void {
  proc.isHeld = isHeld
  world.submit({ type: 'member_held', member: proc.id, held: isHeld, ...(isHeld ? { reason } : {}) })
}

/** Pauses or resumes the crew's own process. */
export function setCrewPaused(world: CrewWorld, paused: boolean): void {
  world.isPaused = paused
  if (!paused) world.submit({ type: 'unpaused' })
}

/** Performs one possible act. Returns false if there is none. */
export function playAct(world: CrewWorld): boolean {
  const [job] = nextJobOfEachMember(world)
  if (job) {
    performJob(world, job)
    return true
  }
  for (const proc of world.procs.values()) {
    if (!proc.isAlive) continue
    if (proc.isLeaving) endProcess(world, proc, 'parent')
    else if (proc.reading) continueTurn(world, proc)
    else if (canBeginTurn(world, proc)) beginTurn(world, proc)
    else continue
    return true
  }
  const [ask] = world.openQuestions.keys()
  if (ask !== undefined)
    answerQuestion(
      world,
      ask,
      world.crew.tasks.find(({ id }) => id === world.openQuestions.get(ask))?.kind === 'human' ? 'done' : 'approve',
      null,
    )
  return ask !== undefined
}

/** Continues, as the user, a crew that stands still: it has no coordinator, or one that ignored its notices. */
function promptCoordinator(world: CrewWorld): boolean {
  const { crew, spec } = world
  if (spec.coordinator === 'engine') return false
  const coordinator = [...world.procs.values()].findLast(
    ({ id }) => id.startsWith('coordinator') && crew.members.find((member) => member.id === id)?.heir === null,
  )
  if (!coordinator?.isAlive)
    return (
      (coordinator !== undefined && resumeDeadMember(world, coordinator)) ||
      world.submit({ type: 'replace_worker', member: 'coordinator', summary: 'begin anew' }, USER) !== null
    )
  return world.submit({ type: 'send_message', to: coordinator.id, text: 'go on' }, USER) !== null
}

/** Resumes a dead member as the user. Returns false if its process lives, or if it was retired or replaced. */
export function resumeDeadMember(world: CrewWorld, proc: MemberProcess): boolean {
  const member = world.crew.members.find(({ id }) => id === proc.id)
  if (proc.isAlive || member?.leave?.how === 'retired' || member?.leave?.how === 'replaced' || member?.heir !== null) return false
  proc.isAlive = true
  world.submit({ type: 'member_running', member: proc.id, uuid: proc.uuid, turn: null, queued: proc.queue.length })
  return true
}

export function addTasks(world: CrewWorld, tasks: Extract<Command, { type: 'add_tasks' }>['tasks']): void {
  world.submit({ type: 'add_tasks', tasks }, USER)
}
