// Signals and handlers as they are typed.
import { expect, test } from 'vitest'
import { UsageError } from '../../../../src/cli/errors.ts'
import { parseSignalHandler, parseSignal } from '../../../../src/cli/input/signals.ts'

test.each([
  ['15', 'SIGTERM'],
  ['9', 'SIGKILL'],
  ['2', 'SIGINT'],
  ['19', 'SIGPAUSE'],
  ['18', 'SIGRESUME'],
  ['TERM', 'SIGTERM'],
  ['sigkill', 'SIGKILL'],
  ['Int', 'SIGINT'],
  ['STOP', 'SIGPAUSE'],
  ['SIGCONT', 'SIGRESUME'],
])('the typed signal %s is %s', (typed, signal) => {
  expect(parseSignal(typed)).toBe(signal)
})

test('signal 0 does not exist; the hint names reeve ps', () => {
  expect(() => parseSignal('0')).toThrow(
    expect.objectContaining({ message: 'there is no signal 0', hint: '`reeve ps` lists the living processes.' }),
  )
})

test.each([
  ['TERM=message', ['SIGTERM', 'message']],
  ['sigint=ignore', ['SIGINT', 'ignore']],
  ['19=default', ['SIGPAUSE', 'default']],
])('the typed handler %s is read', (typed, read) => {
  expect(parseSignalHandler(typed)).toEqual(read)
})

test.each(['TERM', 'TERM=', 'TERM=stop', 'HUP=ignore', '=message'])('there is no handler %j', (typed) => {
  expect(() => parseSignalHandler(typed)).toThrow(UsageError)
})

test.each(['1', '3', '', 'HUP', '0x9'])('there is no signal %j', (typed) => {
  expect(() => parseSignal(typed)).toThrow(UsageError)
})
