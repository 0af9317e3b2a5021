// Checks the invariants ("laws") of a crew after every command: of tasks, phases, reviews and commits, and that nothing happens
// twice. The laws read only the crew's row and the new facts, not the decisions. Used by test/support/crew-world/world.ts.
import { needsReview, canRoleReview, isFree } from '../../../src/kernel/crew/state/queries.ts'
import { awaitsVerify } from '../../../src/kernel/crew/state/verify-rules.ts'
import type { CrewFact } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew, Member, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { World } from './world.ts'
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

export function requireLaw(law: boolean, words: string): void {
  if (!law) throw new Error(`broken: ${words}`)
}

export function checkLaws(world: World, before: Crew, facts: readonly CrewFact[]): void {
  const { crew } = world
  if (facts.length === 0) requireLaw(crew === before, 'a command without facts changes nothing')
  for (const member of crew.members) checkMember(world, member)
  for (const task of crew.tasks) checkTask(crew, task)
  checkQueue(crew)
  requireLaw(new Set(crew.members.map(({ id }) => id)).size === crew.members.length, 'no member has the name of another')
  requireLaw(new Set(crew.tasks.map(({ id }) => id)).size === crew.tasks.length, 'no task has the name of another')
  for (const was of before.tasks) checkTaskTransition(crew, was, facts)
  for (const was of before.members) checkPhaseTransition(crew, was, facts)
  for (const fact of facts) checkFact(world, fact)
  checkEngine(world)
}

/** With the engine as coordinator, no eligible reviewer is idle while a task waits for its review. */
function checkEngine({ crew, spec, paused }: World): void {
  if (spec.coordinator !== 'engine' || paused || crew.ending || !crew.begun) return
  for (const task of crew.tasks.filter((one) => needsReview(one) && !awaitsVerify(crew, spec, one))) {
    const able = crew.members.filter(
      (one) =>
        canRoleReview(one.role) &&
        one.id !== task.implementer &&
        !task.implementers.includes(one.id) &&
        !task.silent?.members.includes(one.id) &&
        isFree(crew, one),
    )
    requireLaw(task.unreviewed >= 10 || able.length === 0, `${task.id} waits for a review, and ${able.map(({ id }) => id).join()} is idle`)
  }
}

/** Only one task lands at a time. A task that waits for its conflict task does not count. */
function checkQueue({ tasks }: Crew): void {
  const landing = tasks.filter(({ state, conflict }) => conflict === null && (state === 'committing' || state === 'merging'))
  requireLaw(landing.length <= 1, `one lands at a time, not ${landing.map(({ id, state }) => `${id} (${state})`).join(', ')}`)
}

function checkMember({ crew, procs }: World, member: Member): void {
  const { id, phase, task: taskId, state, uuid } = member
  requireLaw((phase === 'idle') === (taskId === null), `${id} is ${phase} with ${taskId}`)
  if (state === 'gone') requireLaw(phase === 'idle' && member.turn.open === null, `${id} is gone, and ${phase}`)
  if (member.heir !== null) requireLaw(phase === 'idle', `${id} has an heir, and is ${phase}`)
  if (state === 'on' || state === 'leaving') requireLaw(uuid !== null && procs.has(id), `${id} is there, and has no process`)
  const task = crew.tasks.find((one) => one.id === taskId)
  if (taskId !== null)
    requireLaw(
      task !== undefined && TASK_STATES_BY_PHASE[phase].includes(task.state),
      `${id} is ${phase} with ${taskId}, which is ${task?.state}`,
    )
  if (task && phase === 'reviewing') requireLaw(task.reviewer === id, `${id} reviews ${taskId}, which ${task.reviewer} reviews`)
  else if (task) requireLaw(task.implementer === id, `${id} is ${phase} with ${taskId}, which is ${task.implementer}'s`)
  const own = crew.tasks.find((one) => one.id === member.own)
  requireLaw(
    !member.own ||
      (phase === 'reviewing' &&
        own?.implementer === id &&
        ['addressing_feedback', ...TASK_STATES_BY_PHASE.awaiting_review].includes(own.state)),
    `${id} is ${phase}, and its own ${member.own} is ${own?.state}`,
  )
  const proc = procs.get(id)
  if (proc?.alive && state === 'on') {
    requireLaw(proc.masked === (phase === 'committing'), `${id} is ${phase}, and its signals are ${proc.masked ? '' : 'not '}blocked`)
    requireLaw(member.turn.open === null || member.turn.open === proc.turn, `${id} is in turn ${proc.turn}, not ${member.turn.open}`)
  }
}

