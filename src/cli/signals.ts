// Names and numbers of signals as people type them. The numbers are POSIX's, as in `kill`, not the kernel's own.
// Test: test/tables/cli-args.test.ts.
import type { Handler, Signal } from '../kernel/types.ts'
import { nearest } from '../config/nearest.ts'
import { UsageError } from './errors.ts'

const BY_NUMBER: Readonly<Record<string, Signal>> = { 2: 'SIGINT', 9: 'SIGKILL', 15: 'SIGTERM', 18: 'SIGRESUME', 19: 'SIGPAUSE' }
const BY_NAME: Readonly<Record<string, Signal>> = {
  INT: 'SIGINT', KILL: 'SIGKILL', TERM: 'SIGTERM', PAUSE: 'SIGPAUSE', STOP: 'SIGPAUSE', RESUME: 'SIGRESUME', CONT: 'SIGRESUME',
}

/** Each with its number, for people. */
export const SIGNALS = Object.entries(BY_NUMBER).map(([number, name]) => [name, number] as const)

export function signalOf(text: string): Signal {
  const signal = BY_NUMBER[text] ?? BY_NAME[text.toUpperCase().replace(/^SIG/, '')]
  if (signal) return signal
  if (text === '0') throw new UsageError('there is no signal 0', '`reeve ps` says what lives.')
  const near = nearest(text.replace(/^sig/i, ''), Object.keys(BY_NAME))
  throw new UsageError(`no signal "${text}"`, near ? `Did you mean ${BY_NAME[near]}?` : 'There are SIGTERM (15), SIGKILL (9), SIGINT (2), SIGPAUSE (19) and SIGRESUME (18).')
}

export const HANDLERS: readonly Handler[] = ['default', 'ignore', 'message']

/** `TERM=message` */
export function handlerOf(text: string): readonly [Signal, Handler] {
  const [name = '', word = ''] = text.split('=')
  const handler = HANDLERS.find((one) => one === word)
  if (!handler) throw new UsageError(`"${text}" is no handler`, 'Write it as in TERM=message; a handler is default, ignore or message.')
  return [signalOf(name), handler]
}
