// The pure part of supervision: restart type × cause of the end, the rules against repeated failures, intensity, backoff, strategies.
import { describe, expect, test } from 'vitest'
import { nonRetryableCause, normalizedError } from '../../../../src/kernel/supervise/non-retryable.ts'
import { siblingsToRestart } from '../../../../src/kernel/supervise/strategies.ts'
import { DEFAULT_INTENSITY, decideRestart, restartsWithin } from '../../../../src/kernel/supervise/restart-decision.ts'
import type { OnComplete, Restarts, RestartType } from '../../../../src/kernel/model/supervision.ts'
import type { ExitStatus } from '../../../../src/kernel/model/process.ts'

const TYPES: readonly RestartType[] = ['permanent', 'transient', 'temporary']
const ENDS = {
  completed: { code: 0, reason: 'completed', cause: 'agent' },
  'an exit code without a text': { code: 3, reason: 'exit code 3', cause: 'agent' },
  'a signal of the system': { code: 139, reason: 'ended by SIGSEGV', cause: 'agent' },
  'a failure with an error text': { code: 1, reason: 'boom', error: 'boom', cause: 'agent' },
  'killed by the user': { code: 137, reason: 'SIGKILL from user', signal: 'SIGKILL', cause: 'person' },
  'killed by the user, code 0': { code: 0, reason: 'completed', cause: 'person' },
  'stopped by an agent': { code: 143, reason: 'SIGTERM from agent:x', signal: 'SIGTERM', cause: 'parent' },
  'a limit': { code: 1, reason: 'timed out', cause: 'limit' },
  interrupted: { code: 1, reason: 'interrupted', cause: 'daemon' },
  'stopped by the kernel': { code: 143, reason: 'SIGTERM from system', signal: 'SIGTERM', cause: 'daemon' },
} as const satisfies Record<string, ExitStatus>

/** One letter for each of permanent, transient and temporary. r: restart, f: fresh restart, h: restart on hold, -: no restart. */
const TABLE: Readonly<Record<keyof typeof ENDS, string>> = {
  completed: 'f--',
  'an exit code without a text': 'rr-',
  'a signal of the system': 'rr-',
  'a failure with an error text': 'rr-',
  'killed by the user': '---',
  'killed by the user, code 0': '---',
  'stopped by an agent': '---',
  'a limit': 'hh-',
  interrupted: 'rr-',
  'stopped by the kernel': 'rr-',
}

function decideFor(
  type: RestartType,
  exit: ExitStatus,
  { onComplete, before, wall = 0, chance = 0 }: { onComplete?: OnComplete; before?: Restarts; wall?: number; chance?: number } = {},
): ReturnType<typeof decideRestart> {
  return decideRestart({ ...DEFAULT_INTENSITY, type, ...(onComplete ? { onComplete } : {}) }, exit, before, { wall, chance })
}

function letterOf(decision: ReturnType<typeof decideRestart>): string {
  return decision.do === 'restart' ? (decision.fresh ? 'f' : 'r') : decision.do === 'hold' ? 'h' : decision.do === 'giveUp' ? 'g' : '-'
}

test.each(Object.entries(TABLE))('the decisions for a permanent, transient and temporary child after "%s" are %s', (ending, letters) => {
  expect(TYPES.map((type) => letterOf(decideFor(type, ENDS[ending as keyof typeof ENDS]))).join('')).toBe(letters)
})

test('a completed child starts fresh only as configured, and a temporary one never', () => {
  const letters = (onComplete: OnComplete): string =>
    TYPES.map((type) => letterOf(decideFor(type, ENDS.completed, { onComplete }))).join('')
  expect(letters('fresh')).toBe('ff-')
  expect(letters('stop')).toBe('---')
})

describe('whether a restart would only repeat the failure', () => {
  test.each([
    ['401 invalid x-api-key', undefined, true],
    ['API Error: 400 messages: text is too much', undefined, true],
    ['unexpected status 404 Not Found', undefined, true],
    ['prompt is too long: 210000 tokens > 200000 maximum', undefined, true],
    ['Not logged in · Please run /login', undefined, true],
    ['it broke', 403, true],
    ['it broke', 422, true],
    ['429 too many requests', undefined, false],
    ['it broke', 408, false],
    ['it broke', 529, false],
    ['500 internal error', undefined, false],
    ['listened on port 4001', undefined, false],
    ['exited after 404 steps', undefined, false],
    ['terminated', undefined, false],
  ])('after the error %j with the status %s: %s', (error, status, isFinal) => {
    const exit: ExitStatus = { code: 1, reason: error, error, cause: 'agent', ...(status === undefined ? {} : { status }) }
    expect(nonRetryableCause(exit) !== null).toBe(isFinal)
  })
})

