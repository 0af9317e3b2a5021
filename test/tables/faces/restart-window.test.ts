// The restarts of a child within the window of its supervisor.
import { expect, test } from 'vitest'
import { giveUpTexts, policyText, restartWindow, supervisorHistory } from '../../../src/faces/restart-window.ts'

const NOW = Date.UTC(2026, 10, 24, 2)
const policy = { maxRestarts: 3, windowMs: 300_000, backoff: { initialMs: 2_000, maxMs: 60_000, factor: 2 } }
const child = (...secondsAgo: number[]) => ({
  id: 'server',
  restartedAt: secondsAgo.map((seconds) => new Date(NOW - seconds * 1_000).toISOString()),
})

test.each([
  [[], [], '0 of 3', false],
  [[300, 150, 0], [0.5, 1], '2 of 3', false],
  [[225, 150, 75], [0.25, 0.5, 0.75], '3 of 3', true],
  [[-10], [1], '1 of 3', false],
])('restarts %j seconds ago lie at %j: %s', (seconds, marks, text, isFull) => {
  expect(restartWindow(child(...seconds), policy, NOW)).toEqual({ marks, text, isFull })
})

test('one more failure makes the supervisor give up, unless the earliest restart has left the window', () => {
  expect(giveUpTexts([child(225, 150, 75), { ...child(10), id: 'notes' }], policy, NOW)).toEqual([
    'one more failure of server within 1m 15s: the supervisor gives up',
  ])
  expect(giveUpTexts([child()], { ...policy, maxRestarts: 0 }, NOW)).toEqual([])
  expect(policyText(policy)).toBe('at most 3 restarts of a child in 5m 00s · waits 2.0s to 1m 00s before each')
})

test('the history of a supervisor has restarts, holds and the end, the newest first', () => {
  const event = (seq: number, type: string, fields: object) => ({
    version: 1 as const,
    seq,
    uuid: 'u',
    pid: 1,
    at: 't',
    type,
    id: 'server',
    ...fields,
  })
  expect(
    supervisorHistory([
      event(1, 'supervisor.added', {}),
      event(2, 'supervisor.restarting', { cause: 'exit code 3', delayMs: 900, group: ['a', 'b'] }),
      event(3, 'supervisor.restarting', { cause: '', delayMs: 2_000 }),
      event(4, 'supervisor.held', { cause: 'no key' }),
      event(5, 'supervisor.escalated', { times: 4 }),
    ]).map(({ id, kind, cause, text }) => [id, kind, cause, text]),
  ).toEqual([
    ['server', 'gave up', null, 'it failed 4 times'],
    ['server', 'held', 'no key', 'it would fail again'],
    ['server', 'restarted', null, 'after 2.0s'],
    ['server', 'restarted', 'exit code 3', 'after 900ms, with 2 others'],
  ])
})
