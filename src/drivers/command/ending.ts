// How an agent ended: by its own events first, and by its exit code second, because exit codes lie. The same table serves a
// program that is all of a process, and one that is a turn of a conversation. Pure. Test: test/tables/command-ending.test.ts.
import { resetInWords } from '../limit-reset.ts'
import type { Report } from '../../kernel/reports.ts'
import type { ProgramExit } from '../contain/contain.ts'
import type { Format } from './formats/format.ts'
import type { Ending } from './narrator.ts'

export interface Ended {
  readonly exit: ProgramExit
  readonly ending: Ending
  /** the last thing it complained of */
  readonly complaint: string
  readonly turn: number
  /** wall ms at which the limit that it met is over, as it said itself */
  readonly limitedUntil?: number | null
  readonly nowMs: number
}

/** Why it has failed, in words; null: only its program's exit says so. */
type Verdict = { readonly ok: true; readonly result: string } | { readonly ok: false; readonly error: string | null }

/** The last reports of a process. What succeeded by its own word has, whatever came of its program after that. */
export function lastReports(format: Format, ended: Ended): Report[] {
  const { exit, turn } = ended
  const verdict = verdictOf(format, ended)
  if (verdict.ok) return [...remark(exit), { type: 'turn.ended', turn, outcome: 'ok', result: verdict.result }, { type: 'exited', code: 0, osSignal: null }]
  return [{ type: 'exited', code: exit.code, osSignal: exit.signal, ...limited(ended), ...(verdict.error === null ? {} : { error: verdict.error }) }]
}

/** The last reports of a turn, in a process that goes on. */
export function turnReports(format: Format, ended: Ended): Report[] {
  const { exit, turn } = ended
  const verdict = verdictOf(format, ended)
  if (verdict.ok) return [...remark(exit), { type: 'turn.ended', turn, outcome: 'ok', result: verdict.result }]
  return [{ type: 'turn.ended', turn, outcome: 'error', error: verdict.error || `${format.title} ended ${howOf(exit)}`, ...limited(ended) }]
}

function verdictOf(format: Format, { exit, ending, complaint }: Ended): Verdict {
  if (ending?.error === null) return { ok: true, result: ending.result ?? '' }
  if (ending !== null) return { ok: false, error: ending.error ?? '' }
  if (exit.signal !== null) return { ok: false, error: null }
  const word = exit.code === null ? undefined : format.codes[exit.code]
  if (word !== undefined) return { ok: false, error: complaint === '' ? word : `${word}: ${complaint}` }
  if (complaint !== '') return { ok: false, error: complaint }
  return { ok: false, error: exit.code === 0 ? `${format.title} ended without a result` : null }
}

/** It ended as its limit was reached, and says when that is over. */
function limited({ ending, complaint, limitedUntil = null, nowMs }: Ended): { readonly resumeAt?: number } {
  const until = limitedUntil ?? resetInWords(ending?.error ?? complaint, nowMs)
  return until === null || until <= nowMs ? {} : { resumeAt: until }
}

function remark(exit: ProgramExit): Report[] {
  return exit.code === 0 ? [] : [{ type: 'note', text: `after its result it ended ${howOf(exit)}` }]
}

function howOf({ code, signal }: ProgramExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`
}
