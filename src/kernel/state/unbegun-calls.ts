// Finds the open tool calls that have not begun. A call is open since the model's answer, also while it waits for the user's answer or for the
// calls before it. Pure. Test: test/tables/kernel/state/unbegun-calls.test.ts.
import { isExternal } from '../model/capabilities.ts'
import type { Process } from '../model/process.ts'

/**
 * Returns the ids of the open calls that wait for an answer, and of those behind them. A native agent runs reads in parallel and all other
 * calls in order. The order of an external agent is unknown.
 */
export function unbegunCalls({ spec, progress: { openCalls } }: Pick<Process, 'spec' | 'progress'>): ReadonlySet<string> {
  const unbegun = new Set<string>()
  let waiting: 'nothing' | 'a read' | 'all' = 'nothing'
  for (const { callId, asked, effect } of openCalls) {
    if (waiting === 'a read' && effect !== 'read') waiting = 'all'
    if (asked === true || waiting === 'all') unbegun.add(callId)
    if (asked === true && waiting === 'nothing' && !isExternal(spec)) waiting = effect === 'read' ? 'a read' : 'all'
  }
  return unbegun
}