function checkTask(crew: Crew, task: Task): void {
  const { id, state, implementer, reviewer } = task
  const holders = crew.members.filter((one) => one.task === id || one.own === id)
  requireLaw(holders.filter(({ phase, own }) => phase !== 'reviewing' || own === id).length <= 1, `${id} has one implementer`)
  requireLaw(holders.filter(({ phase, task: its }) => phase === 'reviewing' && its === id).length <= 1, `${id} has one reviewer`)
  if (CLOSED.includes(state) || state === 'queued' || state === 'merging')
    requireLaw(holders.length === 0, `${id} is ${state}, and ${holders.map((one) => one.id).join()} has it`)
  if (state === 'implementing' || state === 'addressing_feedback')
    requireLaw(
      holders.some((one) => one.id === implementer),
      `${id} is ${state}, and no member has it`,
    )
  // The user is asked for the review, and the worker has left meanwhile; the files for the review still exist.
  const hasGone = crew.members.some((one) => one.id === implementer && one.task !== id && one.own !== id)
  if (state === 'awaiting_review')
    requireLaw(hasGone || holders.some((one) => one.id === implementer), `${id} is ${state}, and no member has it`)
  if (state === 'in_review')
    requireLaw(
      holders.some((one) => one.id === reviewer) && (hasGone || holders.length === 2),
      `${id} is in review, and ${holders.length} have it`,
    )
  const doer = holders.find((one) => one.id === implementer)
  if (doer && task.kind !== 'conflict')
    requireLaw(
      doer.who?.agent === task.who?.agent && doer.who?.model === task.who?.model,
      `${id} is done by ${implementer}, which is another`,
    )
  if (reviewer !== null) requireLaw(reviewer !== implementer, `${implementer} reviews its own ${id}`)
  if (state === 'waiting') requireLaw(task.ask !== null, `${id} waits for the user, and the user is not asked`)
  else requireLaw(task.ask === null, `${id} is ${state}, and the user is asked`)
  if (CLOSED.includes(state)) requireLaw(task.times.ended !== null, `${id} has no end`)
}

/** A closed task opens again only by an explicit retry or reopen command. */
function checkTaskTransition(crew: Crew, was: Task, facts: readonly CrewFact[]): void {
  const now = crew.tasks.find(({ id }) => id === was.id)
  requireLaw(now !== undefined, `${was.id} is lost`)
  const opens = facts.filter((fact) => (fact.type === 'task.retried' || fact.type === 'task.reopened') && fact.task === was.id)
  for (const fact of opens)
    requireLaw(fact.type === (was.state === 'done' ? 'task.reopened' : 'task.retried'), `${was.id} was ${was.state}: ${fact.type}`)
  requireLaw(opens.length <= 1, `${was.id} is opened again twice at once`)
  if (CLOSED.includes(was.state) && opens.length === 0)
    requireLaw(now?.state === was.state, `${was.id} was ${was.state}, and is ${now?.state}`)
}

/** Phases follow the transitions; one command may take several, and a successor may start in any phase. */
function checkPhaseTransition(crew: Crew, was: Member, facts: readonly CrewFact[]): void {
  const now = crew.members.find(({ id }) => id === was.id)
  requireLaw(now !== undefined, `${was.id} is lost`)
  if (
    !now ||
    now.phase === was.phase ||
    facts.some((fact) => fact.type === 'crew.replaced' && (fact.heir === was.id || fact.member === was.id))
  )
    return
  const reached = (from: Phase, depth: number): boolean =>
    PHASE_TRANSITIONS[from].some((to) => to === now.phase || (depth > 0 && reached(to, depth - 1)))
  requireLaw(reached(was.phase, 3), `${was.id} went from ${was.phase} to ${now.phase}`)
}

/** The task's facts since it was added or opened again. */
function factsSinceOpening(journal: readonly CrewFact[], task: string): readonly CrewFact[] {
  const own = journal.filter((fact) => 'task' in fact && fact.task === task)
  return own.slice(own.findLastIndex(({ type }) => type === 'task.retried' || type === 'task.reopened') + 1)
}

