// Wrapping up: an agent whose handler of SIGTERM is `message` is told, and may work on within its grace.
// Owns how the grace is shared: the agent has most of it, the ladder the rest. It ends with its turn, or when its time is over.
// The wish is durable like any other. Test: test/tables/wrapping-up.test.ts.
import { isExternal } from './capabilities.ts'
import { settle } from './pausing.ts'
import { messageOf } from './signals.ts'
import { enqueue, isQueueFull } from './spawning.ts'
import type { Process, Stopping } from './types.ts'
import type { Work } from './work.ts'

/** Least grace of a signal that ends, where the sender gave none; an agent may need more. */
export const KILL_GRACE_MS = 300

/** What the programs keep of the grace: as long as they need, and half of it at most. */
function ladderMs({ spec }: Process, graceMs: number): number {
  return Math.min(Math.max(KILL_GRACE_MS, spec.graceMs ?? 0), graceMs / 2)
}

/** False: there is nobody who could read of it, or no time, and it is ended as without a handler. */
export function wrapUp(work: Work, process: Process, wish: Stopping): boolean {
  const { uuid, pid, life, spec, seq } = process
  if (life.state !== 'running' || !life.attached || life.holds.length > 0 || life.activity === 'starting' || wish.graceMs === 0) return false
  const ms = wish.graceMs - ladderMs(process, wish.graceMs)
  const dueMono = work.now.mono + ms
  if (life.stopping) return hurry(work, process, { graceMs: wish.graceMs, dueMono })
  if (isQueueFull(process)) return false
  const message = messageOf(seq)
  enqueue(work, uuid, { id: message, from: 'system', text: wordsOf(wish, ms), urgent: true })
  work.emit(uuid, { type: 'process.stopping', stopping: { ...wish, wrapUp: { message, dueMono } } })
  // Nothing can be put into a turn of an agent of others: it is told in the next one.
  if (isExternal(spec) && life.activity !== 'ready') work.effect({ type: 'driver.interrupt', uuid, pid })
  settle(work, uuid)
  return true
}

function wordsOf({ signal, by }: Stopping, ms: number): string {
  return `You received ${signal} from ${by}: you will be stopped in ${Math.round(ms / 100) / 10} s. Bring what you are doing to a safe end, and end your turn.`
}

/** Told twice, it only has less time. */
function hurry(work: Work, { uuid, life }: Process, { graceMs, dueMono }: { readonly graceMs: number; readonly dueMono: number }): boolean {
  const stopping = life.state === 'running' ? life.stopping : null
  if (!stopping?.wrapUp) return false
  const { message, dueMono: known } = stopping.wrapUp
  if (dueMono < known) work.emit(uuid, { type: 'process.stopping', stopping: { ...stopping, graceMs, wrapUp: { message, dueMono } } })
  return true
}

/** It is being ended from here on; what it has not read it does not read any more. */
export function cutShort(work: Work, { uuid, life }: Process): void {
  if (life.state !== 'running' || !life.stopping?.wrapUp) return
  const { wrapUp: _, ...stopping } = life.stopping
  work.emit(uuid, { type: 'process.stopping', stopping })
}

/** Its time may be over: then the ladder has the rest of the grace. */
export function endWrapUp(work: Work, process: Process): void {
  const { uuid, pid, life } = process
  if (life.state !== 'running' || !life.stopping?.wrapUp || life.stopping.wrapUp.dueMono > work.now.mono) return
  const { graceMs } = life.stopping
  cutShort(work, process)
  work.effect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs: ladderMs(process, graceMs) })
}
