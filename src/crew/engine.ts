// The coordinator without a model: what it would say next, or null. It gives out reviews before tasks, tasks in the order in which
// they were added, keeps somebody who can review, starts workers where there are too few, fails what nobody can do, and ends the crew when nothing is open.
// Owns no state: asked again after each of its commands. Must never give a task to who is paused, full, or about to go.
// Tests: test/tables/crew-engine.test.ts, test/simulation/crew.test.ts.
import { mayAsk } from './asking.ts'
import { canReview, canWork, isFree, isReady, leavesReviewer, openTasks, willBeFree, workersOf } from './finding.ts'
import { maySpawn } from './leading.ts'
import type { Command } from './commands.ts'
import type { Crew, CrewSpec, Member, Task, WorkerRole } from './types.ts'

type Say = Command | null

export function engine(crew: Crew, spec: CrewSpec): Say {
  if (!crew.begun || crew.ending) return null
  return finish(crew, spec) ?? retireFull(crew) ?? review(crew, spec) ?? assign(crew, spec)
}

function finish(crew: Crew, { stay }: CrewSpec): Say {
  if (stay || crew.tasks.length === 0 || openTasks(crew).length > 0) return null
  const count = (state: Task['state']): number => crew.tasks.filter((task) => task.state === state).length
  const failed = count('failed')
  const parts = [`${count('done')} of ${crew.tasks.length} tasks are done`, failed > 0 && `${failed} failed`, count('cancelled') > 0 && `${count('cancelled')} were cancelled`]
  return { type: 'complete_crew', outcome: failed > 0 ? 'failed' : 'completed', summary: parts.filter(Boolean).join(', ') }
}

/** One whose context is used up makes room for another. */
function retireFull(crew: Crew): Say {
  const member = workersOf(crew).find((one) => one.full && one.phase === 'idle' && one.state === 'on' && one.turn.open === null)
  return member ? { type: 'retire_worker', member: member.id, reason: 'its context is used up' } : null
}

function review(crew: Crew, spec: CrewSpec): Say {
  for (const task of crew.tasks) {
    if (task.state !== 'awaiting_review' || !task.reviews || task.cleared) continue
    const say = reviewOf(crew, spec, task)
    if (say) return say
  }
  return null
}

/** By who never had it; else one is waited for or started; else by who had it earlier; else by a person. */
function reviewOf(crew: Crew, spec: CrewSpec, task: Task): Say {
  const byPerson: Say = mayAsk(crew) ? { type: 'ask_review', task: task.id } : null
  if (task.unreviewed >= spec.maxAttempts) return byPerson
  const able = workersOf(crew).filter((one) => canReview(one.role) && one.id !== task.implementer)
  const strangers = able.filter(({ id }) => !task.implementers.includes(id))
  const chosen = best(strangers.filter((one) => isFree(crew, one)), REVIEWERS)
  if (chosen) return { type: 'assign_review', task: task.id, member: chosen.id }
  if (strangers.some((one) => willBeFree(crew, one))) return null
  const role = roleFor(spec, REVIEWERS)
  if (role && maySpawn(crew, spec)) return { type: 'spawn_worker', role }
  if (strangers.length > 0) return byPerson
  const earlier = able.find((one) => isFree(crew, one))
  if (earlier) return { type: 'assign_review', task: task.id, member: earlier.id }
  return able.some((one) => willBeFree(crew, one)) ? null : byPerson
}

function assign(crew: Crew, spec: CrewSpec): Say {
  for (const task of crew.tasks) {
    if (task.kind === 'human' || !isReady(crew, task)) continue
    const say = assignmentOf(crew, spec, task)
    if (say) return say
  }
  return null
}

function assignmentOf(crew: Crew, spec: CrewSpec, task: Task): Say {
  const able = workersOf(crew).filter((one) => canWork(one.role, task))
  const chosen = worker(crew, task, able.filter((one) => isFree(crew, one)))
  if (chosen) return !task.reviews || leavesReviewer(crew, chosen.id, maySpawn(crew, spec) && roleFor(spec, REVIEWERS) !== undefined) ? { type: 'assign_task', task: task.id, member: chosen.id } : null
  const staff = spec.staff.reduce((sum, { count }) => sum + count, 0)
  if (able.some((one) => !one.held) && workersOf(crew).length >= staff) return null
  // One that is about to be free is enough.
  if (able.some((one) => one.state === 'starting' || (one.phase === 'idle' && !one.held && !one.full))) return null
  const role = roleFor(spec, task.role === 'researcher' ? RESEARCHERS : task.role === 'implementer' || task.role === null ? IMPLEMENTERS : GENERICS)
  if (role && maySpawn(crew, spec)) return { type: 'spawn_worker', role }
  return able.length === 0 ? { type: 'mark_task_failed', task: task.id, reason: `no worker can do it, and none can be started${lastLoss(crew)}` } : null
}

function lastLoss({ members, fruitless }: Crew): string {
  const last = members.findLast(({ leave }) => leave?.how === 'lost')
  return fruitless > 0 && last?.leave ? `: ${fruitless} in a row were lost; the last: ${last.leave.reason}` : ''
}

/** Who resolved or tried it before knows it; a try that failed is better made by another. */
function worker(crew: Crew, task: Task, free: readonly Member[]): Member | undefined {
  const parent = crew.tasks.find(({ conflict }) => conflict === task.id)
  const author = free.find(({ id }) => task.attempts === 0 && id === parent?.implementer)
  const order = task.role === 'researcher' ? RESEARCHERS : IMPLEMENTERS
  return author ?? best(free.filter(({ id }) => !task.implementers.includes(id)), order) ?? best(free, order)
}

const REVIEWERS: readonly WorkerRole[] = ['reviewer', 'generic', 'implementer']
const IMPLEMENTERS: readonly WorkerRole[] = ['implementer', 'generic']
const RESEARCHERS: readonly WorkerRole[] = ['researcher', 'generic']
const GENERICS: readonly WorkerRole[] = ['generic', 'implementer']

function best(members: readonly Member[], order: readonly WorkerRole[]): Member | undefined {
  for (const role of order) {
    const found = members.find((one) => one.role === role)
    if (found) return found
  }
  return undefined
}

/** The best role that the crew has a template for; of those that it was started with, if there is one. */
function roleFor({ roles, staff }: CrewSpec, order: readonly WorkerRole[]): WorkerRole | undefined {
  const made = order.filter((role) => roles[role] !== undefined)
  return made.find((role) => staff.some((one) => one.role === role)) ?? made[0]
}
