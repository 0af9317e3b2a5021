// The status over every combination of state, activity, holds, stopping, cause, code and retirement.
import { describe, expect, test } from 'vitest'
import { isActive, isLiving, isSuspended, statusOf } from '../../../../src/kernel/model/status.ts'
import type { Hold, Life, Stopping } from '../../../../src/kernel/model/process.ts'
import type { Activity, Cause } from '../../../../src/kernel/model/words.ts'

const HOLD: Hold = { reason: 'budget', by: 'system', at: 1 }
const STOPPING: Stopping = {
  signal: 'SIGTERM',
  by: 'user',
  at: 1,
  graceMs: 300,
  exit: { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM', cause: 'person' },
}
const ACTIVITIES: readonly Activity[] = ['starting', 'ready', 'working', 'waiting']
const CAUSES: readonly Cause[] = ['agent', 'person', 'parent', 'limit', 'daemon']

function runningLife(activity: Activity, held: boolean, stopping: boolean, drained = false): Life {
  return {
    state: 'running',
    activity,
    holds: held ? [HOLD] : [],
    stopping: stopping ? STOPPING : null,
    drained,
    midway: false,
    attached: !drained,
  }
}

describe('running', () => {
  const cells = ACTIVITIES.flatMap((activity) =>
    [false, true].flatMap((held) =>
      [false, true].flatMap((stopping) => [false, true].map((drained) => ({ activity, held, stopping, drained }))),
    ),
  )

  test.each(cells)('$activity, held $held, stopping $stopping, drained $drained', ({ activity, held, stopping, drained }) => {
    const process = { life: runningLife(activity, held, stopping, drained), retiredAt: null }
    let expected: string = activity
    if (held) expected = 'suspended'
    if (stopping) expected = 'stopping'
    expect(statusOf(process)).toBe(expected)
    expect(statusOf({ ...process, retiredAt: 5 })).toBe(expected)
    expect([isLiving(process), isSuspended(process), isActive(process)]).toEqual([true, held, !held])
  })
})

describe('not running', () => {
  const ENDED: Readonly<Record<Cause, readonly [zero: string, other: string]>> = {
    agent: ['completed', 'failed'],
    person: ['stopped', 'stopped'],
    parent: ['stopped', 'stopped'],
    limit: ['failed', 'failed'],
    daemon: ['interrupted', 'interrupted'],
  }

  test.each(CAUSES.flatMap((cause) => [0, 1, 2, 143].map((code) => ({ cause, code }))))(
    'a dead process has the status of the cause $cause and the code $code',
    ({ cause, code }) => {
      const life: Life = { state: 'dead', exit: { code, reason: 'any', cause } }
      expect(statusOf({ life, retiredAt: null })).toBe(ENDED[cause][code === 0 ? 0 : 1])
      expect(statusOf({ life, retiredAt: 5 })).toBe('retired')
      expect(statusOf({ life: { ...life, state: 'zombie' }, retiredAt: null })).toBe('zombie')
      expect(isLiving({ life })).toBe(false)
      expect(isActive({ life: { ...life, state: 'zombie' } })).toBe(false)
    },
  )

  test('a created process is pending, lives and counts', () => {
    const process = { life: { state: 'created' } as const, retiredAt: null }
    expect([statusOf(process), isLiving(process), isSuspended(process), isActive(process)]).toEqual(['pending', true, false, true])
  })
})
