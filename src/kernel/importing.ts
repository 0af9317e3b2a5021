// A process that comes from elsewhere is ended, whatever it was when it left: nothing of it runs here, so it is as after a crash.
// Owns the facts that say so; none for one that had ended. Test: test/e2e/archive.test.ts.
import { expected } from './cut-off.ts'
import { INTERRUPTED } from './exit.ts'
import type { FactBody } from './facts.ts'
import type { Process } from './types.ts'

/** What it used elsewhere is no payer's business here: a copy of one that was here would count twice. */
const RELEASED: FactBody = { type: 'process.reaped', settled: true }

export function endOfImported({ life, clock, calls = [] }: Process): readonly FactBody[] {
  const cutOff = calls.map(({ call, reserve }): FactBody => ({ type: 'call.finished', call, usage: expected(reserve), status: null, error: 'interrupted' }))
  switch (life.state) {
    case 'dead': return []
    case 'zombie': return [RELEASED]
    case 'created': return [{ type: 'process.started', mono: 0, attached: false, containment: null }, { type: 'process.exited', exit: INTERRUPTED, mono: 0, elapsedMs: 0 }, RELEASED]
    case 'running': {
      // Its clock is known up to its last activity only.
      const elapsedMs = clock.elapsedMs + (clock.sinceAt === null ? 0 : Math.max(0, clock.lastActivityAt - clock.sinceAt))
      const exit = life.stopping?.exit ?? INTERRUPTED
      return [...cutOff, { type: 'process.exited', exit, mono: clock.since ?? 0, elapsedMs }, RELEASED]
    }
  }
}
