// Following a crew: what happens as lines, what each worker does in rows below them, until it has ended or is left.
// Test: test/e2e/cli-crew.test.ts.
import type { ProcessView } from '../api/views.ts'
import type { Reeve } from '../index.ts'
import { CrewEvents } from './crew-events.ts'
import { follow } from './follow.ts'
import { Interrupts, QUESTION_READY } from './interrupts.ts'
import type { Output } from './output.ts'
import { JsonView } from './plain-views.ts'

/** For wishes from before the start on: who starts a crew must not be deaf meanwhile. `leaves`: who only looks on. */
export function crewInterrupts(out: Output, leaves: boolean): Interrupts {
  return new Interrupts(out, { leaves, question: QUESTION_READY })
}

export async function followCrew(process: ProcessView, { out, reeve, interrupts, after = 0 }: { out: Output; reeve: Reeve; interrupts: Interrupts; after?: number }): Promise<number> {
  const view = out.json ? new JsonView(out) : new CrewEvents(out, reeve)
  const parts = { reeve, out, interrupts, after, comeBack: `reeve crew follow ${process.pid}` }
  if (!out.isLively) return await follow(process, { ...parts, view })
  const { CrewRows } = await import('./live/crew-rows.ts')
  using rows = new CrewRows(process, { out, view })
  return await follow(process, { ...parts, view: rows })
}
