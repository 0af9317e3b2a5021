// Exit statuses: codes, reasons and causes for each way to end.
import { describe, expect, test } from 'vitest'
import {
  COMPLETED_EXIT,
  INTERRUPTED_EXIT,
  MAX_STEPS_EXIT,
  TIMED_OUT_EXIT,
  naturalExit,
  signalExit,
} from '../../../../src/kernel/model/exit.ts'
import { statusOf } from '../../../../src/kernel/model/status.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { ExitStatus } from '../../../../src/kernel/model/process.ts'
import type { Sender } from '../../../../src/kernel/model/ids.ts'
import type { Cause, Signal } from '../../../../src/kernel/model/words.ts'

type Exited = Omit<Extract<Report, { type: 'exited' }>, 'type'>

const NATURAL: readonly { readonly report: Exited; readonly exit: ExitStatus; readonly status: string }[] = [
  { report: { code: 0, osSignal: null }, exit: { code: 0, reason: 'completed', cause: 'agent' }, status: 'completed' },
  { report: { code: 3, osSignal: null }, exit: { code: 3, reason: 'exit code 3', cause: 'agent' }, status: 'failed' },
  { report: { code: 3, osSignal: null, reason: 'usage' }, exit: { code: 3, reason: 'usage', cause: 'agent' }, status: 'failed' },
  { report: { code: null, osSignal: null }, exit: { code: 1, reason: 'unexpected exit', cause: 'agent' }, status: 'failed' },
  {
    report: { code: null, osSignal: null, error: 'boom' },
    exit: { code: 1, reason: 'boom', error: 'boom', cause: 'agent' },
    status: 'failed',
  },
  {
    report: { code: 127, osSignal: null, error: 'not found' },
    exit: { code: 127, reason: 'not found', error: 'not found', cause: 'agent' },
    status: 'failed',
  },
  {
    report: { code: 0, osSignal: null, error: 'lied' },
    exit: { code: 1, reason: 'lied', error: 'lied', cause: 'agent' },
    status: 'failed',
  },
  { report: { code: null, osSignal: 'SIGSEGV' }, exit: { code: 139, reason: 'ended by SIGSEGV', cause: 'agent' }, status: 'failed' },
  { report: { code: null, osSignal: 'SIGKILL' }, exit: { code: 137, reason: 'ended by SIGKILL', cause: 'agent' }, status: 'failed' },
  { report: { code: null, osSignal: 'SIGTERM' }, exit: { code: 143, reason: 'ended by SIGTERM', cause: 'agent' }, status: 'failed' },
  { report: { code: null, osSignal: 'SIGPROF' }, exit: { code: 155, reason: 'ended by SIGPROF', cause: 'agent' }, status: 'failed' },
]

test.each(NATURAL)('the exit without a request, reported as $report, has its code, reason and cause', ({ report, exit, status }) => {
  const found = naturalExit({ type: 'exited', ...report })
  expect(found).toEqual(exit)
  expect(statusOf({ life: { state: 'dead', exit: found }, retiredAt: null })).toBe(status)
})

describe('an exit by a signal of the kernel', () => {
  const CODES: readonly (readonly [Signal, number])[] = [
    ['SIGTERM', 143],
    ['SIGKILL', 137],
    ['SIGINT', 130],
  ]
  const CAUSES: readonly (readonly [Sender, Cause])[] = [
    ['user', 'person'],
    ['agent:a', 'parent'],
    ['coordinator', 'parent'],
    ['system', 'daemon'],
  ]

  test.each(CODES.flatMap(([signal, code]) => CAUSES.map(([by, cause]) => ({ signal, code, by, cause }))))(
    '$signal from $by',
    ({ signal, code, by, cause }) => {
      expect(signalExit(signal, by, false)).toEqual({ code, reason: `${signal} from ${by}`, signal, cause })
      expect(signalExit(signal, by, true)).toEqual({ code: 1, reason: 'context cancelled while paused', signal, cause })
    },
  )
})

test('the kernel sets these exit statuses itself', () => {
  expect(
    [COMPLETED_EXIT, INTERRUPTED_EXIT, MAX_STEPS_EXIT, TIMED_OUT_EXIT].map(({ code, reason, cause }) => [code, reason, cause]),
  ).toEqual([
    [0, 'completed', 'agent'],
    [1, 'interrupted', 'daemon'],
    [1, 'max steps exceeded', 'limit'],
    [1, 'timed out', 'limit'],
  ])
})
