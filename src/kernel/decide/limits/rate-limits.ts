// Rate limits: a process that reaches a rate limit with a known end is suspended instead of failing. The process wakes automatically only
// if that was requested. Adds the hold `rate-limit`. Its wake time is on the wall clock, so that it survives a restart of the daemon. An
// agent that ended because of a rate limit or a refused key (refused-keys.ts) restarts suspended, with its session.
// Test: test/tables/kernel/decide/limits/rate-limits.test.ts.
import { isProviderLimited } from '../../model/exit.ts'
import { continueObstacle } from '../resume-modes.ts'
import { addHold } from '../holds/add-hold.ts'
import { releaseHolds } from '../holds/release-holds.ts'
import { narrowToParent } from '../authorize.ts'
import { holdForAccount } from './refused-keys.ts'
import { terminate } from '../release.ts'
import { startOnHold } from '../spawn.ts'
import { isEnding } from '../../model/status.ts'
import type { Hold, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Uuid } from '../../model/ids.ts'

/** The maximum random delay of a wake-up. Because of it, processes with the same limit wake one after another. */
const SPREAD_MS = 30_000

/** Suspends the process until `until` (wall ms), the end of its rate limit. A process that is ending or wraps up ends instead. */
export function holdForRateLimit(draft: DecisionDraft, process: Process, until: number): 'held' | 'stop' {
  const { uuid, spec, life } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.stopping) {
    terminate(draft, process, life.stopping.exit)
    return 'stop'
  }
  addHold(draft, uuid, rateLimitHold(spec, until, draft.now.wall), false)
  return 'held'
}

function rateLimitHold(spec: Process['spec'], until: number, at: number): Hold {
  return { reason: 'rate-limit', by: 'system', at, until, ...(spec.wake ? { wake: true } : {}) }
}

/** Wall ms at which a hold is released automatically; null: it waits for the user. */
export function wakeTimeOf(uuid: Uuid, { until, wake }: Hold): number | null {
  if (until === undefined || wake !== true) return null
  // The last digits of a UUID v7 are random, so no other source of chance is needed.
  return until + Math.floor((SPREAD_MS * Number.parseInt(uuid.slice(-6), 16)) / 0xff_ffff)
}

/** Releases the holds whose wake time has come. */
export function wakeIfDue(draft: DecisionDraft, { uuid, life }: Process): void {
  if (life.state !== 'running' || life.stopping) return
  const isDue = (hold: Hold): boolean => (wakeTimeOf(uuid, hold) ?? Infinity) <= draft.now.wall
  if (life.holds.some(isDue)) releaseHolds(draft, uuid, 'system', isDue)
}

/** Restarts a released process on hold if a rate limit or a refused key ended it. True if it did. */
export function restartAfterProviderLimit(draft: DecisionDraft, { uuid, life, spec }: Process): boolean {
  if ((life.state !== 'zombie' && life.state !== 'dead') || !isProviderLimited(life.exit)) return false
  const { resumeAt, reason } = life.exit
  const process = draft.mustGet(uuid)
  if (continueObstacle(process) !== null) return false
  draft.emit(uuid, {
    type: 'process.resumed',
    pid: draft.takePid(),
    by: 'system',
    fromStep: process.progress.wholeStep,
    ...narrowToParent(draft, process),
  })
  // A pause by the user must outlast the rate limit.
  startOnHold(
    draft,
    draft.mustGet(uuid),
    ...(process.keeps ?? []),
    ...(resumeAt === undefined ? [] : [rateLimitHold(spec, resumeAt, draft.now.wall)]),
  )
  if (resumeAt === undefined) holdForAccount(draft, draft.mustGet(uuid), reason)
  return true
}
