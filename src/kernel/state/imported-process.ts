// Closes an imported process. None of its programs run on this machine, so it ends as after a crash. Test: test/e2e/daemon/archive.test.ts.
import { expectedUsage } from './unfinished-call.ts'
import { INTERRUPTED_EXIT } from '../model/exit.ts'
import type { FactBody } from '../model/facts.ts'
import type { Process } from '../model/process.ts'

/** `settled`: no payer in this store counts the usage, because a second import would count it again. */
const REAPED: FactBody = { type: 'process.reaped', settled: true }

/** The facts that close an imported process; none if it has ended. */
export function closingFactsOf({ life, clock, calls = [] }: Process): readonly FactBody[] {
  const finishedCalls = calls.map(({ call, reserve }): FactBody => ({
    type: 'call.finished',
    call,
    usage: expectedUsage(reserve),
    status: null,
    error: 'interrupted',
  }))
  switch (life.state) {
    case 'dead':
      return []
    case 'zombie':
      return [REAPED]
    case 'created':
      return [
        { type: 'process.started', mono: 0, attached: false, containment: null },
        { type: 'process.exited', exit: INTERRUPTED_EXIT, mono: 0, elapsedMs: 0 },
        REAPED,
      ]
    case 'running': {
      // The active time is known only up to the last activity.
      const elapsedMs = clock.elapsedMs + (clock.sinceAt === null ? 0 : Math.max(0, clock.lastActivityAt - clock.sinceAt))
      const exit = life.stopping?.exit ?? INTERRUPTED_EXIT
      return [...finishedCalls, { type: 'process.exited', exit, mono: clock.since ?? 0, elapsedMs }, REAPED]
    }
  }
}
