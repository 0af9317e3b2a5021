// What a crew waits for, in words, for people: nothing goes on without it. Owns no state.
// Must never guess: each word follows from the row. Test: test/tables/crew-engine.test.ts.
import { canWork, coordinatorOf, hasJobs, isBeyondReview, isLiving, isReady, isWorker, leavesReviewer, named, openTasks } from './finding.ts'
import { maySpawn } from './leading.ts'
import { words } from './tasking.ts'
import type { Crew, CrewSpec, Member, Task } from './types.ts'

/** By task, then by member; empty: nothing is open, or everybody is at work. */
export function waitsFor(crew: Crew, spec: CrewSpec): readonly string[] {
  const open = openTasks(crew)
  return [...open.flatMap((task) => ofTask(crew, spec, task) ?? []), ...crew.members.flatMap((member) => ofMember(member) ?? []), ...ofCrew(crew, spec, open)]
}

function ofTask(crew: Crew, spec: CrewSpec, task: Task): string | null {
  const holder = crew.members.find((one) => one.id === (task.state === 'in_review' ? task.reviewer : task.implementer) && one.task === task.id)
  if (task.ask) return `${named(task)} waits for a person: ${{ human: 'it is a task for one', gate: 'its commit is to be approved', review: 'no worker can review it' }[task.ask.for]} (reeve answer)`
  if (task.conflict !== null) return `${named(task)} is committed, and waits for ${task.conflict} to resolve its conflict`
  if (holder?.held) return `${named(task)} is ${words(task.state)} with ${holder.id}, which is paused${forReason(holder)}: nobody else takes it (reeve resume, or stop it)`
  if (task.state === 'approved' && task.cleared) return `${named(task)} is approved, and waits until another commit is done`
  if (task.state === 'approved') return `${named(task)} waits for the coordinator's approval`
  if (task.state === 'awaiting_review' && !task.reviews) return `${named(task)} waits for the coordinator's approval`
  if (isBeyondReview(crew, task)) return `${named(task)} waits for a review, and nobody is idle who could do it: ${others(crew, task)}`
  if (task.state === 'awaiting_review') return `${named(task)} waits for somebody to review it`
  return task.state === 'queued' ? queued(crew, spec, task) : null
}

function others(crew: Crew, task: Task): string {
  const waiting = crew.members.filter((one) => isWorker(one) && isLiving(one) && one.phase === 'awaiting_review' && one.id !== task.implementer).map(({ id }) => id)
  if (waiting.length === 0) return 'there is no other worker who reviews'
  return `${waiting.join(', ')} ${waiting.length === 1 ? 'awaits a review of its own' : 'await reviews of their own'}`
}

function queued(crew: Crew, spec: CrewSpec, task: Task): string | null {
  const open = crew.tasks.filter(({ id, state }) => task.needs.includes(id) && state !== 'done')
  if (open.length > 0) return `${named(task)} waits for ${open.map(({ id }) => id).join(', ')}`
  if (!isReady(crew, task)) return null
  const free = crew.members.filter((one) => isWorker(one) && isLiving(one) && one.phase === 'idle')
  const paused = free.filter(({ held }) => held)
  if (paused.length > 0 && paused.length === free.length) return `${named(task)} waits for a worker: ${paused.map(({ id }) => id).join(', ')} ${paused.length === 1 ? 'is' : 'are'} idle and paused`
  if (spec.coordinator === 'agent') return `${named(task)} waits for the coordinator to assign it`
  const kept = free.filter((one) => canWork(one.role, task) && !leavesReviewer(crew, one.id, false))
  if (task.reviews && kept.length > 0) return `${named(task)} waits for a worker: ${kept.map(({ id }) => id).join(', ')} is kept free to review, and ${spec.maxWorkers} may live`
  return `${named(task)} waits for a worker${maySpawn(crew, spec) ? '' : `: ${spec.maxWorkers} may live, and no more are started`}`
}

function ofMember({ id, state, leave }: Member): string | null {
  if (state === 'starting') return `${id} is being started`
  return state === 'leaving' ? `${id} is going: ${leave?.reason ?? 'it was asked to'}` : null
}

function ofCrew(crew: Crew, spec: CrewSpec, open: readonly Task[]): readonly string[] {
  const jobs = crew.jobs.filter(({ type }) => type !== 'spawn').map((job) => `${job.type} of ${'task' in job ? job.task : job.member} is under way`)
  const coordinator = coordinatorOf(crew)
  const nobody = spec.coordinator === 'agent' && !coordinator && crew.begun && !crew.members.some(({ role, state }) => role === 'coordinator' && state === 'starting')
  if (nobody) return [...jobs, 'nobody coordinates: resume or replace the coordinator, or stop the crew']
  if (coordinator?.held) return [...jobs, `${coordinator.id} is paused${forReason(coordinator)}`]
  const more = coordinator && !hasJobs(crew, coordinator.id) && open.length === 0 && crew.tasks.length > 0 && !crew.ending
  return more ? [...jobs, `${coordinator.id} has to end the crew, or add tasks`] : jobs
}

function forReason({ heldFor }: Member): string {
  return heldFor === undefined ? '' : ` (${heldFor})`
}
