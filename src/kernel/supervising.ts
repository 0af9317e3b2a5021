// Supervisors: what one makes of the end of a child, how a group is stopped and started again, how it stops its children
// before itself, and how it finds them when it begins. Owns the state that is between two ends: `Supervision` in its row.
// Never waits and never counts by PID: each end, each start and each wake asks `advance` what is next.
// Tests: test/tables/supervising.test.ts, test/simulation/supervision.test.ts.
import { others } from '../supervise/strategies.ts'
import { INTENSITY, comesBack, verdict } from '../supervise/verdict.ts'
import { isCrew, keepsChildren, mayGoOn, placeOf, rowsOf, type Place } from './children.ts'
import { answeredBy, tell } from './crewing.ts'
import { giveKept, moveLeft } from './crew-queues.ts'
import { goneWith, isLeaving, leaveReason, letGo, lookAfter, maskMember } from './crewmates.ts'
import { askOnce, nodeEnded, nodeRevived, runOn, tendRun } from './composing.ts'
import { KernelError } from './errors.ts'
import { terminate } from './release.ts'
import { again, againHeld, chanceOf, letBegin, restartAlone } from './restarting.ts'
import { presenceOf } from './member-news.ts'
import { settleNow } from './pausing.ts'
import { isRun } from './runs.ts'
import { deliver } from './signalling.ts'
import { placeTaken } from './spawning.ts'
import { isLiving, isSuspended } from './status.ts'
import type { MemberId } from '../crew/types.ts'
import type { InputOf } from './inputs.ts'
import type { ExitStatus, Process, Sender, Signal, Uuid } from './types.ts'
import type { Intensity, SupervisedChild } from './supervision.ts'
import type { Verdict } from '../supervise/verdict.ts'
import type { News, Work } from './work.ts'

/** What a child has to clean up when its supervisor stops it. */
const STOP_GRACE_MS = 10_000

/** What this decision has done that supervisors and policies must hear of; what they do about it may be more of it. */
export function heed(work: Work): void {
  for (let news = work.news.shift(); news; news = work.news.shift()) {
    switch (news.type) {
      case 'ended': afterEnd(work, news.uuid); break
      case 'begun': tend(work, news.uuid, news.kin); break
      case 'up': crewUp(work, news.uuid); break
      case 'settle': settleNow(work, news.uuid); break
      case 'woken': wokenUp(work, news.uuid); break
      case 'revived': revived(work, news.uuid); break
      case 'changed': advance(work, news.uuid); break
      case 'member': hearOf(work, news); break
      case 'answered': answeredBy(work, news.uuid, news); break
      case 'stopping': stopFamily(work, news.uuid, news.signal); break
    }
  }
}

/** An incarnation is released: whoever keeps it decides what becomes of it. */
function afterEnd(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  const { life, spec } = process
  const place = placeOf(work, process)
  if (life.state === 'dead' && place) childEnded(work, place, process, life.exit)
  else if (life.state === 'dead' && (spec.childId === undefined || keepsChildren(process))) restartAlone(work, process, life.exit)
  // It has come back already: it waits in its session for the end of a rate limit.
  else if (place) goOn(work, place.supervisor.uuid)
}

/** A run of a compose file may have missed an answer, and a crew has begun nothing meanwhile. */
function wokenUp(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  if (isRun(process)) askOnce(work, uuid)
  if (isCrew(process)) tell(work, uuid, { type: 'woken' })
  advance(work, uuid)
}

function revived(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  const place = placeOf(work, process)
  if (place && isRun(place.supervisor)) nodeRevived(work, place.supervisor, process)
}

function crewUp(work: Work, uuid: Uuid): void {
  if (!isCrew(work.need(uuid))) return
  tell(work, uuid, { type: 'begin' })
  moveLeft(work, uuid)
}

/** A new incarnation has no mask: who was committing goes on with it as before. */
function hearOf(work: Work, { crew, command }: Extract<News, { type: 'member' }>): void {
  // It may have begun and ended in one decision: nobody has come.
  if (command.type === 'member_on' && !isThere(work.get(command.uuid))) return
  tell(work, crew, command)
  if (command.type !== 'member_on') return
  giveKept(work, crew, command.member)
  const phase = work.get(crew)?.crew?.members.find(({ id }) => id === command.member)?.phase
  if (phase === 'committing') maskMember(work, crew, command.member, true)
}

function isThere(process: Process | undefined): boolean {
  return process !== undefined && isLiving(process)
}

/** One child less to wait for. */
function goOn(work: Work, uuid: Uuid): void {
  stopNext(work, uuid)
  advance(work, uuid)
}

