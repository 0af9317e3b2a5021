// Which open calls have not begun: those that wait for an answer, and those behind them.
import { expect, test } from 'vitest'
import { unbegunCalls } from '../../../../src/kernel/state/unbegun-calls.ts'
import type { OpenCall, Process } from '../../../../src/kernel/model/process.ts'

/** `r`: a read, `w`: another call; `?`: it waits for an answer. Returns the places of the calls that have not begun. */
function unbegunIn(calls: string, driver: 'native' | 'acp' = 'native', life: object = { state: 'running', drained: false }): string {
  const openCalls = calls.split(' ').map((text, index): OpenCall => ({
    callId: String(index),
    name: 'tool',
    effect: text.startsWith('r') ? 'read' : 'once',
    ...(text.endsWith('?') ? { asked: true as const } : {}),
  }))
  const process = { spec: { driver }, life, progress: { openCalls } } as unknown as Process
  return [...unbegunCalls(process)].join(' ')
}

test.each([
  ['w', ''],
  ['r r', ''],
  ['w? w r', '0 1 2'],
  ['w w?', '1'],
  ['r? r', '0'],
  ['r r? r w r', '1 3 4'],
])('of the calls %j of a native agent, these have not begun: %j', (calls, unbegun) => expect(unbegunIn(calls)).toBe(unbegun))

test('of an external agent, only the call that waits is known not to have begun', () => {
  expect(unbegunIn('w? w r', 'acp')).toBe('0')
})

test.each([
  ['a drained process waits before its next call', { attached: true, drained: true, midway: false }, '0 1'],
  ['a frozen process is in the middle of a call', { attached: true, drained: true, midway: true }, ''],
  ['after the death of the daemon, calls that may run twice stay open', { attached: false, drained: true, midway: false }, ''],
])('%s', (_, life, unbegun) => {
  expect(unbegunIn('w r', 'native', { state: 'running', ...life })).toBe(unbegun)
})