function checkFact({ crew, spec, merges, journal, trees }: World, fact: CrewFact): void {
  const files = fact.type === 'task.merged' ? trees.get(fact.merged) : undefined
  if (
    spec.verify &&
    fact.type === 'task.merged' &&
    files !== undefined &&
    crew.tasks.find(({ id }) => id === fact.task)?.role !== 'researcher'
  ) {
    requireLaw(
      journal.some((one) => one.type === 'task.verify' && one.ok && one.tree === files),
      `${fact.task} is on the branch with ${files}, which was never green`,
    )
  }
  if (spec.verify && fact.type === 'task.review') {
    const last = journal.findLast((one) => (one.type === 'task.verify' || one.type === 'task.reported') && one.task === fact.task)
    requireLaw(
      (last?.type === 'task.verify' && last.ok) || crew.tasks.find(({ id }) => id === fact.task)?.role === 'researcher',
      `${fact.task} is reviewed, and was not verified`,
    )
  }
  if (fact.type === 'task.review') {
    const others = journal.filter((one) => one.type === 'task.assigned' && one.task === fact.task && one.member === fact.member)
    requireLaw(others.length === 0 || fact.earlier === true, `${fact.member} had ${fact.task} earlier, and reviews it unsaid`)
  }
  if (fact.type === 'task.requeued' && fact.counts) {
    const before = journal.slice(0, journal.indexOf(fact))
    const since = before.slice(before.findLastIndex((one) => one.type === 'task.assigned' && one.task === fact.task))
    const holders = since.flatMap((one) =>
      one.type === 'task.assigned' && one.task === fact.task ? [one.member] : one.type === 'crew.replaced' ? [one.heir] : [],
    )
    requireLaw(
      since.some((one) => one.type === 'crew.turn.begun' && holders.includes(one.member)),
      `${fact.task} was tried, and no member had a turn`,
    )
  }
  if (fact.type === 'task.done' || fact.type === 'task.failed' || fact.type === 'task.cancelled') {
    const ends = factsSinceOpening(journal, fact.task).filter(
      ({ type }) => type === 'task.done' || type === 'task.failed' || type === 'task.cancelled',
    )
    requireLaw(ends.length === 1, `${fact.task} ends ${ends.length} times in one opening`)
  }
  if (fact.type === 'crew.turn.begun') {
    const turns = journal.filter(
      (one) => (one.type === 'crew.turn.begun' || one.type === 'crew.turn' || one.type === 'crew.left') && one.member === fact.member,
    )
    requireLaw(turns[turns.indexOf(fact) - 1]?.type !== 'crew.turn.begun', `${fact.member} is in two turns at once`)
  }
  if (fact.type === 'task.merged' && crew.tasks.find(({ id }) => id === fact.task)?.kind !== 'conflict') {
    requireLaw(
      factsSinceOpening(journal, fact.task).filter((one) => one.type === 'task.merged').length === 1,
      `${fact.task} is merged twice`,
    )
  }
  if (fact.type === 'task.verdict' && fact.member !== null && fact.verdict === 'APPROVED' && spec.git) {
    requireLaw(
      journal.some((one) => one.type === 'task.briefed' && one.task === fact.task && one.head !== undefined),
      `${fact.task} is approved, and the approved form is unknown`,
    )
  }
  if (fact.type === 'task.committed') {
    const { verdict, viewed } = crew.tasks.find(({ id }) => id === fact.task) ?? {}
    const isReviewed = verdict === 'APPROVED' && typeof viewed === 'string'
    requireLaw(
      !isReviewed || trees.get(fact.commit) === trees.get(viewed),
      `${fact.task} is committed as ${fact.commit}, and was approved as ${viewed}`,
    )
    // If the merged files fail verify, the worker continues with the change.
    const own = factsSinceOpening(journal, fact.task)
    const back = own.findLastIndex((one) => one.type === 'task.verify' && one.stage === 'merge' && !one.ok)
    const times = own.slice(back + 1).filter((one) => one.type === 'task.committed').length
    requireLaw(times === 1 || crew.tasks.find(({ id }) => id === fact.task)?.kind === 'conflict', `${fact.task} is committed twice`)
    requireLaw((merges.get(fact.task) ?? 0) === 0, `${fact.task} is committed after its merge`)
  }
}
