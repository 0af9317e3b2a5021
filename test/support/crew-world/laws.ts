// Checks the invariants ("laws") of a crew after every command: of tasks, phases, reviews and commits, and that nothing happens
// twice. The laws compare the crew's row and journal with the records of the world, and call no decision. Called by world.ts.
import { needsReview, canRoleReview, isFree } from '../../../src/kernel/crew/state/queries.ts'
import { awaitsVerify } from '../../../src/kernel/crew/state/verify-rules.ts'
import type { CrewFact } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew, Member, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { CrewWorld } from './world.ts'
import type { Phase, TaskState } from '../../../src/kernel/model/crew/words.ts'

/** The task states that are possible in each phase of its worker. */
const TASK_STATES_BY_PHASE: Readonly<Record<Phase, readonly TaskState[]>> = {
  idle: [],
  implementing: ['implementing'],
  awaiting_review: ['awaiting_review', 'in_review', 'approved', 'waiting'],
  addressing_feedback: ['addressing_feedback'],
  reviewing: ['in_review'],
  committing: ['committing'],
}

/** The allowed transitions between phases, written independently of the kernel's table. */
const PHASE_TRANSITIONS: Readonly<Record<Phase, readonly Phase[]>> = {
  idle: ['implementing', 'reviewing', 'awaiting_review'],
  implementing: ['awaiting_review', 'idle'],
  awaiting_review: ['reviewing', 'committing', 'addressing_feedback', 'idle'],
  addressing_feedback: ['awaiting_review', 'idle'],
  reviewing: ['idle', 'awaiting_review'],
  committing: ['awaiting_review', 'idle'],
}
const CLOSED: readonly TaskState[] = ['done', 'failed', 'cancelled']

export function requireLaw(holds: boolean, message: string): void {
  if (!holds) throw new Error(`broken: ${message}`)
}

export function checkLaws(world: CrewWorld, before: Crew, facts: readonly CrewFact[]): void {
  const { crew } = world
  if (facts.length === 0) requireLaw(crew === before, 'a command without facts changes nothing')
  for (const member of crew.members) checkMember(world, member)
  for (const task of crew.tasks) checkTask(crew, task)
  checkQueue(crew)
  requireLaw(new Set(crew.members.map(({ id }) => id)).size === crew.members.length, 'no member has the name of another')
  requireLaw(new Set(crew.tasks.map(({ id }) => id)).size === crew.tasks.length, 'no task has the name of another')
  for (const previous of before.tasks) checkTaskTransition(crew, previous, facts)
  for (const previous of before.members) checkPhaseTransition(crew, previous, facts)
  for (const fact of facts) checkFact(world, fact)
  checkEngine(world)
}

/** With the engine as coordinator, no eligible reviewer is idle while a task waits for its review. */
function checkEngine({ crew, spec, isPaused }: CrewWorld): void {
  if (spec.coordinator !== 'engine' || isPaused || crew.ending || !crew.begun) return
  for (const task of crew.tasks.filter((candidate) => needsReview(candidate) && !awaitsVerify(crew, spec, candidate))) {
    const idleReviewers = crew.members.filter(
      (member) =>
        canRoleReview(member.role) &&
        member.id !== task.implementer &&
        !task.implementers.includes(member.id) &&
        !task.silent?.members.includes(member.id) &&
        isFree(crew, member),
    )
    requireLaw(
      task.unreviewed >= 10 || idleReviewers.length === 0,
      `${task.id} waits for a review, and ${idleReviewers.map(({ id }) => id).join()} is idle`,
    )
  }
}

/** Only one task lands at a time. A task that waits for its conflict task does not count. */
function checkQueue({ tasks }: Crew): void {
  const landing = tasks.filter(({ state, conflict }) => conflict === null && (state === 'committing' || state === 'merging'))
  requireLaw(landing.length <= 1, `only one task may land at a time, not ${landing.map(({ id, state }) => `${id} (${state})`).join(', ')}`)
}

function checkMember({ crew, procs }: CrewWorld, member: Member): void {
  const { id, phase, task: taskId, state, uuid } = member
  requireLaw((phase === 'idle') === (taskId === null), `${id} is ${phase} with ${taskId}`)
  if (state === 'gone') requireLaw(phase === 'idle' && member.turn.open === null, `${id} is gone, and ${phase}`)
  if (member.heir !== null) requireLaw(phase === 'idle', `${id} has an heir, and is ${phase}`)
  if (state === 'on' || state === 'leaving') requireLaw(uuid !== null && procs.has(id), `${id} is ${state}, and has no process`)
  const task = crew.tasks.find((candidate) => candidate.id === taskId)
  if (taskId !== null)
    requireLaw(
      task !== undefined && TASK_STATES_BY_PHASE[phase].includes(task.state),
      `${id} is ${phase} with ${taskId}, which is ${task?.state}`,
    )
  if (task && phase === 'reviewing') requireLaw(task.reviewer === id, `${id} reviews ${taskId}, which ${task.reviewer} reviews`)
  else if (task) requireLaw(task.implementer === id, `${id} is ${phase} with ${taskId}, which is ${task.implementer}'s`)
  const ownTask = crew.tasks.find((candidate) => candidate.id === member.own)
  requireLaw(
    !member.own ||
      (phase === 'reviewing' &&
        ownTask?.implementer === id &&
        ['addressing_feedback', ...TASK_STATES_BY_PHASE.awaiting_review].includes(ownTask.state)),
    `${id} is ${phase}, and its own ${member.own} is ${ownTask?.state}`,
  )
  const proc = procs.get(id)
  if (proc?.isAlive && state === 'on') {
    requireLaw(proc.isMasked === (phase === 'committing'), `${id} is ${phase}, and its signals are ${proc.isMasked ? '' : 'not '}blocked`)
    requireLaw(member.turn.open === null || member.turn.open === proc.turn, `${id} is in turn ${proc.turn}, not ${member.turn.open}`)
  }
}