function childEnded(work: Work, place: Place, process: Process, exit: ExitStatus): void {
  const { supervisor, child } = place
  const { uuid, life, supervision } = supervisor
  if (isRun(supervisor)) {
    nodeEnded(work, supervisor, process, exit)
    return goOn(work, uuid)
  }
  if (life.state === 'running' && life.stopping) return stopNext(work, uuid)
  if (supervision?.group?.ids.includes(child.id)) memberEnded(work, place, process, exit)
  else if (isCrew(supervisor)) followMember(work, place, process, exit)
  else follow(work, place, process, exit)
  advance(work, uuid)
}

function judged(work: Work, { supervisor, child }: Place, process: Process, exit: ExitStatus): Verdict {
  return verdict({ ...intensityOf(supervisor), ...child }, exit, child.restarts, { wall: work.now.wall, chance: chanceOf(process) })
}

function intensityOf({ spec }: Process): Intensity {
  return spec.supervisor ?? INTENSITY
}

/** Does what was decided about a child that failed. */
function follow(work: Work, place: Place, process: Process, exit: ExitStatus): void {
  const said = judged(work, place, process, exit)
  if (said.do === 'hold') holdChild(work, place, process, { cause: said.cause, exit })
  else if (said.do === 'giveUp') giveUp(work, place, process, { times: said.times, exit })
  else if (said.do === 'restart') restartChild(work, place, process, { ...said, exit })
}

/** A crew never gives up because of one member, and needs nobody to look at it: who does not come back is gone, and its work is given to others. */
function followMember(work: Work, place: Place, process: Process, exit: ExitStatus): void {
  const { supervisor, child: { id } } = place
  const said = isLeaving(supervisor, id) ? null : judged(work, place, process, exit)
  if (said?.do === 'restart') {
    restartChild(work, place, process, { ...said, exit })
    return lookAfter(work, supervisor.uuid)
  }
  letGo(work, supervisor, process)
  const reason = said === null ? leaveReason(supervisor, id) : said.do === 'giveUp' ? `it ended ${said.times} times within ${intensityOf(supervisor).windowMs / 1_000} s: ${exit.reason}` : said.do === 'hold' ? said.cause : exit.reason
  if (process.spec.member) tell(work, supervisor.uuid, goneWith(process.spec.member.id, exit.cause, reason))
}

function holdChild(work: Work, { supervisor, child: { id, uuid } }: Place, process: Process, why: { readonly cause: string; readonly exit: ExitStatus }): void {
  work.emit(supervisor.uuid, { type: 'supervisor.held', id, child: uuid, cause: why.cause })
  againHeld(work, process, why)
}

function restartChild(work: Work, place: Place, process: Process, said: Extract<Verdict, { do: 'restart' }> & { readonly exit: ExitStatus }): void {
  const { supervisor, child: { id, uuid } } = place
  const { exit, restarts, delayMs, attempt, fresh } = said
  // The daemon's own end was nobody's fault, and left nobody who would have to be stopped.
  const group = attempt === 0 ? [] : groupOf(work, place)
  if (attempt > 0) work.emit(supervisor.uuid, { type: 'supervisor.restarting', id, child: uuid, cause: exit.reason, restarts, delayMs, ...(group.length > 0 ? { group } : {}) })
  const waits = group.length > 0 || supervisor.supervision?.group !== undefined || !mayGoOn(supervisor)
  again(work, process, { by: byOf(supervisor), exit, attempt, fresh, delayMs: waits ? null : delayMs })
}

/** Those that run: a suspended child stays as it is, and what has ended by itself, or was ended by a person, does not come back with others. */
function groupOf(work: Work, { supervisor, child }: Place): readonly string[] {
  const known = supervisor.supervision?.children ?? []
  const { strategy } = supervisor.spec.supervisor ?? { strategy: 'one_for_one' }
  const ids = new Set(others(strategy, known.map(({ id }) => id), child.id))
  return known.filter(({ id, uuid }) => ids.has(id) && mayBeStopped(work.get(uuid))).map(({ id }) => id)
}

function mayBeStopped(process: Process | undefined): boolean {
  return process?.life.state === 'running' && !isSuspended(process) && !isAsked(process)
}

/** A member has ended, because it was stopped or by itself: it waits for the others. It is not counted. */
function memberEnded(work: Work, place: Place, process: Process, exit: ExitStatus): void {
  const { supervisor, child } = place
  const wait = (): void => again(work, process, { by: byOf(supervisor), exit, attempt: 0, delayMs: null })
  if (exit.cause === 'parent') return child.type === 'temporary' ? undefined : wait()
  const said = judged(work, place, process, exit)
  if (said.do === 'hold') holdChild(work, place, process, { cause: said.cause, exit })
  else if (said.do !== 'stay') wait()
}

