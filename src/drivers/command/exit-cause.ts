// Decides how an agent ended: by its own events first, and then by its exit status and its last error line. The exit code can be wrong. The
// same rules serve a program that is a whole process, and one that is a turn of a conversation. Pure.
// Test: test/tables/drivers/command/exit-cause.test.ts.
import { withLoginAdvice } from '../gateway/logins.ts'
import { findResetTimeMs } from '../common/rate-limit-reset.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { ProgramExit } from '../contain/containment-contract.ts'
import type { AgentFormat } from './formats/format.ts'
import type { ReportedEnd } from './observation-mapper.ts'

export interface EndedProgram {
  readonly exit: ProgramExit
  readonly ending: ReportedEnd
  /** the last error message that the program wrote; empty without one */
  readonly errorLine: string
  readonly turn: number
  /** the wall time in ms at which the agent's rate limit ends, as the agent reported it */
  readonly limitedUntil?: number | null
  readonly nowMs: number
}

/** How the program ended. `error` is the reason of a failure; null if only the exit status shows the failure. */
type Outcome = { readonly ok: true; readonly result: string } | { readonly ok: false; readonly error: string | null }

/** Returns the last reports of a process. A success that the agent reported counts, whatever the exit code of its program is. */
export function lastReports(format: AgentFormat, ended: EndedProgram): Report[] {
  const { exit, turn } = ended
  const outcome = outcomeWithLogin(format, ended)
  if (outcome.ok)
    return [
      ...exitNote(exit),
      { type: 'turn.ended', turn, outcome: 'ok', result: outcome.result },
      { type: 'exited', code: 0, osSignal: null },
    ]
  return [
    {
      type: 'exited',
      code: exit.code,
      osSignal: exit.signal,
      ...resumeAtOf(ended),
      ...(outcome.error === null ? {} : { error: outcome.error }),
    },
  ]
}

/** Returns the last reports of a turn in a process that continues after it. */
export function turnReports(format: AgentFormat, ended: EndedProgram): Report[] {
  const { exit, turn } = ended
  const outcome = outcomeWithLogin(format, ended)
  if (outcome.ok) return [...exitNote(exit), { type: 'turn.ended', turn, outcome: 'ok', result: outcome.result }]
  return [
    { type: 'turn.ended', turn, outcome: 'error', error: outcome.error || `${format.title} ended ${exitText(exit)}`, ...resumeAtOf(ended) },
  ]
}

function outcomeWithLogin(format: AgentFormat, ended: EndedProgram): Outcome {
  const outcome = outcomeOf(format, ended)
  return outcome.ok || outcome.error === null ? outcome : { ok: false, error: withLoginAdvice(outcome.error, format.title) }
}

function outcomeOf(format: AgentFormat, { exit, ending, errorLine }: EndedProgram): Outcome {
  if (ending?.error === null) return { ok: true, result: ending.result ?? '' }
  if (ending !== null) return { ok: false, error: ending.error ?? '' }
  if (exit.signal !== null) return { ok: false, error: null }
  const codeMeaning = exit.code === null ? undefined : format.exitCodeMeanings[exit.code]
  if (codeMeaning !== undefined) return { ok: false, error: errorLine === '' ? codeMeaning : `${codeMeaning}: ${errorLine}` }
  if (errorLine !== '') return { ok: false, error: errorLine }
  return { ok: false, error: exit.code === 0 ? `${format.title} ended without a result` : null }
}

/** Returns the field `resumeAt` if the agent has hit a rate limit and reported when that is reset. */
function resumeAtOf({ ending, errorLine, limitedUntil = null, nowMs }: EndedProgram): { readonly resumeAt?: number } {
  const until = limitedUntil ?? findResetTimeMs(ending?.error ?? errorLine, nowMs)
  return until === null || until <= nowMs ? {} : { resumeAt: until }
}

function exitNote(exit: ProgramExit): Report[] {
  return exit.code === 0 ? [] : [{ type: 'note', text: `after its result it ended ${exitText(exit)}` }]
}

function exitText({ code, signal }: ProgramExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`
}