function checkTask(crew: Crew, task: Task): void {
  const { id, state, implementer, reviewer } = task
  const holders = crew.members.filter((member) => member.task === id || member.own === id)
  requireLaw(holders.filter(({ phase, own }) => phase !== 'reviewing' || own === id).length <= 1, `${id} has one implementer`)
  requireLaw(holders.filter(({ phase, task: heldTask }) => phase === 'reviewing' && heldTask === id).length <= 1, `${id} has one reviewer`)
  if (CLOSED.includes(state) || state === 'queued' || state === 'merging')
    requireLaw(holders.length === 0, `${id} is ${state}, and ${holders.map((holder) => holder.id).join()} has it`)
  if (state === 'implementing' || state === 'addressing_feedback')
    requireLaw(
      holders.some((holder) => holder.id === implementer),
      `${id} is ${state}, and no member has it`,
    )
  // The user is asked for the review, and the worker has left meanwhile; the files for the review still exist.
  const hasLeft = crew.members.some((member) => member.id === implementer && member.task !== id && member.own !== id)
  if (state === 'awaiting_review')
    requireLaw(hasLeft || holders.some((holder) => holder.id === implementer), `${id} is ${state}, and no member has it`)
  if (state === 'in_review')
    requireLaw(
      holders.some((holder) => holder.id === reviewer) && (hasLeft || holders.length === 2),
      `${id} is in review, and ${holders.length} have it`,
    )
  const holder = holders.find((holder) => holder.id === implementer)
  if (holder && task.kind !== 'conflict')
    requireLaw(
      holder.who?.agent === task.who?.agent && holder.who?.model === task.who?.model,
      `${id} is done by ${implementer}, which has another agent or model`,
    )
  if (reviewer !== null) requireLaw(reviewer !== implementer, `${implementer} reviews its own ${id}`)
  if (state === 'waiting') requireLaw(task.ask !== null, `${id} waits for the user, and the user is not asked`)
  else requireLaw(task.ask === null, `${id} is ${state}, and the user is asked`)
  if (CLOSED.includes(state)) requireLaw(task.times.ended !== null, `${id} is ${state}, and has no time of its end`)
}

/** A closed task opens again only by an explicit retry or reopen command. */
function checkTaskTransition(crew: Crew, previous: Task, facts: readonly CrewFact[]): void {
  const current = crew.tasks.find(({ id }) => id === previous.id)
  requireLaw(current !== undefined, `${previous.id} is lost`)
  const openings = facts.filter((fact) => (fact.type === 'task.retried' || fact.type === 'task.reopened') && fact.task === previous.id)
  for (const fact of openings)
    requireLaw(
      fact.type === (previous.state === 'done' ? 'task.reopened' : 'task.retried'),
      `${previous.id} was ${previous.state}: ${fact.type}`,
    )
  requireLaw(openings.length <= 1, `${previous.id} is opened again twice at once`)
  if (CLOSED.includes(previous.state) && openings.length === 0)
    requireLaw(current?.state === previous.state, `${previous.id} was ${previous.state}, and is ${current?.state}`)
}

/** Phases follow the transitions; one command may take several, and a successor may start in any phase. */
function checkPhaseTransition(crew: Crew, previous: Member, facts: readonly CrewFact[]): void {
  const current = crew.members.find(({ id }) => id === previous.id)
  requireLaw(current !== undefined, `${previous.id} is lost`)
  if (
    !current ||
    current.phase === previous.phase ||
    facts.some((fact) => fact.type === 'crew.replaced' && (fact.heir === previous.id || fact.member === previous.id))
  )
    return
  const canReach = (from: Phase, depth: number): boolean =>
    PHASE_TRANSITIONS[from].some((to) => to === current.phase || (depth > 0 && canReach(to, depth - 1)))
  requireLaw(canReach(previous.phase, 3), `${previous.id} went from ${previous.phase} to ${current.phase}`)
}

/** The task's facts since it was added or opened again. */
function factsSinceOpening(journal: readonly CrewFact[], task: string): readonly CrewFact[] {
  const taskFacts = journal.filter((fact) => 'task' in fact && fact.task === task)
  return taskFacts.slice(taskFacts.findLastIndex(({ type }) => type === 'task.retried' || type === 'task.reopened') + 1)
}

