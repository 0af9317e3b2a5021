// A restart: a resume that nobody asked for. Owns how a new incarnation is made by a policy, how it waits for its time, and
// what a process with a policy of its own does after its end. The decision is src/supervise's; a restart is a row that is
// `created` and has not begun, so that every stop, kill or pause overtakes it.
// Test: test/tables/supervising.test.ts, test/processes/supervision.test.ts.
import { payerOf } from './accounts.ts'
import { findPayer, payAgain } from './payers.ts'
import { INTENSITY, verdict } from '../supervise/verdict.ts'
import { goesOnFrom, takesMessages } from './capabilities.ts'
import { keepsChildren } from './children.ts'
import { stillPermitted } from './permitting.ts'
import { beginHeld, enqueue } from './spawning.ts'
import { isLiving } from './status.ts'
import type { ExitStatus, Hold, Process, Sender, Uuid } from './types.ts'
import type { RestartPolicy, Restarts } from './supervision.ts'
import type { Work } from './work.ts'

export interface Again {
  readonly by: Sender
  /** how the last incarnation ended */
  readonly exit: ExitStatus
  readonly attempt: number
  /** null: it waits until its supervisor says when */
  readonly delayMs: number | null
  readonly fresh?: boolean
  readonly restarts?: Restarts
  /** it begins paused by these */
  readonly holds?: readonly Hold[]
}

/** What is random in a v7, and another number each time: jitter must not be the same for all, and nobody can ask for chance here. */
export function chanceOf({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): number {
  const random = Number.parseInt(uuid.slice(-8), 16) || 0
  return (Math.imul(random ^ Math.imul(pid, 0x9e3779b1), 0x85ebca6b) >>> 0) / 2 ** 32
}

/** A new incarnation of one that is dead. */
export function again(work: Work, process: Process, how: Again): void {
  const { uuid, keeps = [] } = process
  const { by, exit, attempt, delayMs, restarts } = how
  const { wall, mono } = work.now
  const pid = work.takePid()
  const anew = how.fresh === true || goesOnFrom(process) === 'rerun'
  const waits = { at: delayMs === null ? null : wall + delayMs, dueMono: delayMs === null || delayMs === 0 ? null : mono + delayMs }
  const restart = { attempt, cause: exit.reason, after: exit.cause, ...waits, ...(restarts ? { restarts } : {}) }
  work.emit(uuid, { type: 'process.resumed', pid, by, fromStep: process.progress.wholeStep, ...stillPermitted(work, process), ...(anew ? { rerun: true } : {}), restart })
  findParent(work, work.need(uuid))
  if (anew) askAgain(work, work.need(uuid))
  const holds = [...keeps, ...(how.holds ?? [])]
  if (holds.length > 0) beginHeld(work, work.need(uuid), ...holds)
  else if (delayMs === 0) work.effect({ type: 'start', uuid, pid })
}

/** It would end in the same way: it comes back paused, for a person to look at. */
export function againHeld(work: Work, process: Process, { cause, exit }: { readonly cause: string; readonly exit: ExitStatus }): void {
  again(work, process, { by: 'system', exit, attempt: 0, delayMs: null, holds: [{ reason: 'supervisor', by: 'system', at: work.now.wall }] })
  work.emit(process.uuid, { type: 'process.note', text: cause })
}

/** One that waits may begin, so long from now. */
export function letBegin(work: Work, { uuid, pid }: Process, delayMs: number): void {
  const { wall, mono } = work.now
  work.emit(uuid, { type: 'restart.due', startAt: wall + delayMs, dueMono: delayMs === 0 ? null : mono + delayMs })
  if (delayMs === 0) work.effect({ type: 'start', uuid, pid })
}

/** It waits for its time, or for its supervisor. */
export function waitsForRestart({ life, restart }: Process): boolean {
  return life.state === 'created' && restart !== undefined && (restart.at === null || restart.dueMono !== null)
}

/** Its wait may be over. */
export function beginIfDue(work: Work, { uuid, pid, restart }: Process): void {
  if (restart === undefined || restart.dueMono === null || restart.dueMono > work.now.mono) return
  work.emit(uuid, { type: 'restart.due', startAt: restart.at, dueMono: null })
  work.effect({ type: 'start', uuid, pid })
}

/** A new daemon has another monotonic clock, and the clock on the wall may have jumped: it waits no longer than it could have been told. */
export function waitOn(work: Work, { uuid, spec, restart }: Process): void {
  if (!restart || restart.at === null) {
    work.emit(uuid, { type: 'restart.due', startAt: null, dueMono: null })
    return
  }
  const mostMs = (spec.restart?.backoff ?? INTENSITY.backoff).maxMs
  letBegin(work, work.need(uuid), Math.min(mostMs, Math.max(0, restart.at - work.now.wall)))
}

/** What a policy of its own makes of its end. A supervisor comes back after its daemon's death without being asked to: it is there for others. */
export function restartAlone(work: Work, process: Process, exit: ExitStatus): void {
  const policy = process.spec.restart ?? (keepsChildren(process) && exit.cause === 'daemon' ? REVIVED : null)
  if (policy === null) return
  const said = verdict({ ...INTENSITY, ...policy }, exit, process.restarts, { wall: work.now.wall, chance: chanceOf(process) })
  if (said.do === 'hold') againHeld(work, process, { cause: said.cause, exit })
  if (said.do === 'restart') again(work, process, { by: 'system', exit, ...said })
}

const REVIVED: RestartPolicy = { type: 'transient' }

/** Its parent of the spawn, if that lives; else PID 0. */
export function findParent(work: Work, process: Process): void {
  const lineage = process.parentUuid === null ? undefined : work.get(process.parentUuid)
  const parent: Uuid | null = lineage && isLiving(lineage) ? lineage.uuid : null
  const payer = findPayer(work, process.uuid)
  const changes = payer !== null && payer !== payerOf(process)
  if (parent !== process.parent || changes) work.emit(process.uuid, { type: 'process.reparented', parent, ...(changes ? { payer } : {}) })
  payAgain(work, process.uuid)
}

/** A session that begins is told again what this process is for. */
export function askAgain(work: Work, { uuid, spec, queue }: Process): void {
  if (!takesMessages(spec) || spec.intent === '' || queue.some(({ id }) => id === 'intent')) return
  enqueue(work, uuid, { id: 'intent', from: 'user', text: spec.intent })
}
