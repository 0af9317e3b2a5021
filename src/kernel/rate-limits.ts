// Rate limits with a known end: the process is suspended until then instead of failing, and goes on by itself only where
// that was asked for. Owns the hold `rate-limit`, and when it wakes: on the wall clock, which survives a restart of the daemon.
// An agent that ended by its limit comes back suspended, as a new incarnation of its session.
// Test: test/tables/rate-limits.test.ts.
import { continueObstacle } from './modes.ts'
import { hold } from './holding.ts'
import { release } from './pausing.ts'
import { stillPermitted } from './permitting.ts'
import { terminate } from './release.ts'
import { beginHeld } from './spawning.ts'
import { isEnding } from './status.ts'
import type { Hold, Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** Who waits for the same limit does not wake in the same moment: so long after it at most, in ms. */
const SPREAD_MS = 30_000

/** Suspended until its limit is over. One that is ending, or wraps up, has no time to wait for that. */
export function holdByRate(work: Work, process: Process, until: number): 'held' | 'stop' {
  const { uuid, spec, life } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.stopping) {
    terminate(work, process, life.stopping.exit)
    return 'stop'
  }
  hold(work, uuid, rateHold(spec, until, work.now.wall), false)
  return 'held'
}

function rateHold(spec: Process['spec'], until: number, at: number): Hold {
  return { reason: 'rate-limit', by: 'system', at, until, ...(spec.wake ? { wake: true } : {}) }
}

/** When a hold goes by itself, in wall ms; null: it waits for a person. */
export function wakesAt(uuid: Uuid, { until, wake }: Hold): number | null {
  if (until === undefined || wake !== true) return null
  // The end of a UUID v7 is random, so chance need not come in here.
  return until + Math.floor((SPREAD_MS * Number.parseInt(uuid.slice(-6), 16)) / 0xff_ffff)
}

/** Releases what wakes by now. */
export function wakeDue(work: Work, { uuid, life }: Process): void {
  if (life.state !== 'running' || life.stopping) return
  const isDue = (held: Hold): boolean => (wakesAt(uuid, held) ?? Infinity) <= work.now.wall
  if (life.holds.some(isDue)) release(work, uuid, 'system', isDue)
}

/** It ended as its limit was reached, and everything of it is released: it waits in its session. True if it does. */
export function comeBackHeld(work: Work, { uuid, life, spec }: Process): boolean {
  if (life.state !== 'zombie' && life.state !== 'dead') return false
  const { resumeAt } = life.exit
  const process = work.need(uuid)
  if (resumeAt === undefined || continueObstacle(process) !== null) return false
  work.emit(uuid, { type: 'process.resumed', pid: work.takePid(), by: 'system', fromStep: process.progress.wholeStep, ...stillPermitted(work, process) })
  // What a person had paused stays paused, whenever the limit is over.
  beginHeld(work, work.need(uuid), ...(process.keeps ?? []), rateHold(spec, resumeAt, work.now.wall))
  return true
}
