// Finds the open tool calls that have not begun. A call is open as soon as the model has requested it. It may wait for the user's answer,
// for the calls before it, or for the end of a pause. Pure. Test: test/tables/kernel/state/unbegun-calls.test.ts.
import { isExternal } from '../model/capabilities.ts'
import type { Life, Process } from '../model/process.ts'

/**
 * Returns the ids of the open calls that wait for an answer, and of those behind them; in a drained process all of them. A native agent
 * runs reads in parallel and all other calls in order. The order of an external agent is unknown.
 */
export function unbegunCalls({ spec, life, progress: { openCalls } }: Pick<Process, 'spec' | 'life' | 'progress'>): ReadonlySet<string> {
  const isNative = !isExternal(spec)
  if (isNative && isHeldBack(life)) return new Set(openCalls.map(({ callId }) => callId))
  const unbegun = new Set<string>()
  let waiting: 'nothing' | 'a read' | 'all' = 'nothing'
  for (const { callId, asked, effect } of openCalls) {
    if (waiting === 'a read' && effect !== 'read') waiting = 'all'
    if (asked === true || waiting === 'all') unbegun.add(callId)
    if (asked === true && waiting === 'nothing' && isNative) waiting = effect === 'read' ? 'a read' : 'all'
  }
  return unbegun
}

/** Whether the process is paused and has reached a boundary, so that the driver waits before its next call. */
function isHeldBack(life: Life): boolean {
  return life.state === 'running' && life.attached && life.drained && !life.midway
}
