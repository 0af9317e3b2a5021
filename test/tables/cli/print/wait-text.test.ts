// The text about what a command waits for: a process that works, is idle, ends, or is held. Also whether the process needs the user.
import { expect, test } from 'vitest'
import { joinWaits, needsUserToContinue, processWait, waitLine, type WaitingView } from '../../../../src/cli/print/wait-text.ts'
import { processView } from '../../../support/daemon/process-view.ts'

const AT = '2026-11-28T13:00:00.000Z'
type Fields = Partial<WaitingView>
const view = (fields: Fields): WaitingView => ({
  ...processView(),
  pid: 5,
  name: 'docs',
  since: AT,
  status: 'working',
  why: null,
  ...fields,
})
const waitsBecause = (kind: NonNullable<WaitingView['why']>['kind'], text: string): Fields => ({ why: { kind, text, since: AT } })
const hold = (reason: 'user' | 'rate-limit' | 'daemon-shutdown', more: object = {}): Fields => ({
  status: 'suspended',
  holds: [{ reason, by: 'user', at: AT, ...more }] as WaitingView['holds'],
})

test.each<[what: string, fields: Fields, goals: Parameters<typeof processWait>[1], text: string]>([
  [
    'work',
    waitsBecause('tool', 'bash npm test'),
    ['exited'],
    'PID 5 (docs) to end: it is working; it ends by itself, or `reeve stop 5` ends it',
  ],
  [
    'nothing to do',
    { status: 'ready', ...waitsBecause('message', 'waits for a message') },
    ['exited'],
    'PID 5 (docs) to end, but it waits for a message; `reeve send 5 TEXT` gives it one, `reeve stop 5` ends it',
  ],
  [
    'a repeated call',
    waitsBecause('retry', 'repeats the model call'),
    ['done'],
    'PID 5 (docs) to be done: repeats the model call; it goes on by itself, or `reeve stop 5` ends it',
  ],
  [
    'an end',
    waitsBecause('stop', 'ends: SIGTERM by the user'),
    undefined,
    'PID 5 (docs) to end: ends: SIGTERM by the user; `reeve kill -s KILL 5` ends it now',
  ],
  ['a hold', hold('user'), ['exited'], 'PID 5 (docs) to go on; `reeve resume 5` continues it, `reeve stop 5` ends it'],
])('the text about a wait for a process states its reason: %s', (_, fields, goals, text) => {
  const line = waitLine(processWait(view(fields), goals), Date.parse(AT), Date.parse(AT))
  expect(line).toMatch(/^waits since \d\d:\d\d:\d\d for /)
  expect(line.replace(/^waits since \S+ for /, '')).toBe(text)
})

test('a wait that ends by itself has its time, with the date if that is not the day of its beginning', () => {
  const endOf = (until: string): string => {
    const why = { kind: 'retry' as const, text: 'repeats the model call', since: AT, until }
    return processWait(view({ why })).ends
  }
  expect(endOf('2026-11-28T13:00:30.000Z')).toMatch(/^it goes on by itself at \d\d:\d\d:30, or /)
  expect(endOf('2026-12-01T13:00:30.000Z')).toMatch(/^it goes on by itself at 2026-12-0[12] \d\d:\d\d:30, or /)
})

test('several waits are one line', () => {
  const waits = [view({}), view({ uuid: 'b', pid: 6, name: null })].map((process) => processWait(process))
  expect(joinWaits(waits)?.what).toBe('PID 5 (docs) to end: it is working (and 1 more wait)')
  expect(joinWaits([])).toBeNull()
})

test.each<[what: string, fields: Fields, needed: boolean]>([
  ['a pause of the user', hold('user'), true],
  ['a rate limit', hold('rate-limit'), true],
  ['a rate limit after which the process wakes', hold('rate-limit', { wake: true }), false],
  ['a restart of the daemon', hold('daemon-shutdown'), false],
  ['work', {}, false],
])('whether a process needs the user: %s', (_, fields, needed) => {
  expect(needsUserToContinue(view(fields))).toBe(needed)
})
