// What must hold of a crew after every command, whatever was said: laws of tasks, phases, reviews and commits, and that what happens
// to one never happens twice. They read the row and the new facts, and know nothing of how they were decided.
// Used by test/support/crew-world/world.ts.
import type { CrewFact } from '../../../src/crew/facts.ts'
import type { Crew, Member, Phase, Task, TaskState } from '../../../src/crew/types.ts'
import type { World } from './world.ts'

/** Where a task may be while somebody who holds it is in a phase. */
const PLACES: Readonly<Record<Phase, readonly TaskState[]>> = {
  idle: [],
  implementing: ['implementing'],
  awaiting_review: ['awaiting_review', 'in_review', 'approved', 'waiting'],
  addressing_feedback: ['addressing_feedback'],
  reviewing: ['in_review'],
  committing: ['committing'],
}

/** The edges of phases, written down a second time. */
const EDGES: Readonly<Record<Phase, readonly Phase[]>> = {
  idle: ['implementing', 'reviewing'],
  implementing: ['awaiting_review', 'idle'],
  awaiting_review: ['committing', 'addressing_feedback', 'idle'],
  addressing_feedback: ['awaiting_review', 'idle'],
  reviewing: ['idle'],
  committing: ['idle'],
}
const CLOSED: readonly TaskState[] = ['done', 'failed', 'cancelled']

export function need(law: boolean, words: string): void {
  if (!law) throw new Error(`broken: ${words}`)
}

export function checkLaws(world: World, before: Crew, facts: readonly CrewFact[]): void {
  const { crew } = world
  if (facts.length === 0) need(crew === before, 'who says nothing changes nothing')
  for (const member of crew.members) lawsOfMember(world, member)
  for (const task of crew.tasks) lawsOfTask(crew, task)
  need(crew.tasks.filter(({ state }) => state === 'committing').length <= 1, 'one commits at a time')
  need(new Set(crew.members.map(({ id }) => id)).size === crew.members.length, 'no member has the name of another')
  need(new Set(crew.tasks.map(({ id }) => id)).size === crew.tasks.length, 'no task has the name of another')
  for (const was of before.tasks) keepsState(crew, was)
  for (const was of before.members) keepsPhase(crew, was, facts)
  for (const fact of facts) lawsOfFact(world, fact)
}

function lawsOfMember({ crew, procs }: World, member: Member): void {
  const { id, phase, task: taskId, state, uuid } = member
  need((phase === 'idle') === (taskId === null), `${id} is ${phase} with ${taskId}`)
  if (state === 'gone') need(phase === 'idle' && member.turn.open === null, `${id} is gone, and ${phase}`)
  if (member.heir !== null) need(phase === 'idle', `${id} has an heir, and is ${phase}`)
  if (state === 'on' || state === 'leaving') need(uuid !== null && procs.has(id), `${id} is there, and has no process`)
  const task = crew.tasks.find((one) => one.id === taskId)
  if (taskId !== null) need(task !== undefined && PLACES[phase].includes(task.state), `${id} is ${phase} with ${taskId}, which is ${task?.state}`)
  if (task && phase === 'reviewing') need(task.reviewer === id, `${id} reviews ${taskId}, which ${task.reviewer} reviews`)
  else if (task) need(task.implementer === id, `${id} is ${phase} with ${taskId}, which is ${task.implementer}'s`)
  const proc = procs.get(id)
  if (proc?.alive && state === 'on') {
    need(proc.masked === (phase === 'committing'), `${id} is ${phase}, and its signals are ${proc.masked ? '' : 'not '}blocked`)
    need(member.turn.open === null || member.turn.open === proc.turn, `${id} is in turn ${proc.turn}, not ${member.turn.open}`)
  }
}

function lawsOfTask(crew: Crew, task: Task): void {
  const { id, state, implementer, reviewer } = task
  const holders = crew.members.filter((one) => one.task === id)
  need(holders.filter(({ phase }) => phase !== 'reviewing').length <= 1, `${id} has one implementer`)
  need(holders.filter(({ phase }) => phase === 'reviewing').length <= 1, `${id} has one reviewer`)
  if (CLOSED.includes(state) || state === 'queued' || state === 'merging') need(holders.length === 0, `${id} is ${state}, and ${holders.map((one) => one.id).join()} has it`)
  if (state === 'implementing' || state === 'addressing_feedback' || state === 'awaiting_review') need(holders.some((one) => one.id === implementer), `${id} is ${state}, and nobody has it`)
  if (state === 'in_review') need(holders.length === 2, `${id} is in review, and ${holders.length} have it`)
  if (reviewer !== null) need(reviewer !== implementer, `${implementer} reviews its own ${id}`)
  if (state === 'waiting') need(task.ask !== null, `${id} waits for a person, and nobody is asked`)
  else need(task.ask === null, `${id} is ${state}, and a person is asked`)
  if (CLOSED.includes(state)) need(task.times.ended !== null, `${id} has no end`)
}

/** What is complete is never downgraded. */
function keepsState(crew: Crew, was: Task): void {
  const now = crew.tasks.find(({ id }) => id === was.id)
  need(now !== undefined, `${was.id} is lost`)
  if (CLOSED.includes(was.state)) need(now?.state === was.state, `${was.id} was ${was.state}, and is ${now?.state}`)
}

/** Phases go along their edges; one command may take several, and a successor begins anywhere. */
function keepsPhase(crew: Crew, was: Member, facts: readonly CrewFact[]): void {
  const now = crew.members.find(({ id }) => id === was.id)
  need(now !== undefined, `${was.id} is lost`)
  if (!now || now.phase === was.phase || facts.some((fact) => fact.type === 'crew.replaced' && (fact.heir === was.id || fact.member === was.id))) return
  const reached = (from: Phase, depth: number): boolean => EDGES[from].some((to) => to === now.phase || (depth > 0 && reached(to, depth - 1)))
  need(reached(was.phase, 3), `${was.id} went from ${was.phase} to ${now.phase}`)
}

function lawsOfFact({ crew, merges, journal }: World, fact: CrewFact): void {
  if (fact.type === 'task.review') {
    const others = journal.filter((one) => one.type === 'task.assigned' && one.task === fact.task && one.member === fact.member)
    need(others.length === 0 || fact.earlier === true, `${fact.member} had ${fact.task} earlier, and reviews it unsaid`)
  }
  if (fact.type === 'crew.turn.begun') {
    const turns = journal.filter((one) => (one.type === 'crew.turn.begun' || one.type === 'crew.turn' || one.type === 'crew.left') && one.member === fact.member)
    need(turns[turns.indexOf(fact) - 1]?.type !== 'crew.turn.begun', `${fact.member} is in two turns at once`)
  }
  if (fact.type === 'task.merged' && crew.tasks.find(({ id }) => id === fact.task)?.kind !== 'conflict') {
    need(journal.filter((one) => one.type === 'task.merged' && one.task === fact.task).length === 1, `${fact.task} is merged twice`)
  }
  if (fact.type === 'task.committed') {
    const times = journal.filter((one) => one.type === 'task.committed' && one.task === fact.task).length
    need(times === 1 || crew.tasks.find(({ id }) => id === fact.task)?.kind === 'conflict', `${fact.task} is committed twice`)
    need((merges.get(fact.task) ?? 0) === 0, `${fact.task} is committed after its merge`)
  }
}
