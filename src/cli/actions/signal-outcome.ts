// What verbs print about the answer to a signal, pause or resume: the end of a message, and fields of the JSON result. Pure.
// Tests: test/e2e/lifecycle/signals.test.ts, test/e2e/cli/cli.test.ts.
import type { ProcessView, SteerView } from '../../api/views/process.ts'
import { formatCount } from '../../faces/format.ts'
import type { Signal } from '../../kernel/model/words.ts'

/** Returns the end of the message: the number of processes reached, the children that keep running, and a note. */
export function outcomeSuffix(answer: SteerView): string {
  const parts: string[] = []
  if (answer.affected > 1) parts.push(`${formatCount(answer.affected, 'process')} in all`)
  if (answer.childrenGoOn) parts.push(answer.childrenGoOn === 1 ? '1 child keeps running' : `${answer.childrenGoOn} children keep running`)
  if (answer.note) parts.push(answer.note)
  return parts.map((part) => `; ${part}`).join('')
}

/** Returns the note that the process delays a signal of the user, or an empty text. */
export function deferralNote({ pid, signals }: ProcessView, signal: Signal): string {
  return signals.pending.includes(signal)
    ? `; ${signal} is delayed for at most 10 s, as the process requested (\`reeve signals ${pid}\`)`
    : ''
}

/** Returns the optional fields of an answer, for the JSON result. */
export function outcomeFields(answer: SteerView): object {
  const { note, childrenGoOn } = answer
  return { ...(note === undefined ? {} : { note }), ...(childrenGoOn === undefined ? {} : { childrenGoOn }) }
}