test('causes are equal if they differ only in numbers and identifiers', () => {
  const normalized = (error: string): string | null => normalizedError({ code: 1, reason: error, error, cause: 'agent' })
  expect(normalized('connect to 10.0.0.1:443 timed out after 1200 ms (req_7f3a)')).toBe(
    normalized('connect to 10.0.0.2:443 timed out after 900 ms (req_01bc)'),
  )
  expect(normalized('boom')).not.toBe(normalized('bang'))
  expect(normalizedError(ENDS['an exit code without a text'])).toBeNull()
})

describe('the same cause in a row', () => {
  /** The decisions about consecutive ends, one letter each. */
  function decisionsInRow(...exits: readonly ExitStatus[]): string {
    let before: Restarts | undefined
    return exits
      .map((exit, index) => {
        const decision = decideFor('permanent', exit, { wall: index * DEFAULT_INTENSITY.windowMs, ...(before ? { before } : {}) })
        if (decision.do === 'restart') before = decision.restarts
        return letterOf(decision)
      })
      .join('')
  }
  const { 'a failure with an error text': boom, 'an exit code without a text': code, interrupted, completed } = ENDS
  const bang: ExitStatus = { code: 1, reason: 'bang', error: 'bang', cause: 'agent' }

  test('is held at the third', () => expect(decisionsInRow(boom, boom, boom)).toBe('rrh'))
  test('another cause in between resets the count', () => expect(decisionsInRow(boom, boom, bang, boom, boom, boom)).toBe('rrrrrh'))
  test('a death of the daemon in between does not reset the count', () =>
    expect(decisionsInRow(boom, interrupted, boom, boom)).toBe('rrrh'))
  test('a completion in between resets the count', () => expect(decisionsInRow(boom, boom, completed, boom, boom, boom)).toBe('rrfrrh'))
  test('an exit code without an error text never counts as the same cause', () =>
    expect(decisionsInRow(code, code, code, code)).toBe('rrrr'))
})

describe('intensity', () => {
  const rule = { type: 'permanent', maxRestarts: 3, windowMs: 1_000, backoff: DEFAULT_INTENSITY.backoff } as const
  const exit = ENDS['an exit code without a text']

  function decisionsAt(...walls: readonly number[]): string {
    let before: Restarts | undefined
    return walls
      .map((wall) => {
        const decision = decideRestart(rule, exit, before, { wall, chance: 0 })
        if (decision.do === 'restart') before = decision.restarts
        return letterOf(decision)
      })
      .join('')
  }

  test('after the maximum within the window the supervisor gives up', () => expect(decisionsAt(0, 1, 2, 3)).toBe('rrrg'))
  test('ends outside the window do not count', () => expect(decisionsAt(0, 1, 2, 1_000, 1_001, 1_002, 1_003)).toBe('rrrrrrg'))
  test('an end exactly one window ago does not count', () =>
    expect(restartsWithin({ times: [0, 1], cause: null, inARow: 0 }, 1_000, 1_000)).toEqual([1]))
  test('a maximum of 0 allows no restart', () =>
    expect(letterOf(decideRestart({ ...rule, maxRestarts: 0 }, exit, undefined, { wall: 0, chance: 0 }))).toBe('g'))
  test('an interruption is not counted', () => {
    const decision = decideRestart({ ...rule, maxRestarts: 0 }, ENDS.interrupted, undefined, { wall: 0, chance: 0.5 })
    expect(decision).toMatchObject({ do: 'restart', attempt: 0, delayMs: 0 })
  })
})

describe('backoff', () => {
  const rule = { type: 'permanent', maxRestarts: 9, windowMs: 1e9, backoff: { initialMs: 100, maxMs: 1_000, factor: 3 } } as const

  function delaysOf(chance: number): number[] {
    let before: Restarts | undefined
    return Array.from({ length: 4 }, (_, wall) => {
      const decision = decideRestart(rule, ENDS['an exit code without a text'], before, { wall, chance })
      if (decision.do !== 'restart') throw new Error(decision.do)
      before = decision.restarts
      return decision.delayMs
    })
  }

  test('is exponential up to its maximum', () => expect(delaysOf(0)).toEqual([100, 300, 900, 1_000]))
  test('jitter shortens it by up to half', () => expect(delaysOf(0.999_999)).toEqual([50, 150, 450, 500]))
})

test('each strategy restarts its choice of siblings', () => {
  const ids = ['a', 'b', 'c', 'd']
  expect(siblingsToRestart('one_for_one', ids, 'b')).toEqual([])
  expect(siblingsToRestart('one_for_all', ids, 'b')).toEqual(['a', 'c', 'd'])
  expect(siblingsToRestart('rest_for_one', ids, 'b')).toEqual(['c', 'd'])
  expect(siblingsToRestart('rest_for_one', ids, 'd')).toEqual([])
})
