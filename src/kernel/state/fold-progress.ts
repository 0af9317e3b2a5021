// The fold of facts about calls, and of deaths of the daemon, into the progress of a process. Test: test/properties/fold.test.ts.
import type { Ask, PendingAsk } from '../model/asks.ts'
import type { CallEstimate, OpenCall, Progress } from '../model/process.ts'

/** Stores the granted estimate of the call that begins, if there is one. */
export function reserveCall(progress: Progress, { reserve }: { readonly reserve?: CallEstimate }): Progress {
  return reserve ? { ...progress, reserve } : progress
}

/** Drops the reservation, because the call has ended and its usage is counted. */
export function releaseReserve(progress: Progress): Progress {
  if (progress.reserve === undefined) return progress
  const { reserve: _, ...rest } = progress
  return rest
}

/** Removes an open tool call. The last one completes the step. */
export function closeCall(progress: Progress, callId: string): Progress {
  const openCalls = progress.openCalls.filter((call) => call.callId !== callId)
  return { ...progress, openCalls, wholeStep: openCalls.length === 0 && !progress.modelOpen ? progress.step : progress.wholeStep }
}

/** Counts one more death of the daemon for each open call that may have begun. */
export function countDaemonDeath(progress: Progress): Progress {
  return { ...progress, openCalls: progress.openCalls.map((call) => (call.asked ? call : { ...call, cuts: (call.cuts ?? 0) + 1 })) }
}

/** Marks the open calls that wait for the answers to these asks, and removes the mark from all other calls. */
export function markAskedCalls(progress: Progress, asks: readonly Ask[]): Progress {
  const asked = new Set(asks.map(({ callId }) => callId))
  const openCalls = progress.openCalls.map(({ asked: _, ...call }): OpenCall => (asked.has(call.callId) ? { ...call, asked: true } : call))
  return { ...progress, openCalls }
}

/** Marks these open calls, which had not begun when their incarnation ended. */
export function markUnbegunCalls(progress: Progress, callIds: ReadonlySet<string>): Progress {
  return { ...progress, openCalls: progress.openCalls.map((call) => (callIds.has(call.callId) ? { ...call, asked: true } : call)) }
}

/** Keeps the time of each open ask with its call, because the asks end with their incarnation and the driver asks again. */
export function keepAskTimes(progress: Progress, asks: readonly PendingAsk[] = []): Progress {
  const times = new Map(asks.flatMap(({ callId, at, answer }) => (callId === null || answer ? [] : [[callId, at] as const])))
  const openCalls = progress.openCalls.map(({ askedAt, ...call }): OpenCall => {
    const at = times.get(call.callId) ?? (call.asked ? askedAt : undefined)
    return at === undefined ? call : { ...call, askedAt: at }
  })
  return { ...progress, openCalls }
}

/** The ask with the time at which it was first asked, if a restart of the daemon has ended it since. */
export function withFirstTime({ openCalls }: Progress, ask: Ask): Ask {
  const at = openCalls.find(({ callId }) => callId === ask.callId)?.askedAt
  return at === undefined ? ask : { ...ask, at }
}
