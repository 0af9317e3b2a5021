// Parses names and numbers of signals. The numbers are those of POSIX, as in the command `kill`. Test:
// test/tables/cli/input/signals.test.ts.
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { UsageError } from '../errors.ts'
import { SIGNAL_TABLE } from '../../kernel/model/signals.ts'
import { HANDLERS, SIGNALS, type Handler, type Signal } from '../../kernel/model/words.ts'

const BY_NUMBER: Readonly<Record<string, Signal>> = Object.fromEntries(SIGNALS.map((name) => [SIGNAL_TABLE[name].posix, name]))
/** The signals by their names without `SIG`. STOP and CONT are the POSIX names for a pause and its end. */
const BY_NAME: Readonly<Record<string, Signal>> = {
  ...Object.fromEntries(SIGNALS.map((name) => [name.slice('SIG'.length), name])),
  STOP: 'SIGPAUSE',
  CONT: 'SIGRESUME',
}

/** The signals, each with its POSIX number as text. */
export const SIGNAL_NUMBERS = Object.entries(BY_NUMBER).map(([number, name]) => [name, number] as const)

/** Parses a name, with or without `SIG`, or a number. Errors: usage, with the most similar name. */
export function parseSignal(text: string): Signal {
  const signal = Object.hasOwn(BY_NUMBER, text) ? BY_NUMBER[text] : BY_NAME[text.toUpperCase().replace(/^SIG/, '')]
  if (signal) return signal
  if (text === '0') throw new UsageError('there is no signal 0', '`reeve ps` lists the living processes.')
  const near = closestWord(text.replace(/^sig/i, ''), Object.keys(BY_NAME))
  throw new UsageError(
    `there is no signal "${text}"`,
    near
      ? `Did you mean ${BY_NAME[near]}?`
      : `The signals are ${SIGNALS.map((name) => `${name} (${SIGNAL_TABLE[name].posix})`).join(', ')}.`,
  )
}

/** Parses `TERM=message`. Errors: usage. */
export function parseSignalHandler(text: string): readonly [Signal, Handler] {
  const [name = '', word = ''] = text.split('=')
  const handler = HANDLERS.find((each) => each === word)
  if (!handler) throw new UsageError(`"${text}" is not a handler`, 'Write it as in TERM=message; a handler is default, ignore or message.')
  return [parseSignal(name), handler]
}
