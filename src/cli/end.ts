// Ending a process and seeing that it has ended: what `kill` and `stop` share.
// Must never say that something has ended which has not. Test: test/e2e/cli.test.ts.
import type { Reeve } from '../index.ts'
import type { ProcessView, SteerView } from '../api/views.ts'
import type { Signal } from '../kernel/types.ts'
import { called, ending, hasEnded } from './describe.ts'
import type { Done } from './each.ts'
import { plural } from './format.ts'

/** Beyond the grace: a signal that is blocked is deferred for 10 s at most, then the programs are killed. */
const PATIENCE_MS = 15_000

export interface Ending {
  readonly signal: Signal
  /** exactly so long; absent: what the process needs */
  readonly graceMs?: number | undefined
  /** and this at least */
  readonly leastGraceMs?: number
  readonly subtree: boolean
}

export async function end(reeve: Reeve, ref: string, { signal, graceMs, leastGraceMs, subtree }: Ending): Promise<Done> {
  const options = graceMs !== undefined ? { graceMs } : leastGraceMs !== undefined ? { leastGraceMs } : {}
  const answer = await (subtree ? reeve.signalTree(ref, signal, options) : reeve.signal(ref, signal, options))
  const { process, timedOut } = await reeve.wait(answer.process.uuid, { timeoutMs: graceOf(answer, graceMs ?? leastGraceMs ?? 0) + PATIENCE_MS })
  const fields = { affected: answer.affected, process, ...rest(answer) }
  if (timedOut || !hasEnded(process)) return { words: `${called(process)} has not ended yet (${process.status})${also(answer)}`, fields, exit: 1 }
  return { words: `${called(process)} ${ending(process)}${also(answer)}`, fields }
}

/** What it was left; not known yet of one that defers the signal. */
function graceOf({ process }: SteerView, asked: number): number {
  return process.stopping?.graceMs ?? asked
}

/** What else is to be said about an answer: how many were reached, what goes on, a note. */
export function also(answer: SteerView): string {
  const parts: string[] = []
  if (answer.affected > 1) parts.push(`${plural(answer.affected, 'process')} in all`)
  if (answer.childrenGoOn) parts.push(answer.childrenGoOn === 1 ? '1 child goes on' : `${answer.childrenGoOn} children go on`)
  if (answer.note) parts.push(answer.note)
  return parts.map((part) => `; ${part}`).join('')
}

/** A person's signal that the process blocks or handles: it comes, but not yet. */
export function putOff({ pid, signals }: ProcessView, signal: Signal): string {
  return signals.pending.includes(signal) ? `; ${signal} is put off for 10 s at most, as it asked (\`reeve signals ${pid}\`)` : ''
}

export function rest(answer: SteerView): object {
  const { note, childrenGoOn } = answer
  return { ...(note === undefined ? {} : { note }), ...(childrenGoOn === undefined ? {} : { childrenGoOn }) }
}