function checkFact({ crew, spec, mergeCounts, journal, filesByCommit }: CrewWorld, fact: CrewFact): void {
  const files = fact.type === 'task.merged' ? filesByCommit.get(fact.merged) : undefined
  if (
    spec.verify &&
    fact.type === 'task.merged' &&
    files !== undefined &&
    crew.tasks.find(({ id }) => id === fact.task)?.role !== 'researcher'
  ) {
    requireLaw(
      journal.some((earlierFact) => earlierFact.type === 'task.verify' && earlierFact.ok && earlierFact.tree === files),
      `${fact.task} is on the branch with ${files}, which never passed verify`,
    )
  }
  if (spec.verify && fact.type === 'task.review') {
    const lastVerify = journal.findLast(
      (earlierFact) => (earlierFact.type === 'task.verify' || earlierFact.type === 'task.reported') && earlierFact.task === fact.task,
    )
    requireLaw(
      (lastVerify?.type === 'task.verify' && lastVerify.ok) || crew.tasks.find(({ id }) => id === fact.task)?.role === 'researcher',
      `${fact.task} is reviewed, and its files did not pass verify`,
    )
  }
  if (fact.type === 'task.review') {
    const assignments = journal.filter(
      (earlierFact) => earlierFact.type === 'task.assigned' && earlierFact.task === fact.task && earlierFact.member === fact.member,
    )
    requireLaw(
      assignments.length === 0 || fact.earlier === true,
      `${fact.member} had ${fact.task} earlier, and the fact of its review does not record that`,
    )
  }
  if (fact.type === 'task.requeued' && fact.counts) {
    const before = journal.slice(0, journal.indexOf(fact))
    const sinceAssignment = before.slice(
      before.findLastIndex((earlierFact) => earlierFact.type === 'task.assigned' && earlierFact.task === fact.task),
    )
    const holders = sinceAssignment.flatMap((earlierFact) =>
      earlierFact.type === 'task.assigned' && earlierFact.task === fact.task
        ? [earlierFact.member]
        : earlierFact.type === 'crew.replaced'
          ? [earlierFact.heir]
          : [],
    )
    requireLaw(
      sinceAssignment.some((earlierFact) => earlierFact.type === 'crew.turn.begun' && holders.includes(earlierFact.member)),
      `an attempt at ${fact.task} counts, and no member had a turn`,
    )
  }
  if (fact.type === 'task.done' || fact.type === 'task.failed' || fact.type === 'task.cancelled') {
    const endings = factsSinceOpening(journal, fact.task).filter(
      ({ type }) => type === 'task.done' || type === 'task.failed' || type === 'task.cancelled',
    )
    requireLaw(endings.length === 1, `${fact.task} ends ${endings.length} times in one opening`)
  }
  if (fact.type === 'crew.turn.begun') {
    const turns = journal.filter(
      (earlierFact) =>
        (earlierFact.type === 'crew.turn.begun' || earlierFact.type === 'crew.turn' || earlierFact.type === 'crew.left') &&
        earlierFact.member === fact.member,
    )
    requireLaw(turns[turns.indexOf(fact) - 1]?.type !== 'crew.turn.begun', `${fact.member} is in two turns at once`)
  }
  if (fact.type === 'task.merged' && crew.tasks.find(({ id }) => id === fact.task)?.kind !== 'conflict') {
    requireLaw(
      factsSinceOpening(journal, fact.task).filter((mergeFact) => mergeFact.type === 'task.merged').length === 1,
      `${fact.task} is merged twice`,
    )
  }
  if (fact.type === 'task.verdict' && fact.member !== null && fact.verdict === 'APPROVED' && spec.git) {
    requireLaw(
      journal.some(
        (earlierFact) => earlierFact.type === 'task.briefed' && earlierFact.task === fact.task && earlierFact.head !== undefined,
      ),
      `${fact.task} is approved, and the approved files are unknown`,
    )
  }
  if (fact.type === 'task.committed') {
    const { verdict, viewed } = crew.tasks.find(({ id }) => id === fact.task) ?? {}
    const isReviewed = verdict === 'APPROVED' && typeof viewed === 'string'
    requireLaw(
      !isReviewed || filesByCommit.get(fact.commit) === filesByCommit.get(viewed),
      `${fact.task} is committed as ${fact.commit}, and was approved as ${viewed}`,
    )
    // If the merged files fail verify, the worker continues with the change.
    const taskFacts = factsSinceOpening(journal, fact.task)
    const lastFailedVerify = taskFacts.findLastIndex(
      (earlierFact) => earlierFact.type === 'task.verify' && earlierFact.stage === 'merge' && !earlierFact.ok,
    )
    const commitCount = taskFacts.slice(lastFailedVerify + 1).filter((laterFact) => laterFact.type === 'task.committed').length
    requireLaw(commitCount === 1 || crew.tasks.find(({ id }) => id === fact.task)?.kind === 'conflict', `${fact.task} is committed twice`)
    requireLaw((mergeCounts.get(fact.task) ?? 0) === 0, `${fact.task} is committed after its merge`)
  }
}
