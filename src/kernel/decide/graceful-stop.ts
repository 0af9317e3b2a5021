// Wrapping up: an agent whose SIGTERM handler is `message` is notified before its end, and may work for a part of its grace. The rest of
// the grace is for the stop sequence of its programs. The wrap-up ends with its turn or its time. The request to stop is durable like any
// other. Test: test/tables/kernel/decide/graceful-stop.test.ts.
import { isExternal } from '../model/capabilities.ts'
import { startNextTurn } from './turns.ts'
import { signalMessageId } from '../model/signals.ts'
import { enqueueMessage, isQueueFull } from './message-queue.ts'
import type { Process, Stopping } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/** The minimum grace, in ms, of a stop signal whose sender gave none. */
export const MIN_GRACE_MS = 300

/** The part of the grace for the stop sequence: the observed clean-up time of the programs, at most half of the grace. */
function stopSequenceMs({ spec }: Process, graceMs: number): number {
  return Math.min(Math.max(MIN_GRACE_MS, spec.graceMs ?? 0), graceMs / 2)
}

/** Begins or shortens the wrap-up. False when the agent cannot read the message, or has no time: it then stops like any process. */
export function wrapUp(draft: DecisionDraft, process: Process, request: Stopping): boolean {
  const { uuid, pid, life, spec, seq } = process
  if (life.state !== 'running' || !life.attached || life.holds.length > 0 || life.activity === 'starting' || request.graceMs === 0)
    return false
  const ms = request.graceMs - stopSequenceMs(process, request.graceMs)
  const dueMono = draft.now.mono + ms
  if (life.stopping) return shortenWrapUp(draft, process, { graceMs: request.graceMs, dueMono })
  if (isQueueFull(process)) return false
  const message = signalMessageId(seq)
  enqueueMessage(draft, uuid, { id: message, from: 'system', text: wrapUpText(request, ms), urgent: true })
  draft.emit(uuid, { type: 'process.stopping', stopping: { ...request, wrapUp: { message, dueMono } } })
  // An external agent takes no message within a turn, so its turn is interrupted, and the next turn begins with the message.
  if (isExternal(spec) && life.activity !== 'ready') draft.addEffect({ type: 'driver.interrupt', uuid, pid })
  startNextTurn(draft, uuid)
  return true
}

function wrapUpText({ signal, by }: Stopping, ms: number): string {
  return `You received ${signal} from ${by}: you will be stopped in ${Math.round(ms / 100) / 10} s. Bring your work to a safe state, and end your turn.`
}

/** Shortens the remaining time of a wrap-up after a second signal, which can never extend it. */
function shortenWrapUp(
  draft: DecisionDraft,
  { uuid, life }: Process,
  { graceMs, dueMono }: { readonly graceMs: number; readonly dueMono: number },
): boolean {
  const stopping = life.state === 'running' ? life.stopping : null
  if (!stopping?.wrapUp) return false
  const { message, dueMono: known } = stopping.wrapUp
  if (dueMono < known) draft.emit(uuid, { type: 'process.stopping', stopping: { ...stopping, graceMs, wrapUp: { message, dueMono } } })
  return true
}

/** Ends the wrap-up before its time. The agent reads no more messages. */
export function endWrapUpEarly(draft: DecisionDraft, { uuid, life }: Process): void {
  if (life.state !== 'running' || !life.stopping?.wrapUp) return
  const { wrapUp: _, ...stopping } = life.stopping
  draft.emit(uuid, { type: 'process.stopping', stopping })
}

/** Ends the wrap-up if its time is over, and begins the stop sequence with the rest of the grace. */
export function endWrapUp(draft: DecisionDraft, process: Process): void {
  const { uuid, pid, life } = process
  if (life.state !== 'running' || !life.stopping?.wrapUp || life.stopping.wrapUp.dueMono > draft.now.mono) return
  const { graceMs } = life.stopping
  endWrapUpEarly(draft, process)
  draft.addEffect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs: stopSequenceMs(process, graceMs) })
}