/** Escalation: the children are stopped, the last one first, then the supervisor ends by itself, and its own supervisor decides. */
function giveUp(work: Work, { supervisor, child: { id, uuid: failed } }: Place, process: Process, { times, exit }: { readonly times: number; readonly exit: ExitStatus }): void {
  const { uuid, life } = supervisor
  const { windowMs } = intensityOf(supervisor)
  // One that has not begun cannot end: the child waits for it.
  if (life.state !== 'running') return again(work, process, { by: byOf(supervisor), exit, attempt: times, delayMs: null })
  work.emit(uuid, { type: 'supervisor.escalated', id, child: failed, times, windowMs })
  const error = `child ${id} ended ${times === 1 ? 'once' : `${times} times`} within ${windowMs / 1_000} s: ${exit.reason}`
  work.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: byOf(supervisor), at: work.now.wall, graceMs: STOP_GRACE_MS, exit: { code: 1, reason: error, error, cause: 'agent' } } })
  stopNext(work, uuid)
}

function byOf({ uuid }: Process): Sender {
  return `agent:${uuid}`
}

/** Told to end, and it has not. */
function isAsked({ life, signals }: Process): boolean {
  return life.state === 'zombie' || (life.state === 'running' && life.stopping !== null) || signals.pending.some(({ signal }) => signal === 'SIGTERM')
}

/** What is next: a group goes on being stopped, or, with nobody left to wait for, all that wait may begin. */
function advance(work: Work, uuid: Uuid): void {
  const supervisor = work.need(uuid)
  if (!keepsChildren(supervisor) || !mayGoOn(supervisor)) return
  const group = supervisor.supervision?.group
  if (group) {
    const members = rowsOf(work, group.ids, supervisor)
    if (members.some(isAsked)) return
    const next = members.findLast(mayBeStopped)
    if (next) return stopChild(work, supervisor, next, 'SIGTERM', STOP_GRACE_MS)
    work.emit(uuid, { type: 'supervisor.restarted', startAt: work.now.wall + group.delayMs })
  }
  for (const child of rowsOf(work, null, supervisor)) {
    if (child.life.state === 'created' && child.restart?.at === null) letBegin(work, child, group?.delayMs ?? 0)
  }
  if (isRun(supervisor) && runOn(work, uuid)) stopNext(work, uuid)
}

function stopChild(work: Work, supervisor: Process, { uuid }: Process, signal: Signal, graceMs: number): void {
  deliver(work, uuid, { signal, by: byOf(supervisor), root: null, graceMs, freeze: false })
}

/** A supervisor's children end before it does, the last one first; by SIGKILL all at once. */
function stopFamily(work: Work, uuid: Uuid, signal: Signal): void {
  const supervisor = work.need(uuid)
  if (signal === 'SIGKILL') for (const child of rowsOf(work, null, supervisor).toReversed()) if (isLiving(child)) stopChild(work, supervisor, child, 'SIGKILL', 0)
  stopNext(work, uuid)
}

/** The next child is stopped; when none is left the supervisor itself. */
function stopNext(work: Work, uuid: Uuid): void {
  const supervisor = work.need(uuid)
  const { life, pid } = supervisor
  if (life.state !== 'running' || !life.stopping) return
  const { graceMs, exit } = life.stopping
  const left = rowsOf(work, null, supervisor)
  if (left.some(isAsked)) return
  const last = left.findLast(isLiving)
  if (last) return stopChild(work, supervisor, last, 'SIGTERM', graceMs)
  if (life.attached) work.effect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
  else terminate(work, supervisor, exit)
}

/** It begins, or goes on after its daemon's end: it finds its children by their ids. `kin` are the rows of those that have ended. */
function tend(work: Work, uuid: Uuid, kin: readonly Process[]): void {
  const supervisor = work.need(uuid)
  if (!keepsChildren(supervisor)) return
  if (isRun(supervisor)) tendRun(work, uuid, kin)
  else if (isCrew(supervisor)) tendMembers(work, supervisor, kin)
  else tendChildren(work, supervisor, kin)
  advance(work, uuid)
}

function tendChildren(work: Work, supervisor: Process, kin: readonly Process[]): void {
  for (const child of supervisor.supervision?.children ?? []) {
    const row = work.get(child.uuid)
    if (row) adopt(work, supervisor, row)
    else bringBack(work, { supervisor, child }, kin.find((dead) => dead.uuid === child.uuid))
  }
}

/** Who does not come back with its crew is gone: that is told when the others are there, as they may hear of it. */
function tendMembers(work: Work, supervisor: Process, kin: readonly Process[]): void {
  const gone: (() => void)[] = []
  for (const child of supervisor.supervision?.children ?? []) {
    const row = work.get(child.uuid)
    const dead = kin.find(({ uuid }) => uuid === child.uuid)
    const obstacle = row ? null : obstacleOf(work, { supervisor, child }, dead)
    if (row) greet(work, supervisor.uuid, row)
    else if (obstacle === null) bringBack(work, { supervisor, child }, dead)
    else gone.push(() => memberGone(work, supervisor, child, { dead, reason: obstacle }))
  }
  for (const row of broughtBack(work, supervisor)) greet(work, supervisor.uuid, row)
  lookAfter(work, supervisor.uuid)
  for (const tellOf of gone) tellOf()
}

