// How an agent ended: by its own events first, and by its exit code second, because exit codes lie.
// Pure. Test: test/tables/command-ending.test.ts.
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

/** The last reports of an agent, in order. What succeeded by its own word has, whatever came of its program after that. */
export function lastReports(format: Format, ended: Ended): Report[] {
  const { exit, ending, complaint, turn } = ended
  const exited: Report = { type: 'exited', code: exit.code, osSignal: exit.signal, ...limited(ended) }
  if (ending?.error === null) return [...remark(exit), { type: 'turn.ended', turn, outcome: 'ok', result: ending.result ?? '' }, { type: 'exited', code: 0, osSignal: null }]
  if (ending !== null) return [{ ...exited, error: ending.error ?? '' }]
  if (exit.signal !== null) return [exited]
  const word = exit.code === null ? undefined : format.codes[exit.code]
  if (word !== undefined) return [{ ...exited, error: complaint === '' ? word : `${word}: ${complaint}` }]
  if (complaint !== '') return [{ ...exited, error: complaint }]
  return [exit.code === 0 ? { ...exited, error: `${format.title} ended without a result` } : exited]
}

/** It ended as its limit was reached, and says when that is over. */
function limited({ ending, complaint, limitedUntil = null, nowMs }: Ended): { readonly resumeAt?: number } {
  const until = limitedUntil ?? resetInWords(ending?.error ?? complaint, nowMs)
  return until === null || until <= nowMs ? {} : { resumeAt: until }
}

function remark({ code, signal }: ProgramExit): Report[] {
  if (code === 0) return []
  return [{ type: 'note', text: `after its result it ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}` }]
}