/** One that was asked to go, and runs as if it was not, had gone: a person brought it back while its crew did not run. */
function greet(work: Work, crew: Uuid, member: Process): void {
  const { id = '' } = member.spec.member ?? {}
  if (isLeaving(work.need(crew), id) && !isAsked(member)) tell(work, crew, goneWith(id as MemberId, 'parent', leaveReason(work.need(crew), id)))
  for (const command of presenceOf(member, work.need(crew))) hearOf(work, { type: 'member', crew, command })
}

/** Members that were gone, and that a person resumed while their crew did not run. */
function broughtBack(work: Work, { crew, supervision }: Process): readonly Process[] {
  const kept = new Set(supervision?.children.map(({ uuid }) => uuid))
  return (crew?.members ?? []).flatMap(({ uuid }) => (uuid === null || kept.has(uuid) ? [] : (work.get(uuid) ?? []))).filter(isLiving)
}

function memberGone(work: Work, supervisor: Process, { id, uuid }: SupervisedChild, { dead, reason }: { readonly dead: Process | undefined; readonly reason: string }): void {
  letGo(work, supervisor, dead ?? { uuid, spec: { ...supervisor.spec, childId: id }, retiredAt: null, queue: [] })
  tell(work, supervisor.uuid, goneWith(id as MemberId, dead?.life.state === 'dead' ? dead.life.exit.cause : 'daemon', reason))
}

/** Why a member does not come back with its crew; null: it does. */
function obstacleOf(work: Work, place: Place, dead: Process | undefined): string | null {
  if (dead?.life.state !== 'dead') return 'it ended before its crew went on'
  const { exit } = dead.life
  const stoppedWithIt = exit.cause === 'parent'
  if (isLeaving(place.supervisor, place.child.id)) return leaveReason(place.supervisor, place.child.id)
  if (!stoppedWithIt && judged(work, place, dead, exit).do !== 'restart') return exit.reason
  return placeTaken(work, dead.spec)
}

function adopt(work: Work, supervisor: Process, row: Process): void {
  if (isLiving(row) && row.parent !== supervisor.uuid) work.emit(row.uuid, { type: 'process.reparented', parent: supervisor.uuid })
}

function bringBack(work: Work, { supervisor, child }: Place, dead: Process | undefined): void {
  const { uuid } = supervisor
  if (!dead) {
    work.emit(uuid, { type: 'supervisor.removed', id: child.id, child: child.uuid })
    return
  }
  if (dead.life.state !== 'dead') return
  const { exit } = dead.life
  const stoppedWithIt = exit.cause === 'parent' && child.type !== 'temporary'
  if (!stoppedWithIt && !comesBack(child, exit)) return
  const obstacle = placeTaken(work, dead.spec)
  if (obstacle !== null) {
    work.emit(uuid, { type: 'process.error', message: `child ${child.id} cannot come back: ${obstacle}` })
    return
  }
  work.bring(dead)
  const said = stoppedWithIt ? null : judged(work, { supervisor, child }, dead, exit)
  if (said?.do === 'hold') return holdChild(work, { supervisor, child }, dead, { cause: said.cause, exit })
  again(work, dead, { by: byOf(supervisor), exit, attempt: 0, delayMs: null, fresh: said?.do === 'restart' && said.fresh })
}

/** A child is the supervisor's no longer, and is stopped. Errors: NOT_FOUND, INVALID. */
export function removeChild(work: Work, input: InputOf<'removeChild'>): void {
  const supervisor = work.get(input.uuid)
  if (!supervisor || !isLiving(supervisor)) throw new KernelError('NOT_FOUND', `process ${supervisor?.pid ?? input.uuid} has ended`)
  const child = supervisor.supervision?.children.find(({ id }) => id === input.id)
  if (!keepsChildren(supervisor) || !child) throw new KernelError('NOT_FOUND', `process ${supervisor.pid} has no child "${input.id}"`)
  if (isRun(supervisor)) throw new KernelError('INVALID', `process ${supervisor.pid} is a run, which keeps its nodes: stop the process of "${child.id}"`)
  work.emit(supervisor.uuid, { type: 'supervisor.removed', id: child.id, child: child.uuid })
  const row = work.get(child.uuid)
  if (row && isLiving(row)) deliver(work, row.uuid, { signal: 'SIGTERM', by: input.by, root: null, graceMs: input.graceMs ?? STOP_GRACE_MS, freeze: false })
  advance(work, supervisor.uuid)
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid: supervisor.uuid, affected: row && isLiving(row) ? 1 : 0, childrenGoOn: 0, note: null } })
}
