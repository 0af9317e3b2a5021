// The pure part of supervision: restart type × cause of the end, the rules against loops, intensity, backoff, strategies.
import { describe, expect, test } from 'vitest'
import { finalCause, ownWords } from '../../src/supervise/final.ts'
import { others } from '../../src/supervise/strategies.ts'
import { INTENSITY, verdict, within } from '../../src/supervise/verdict.ts'
import type { OnComplete, Restarts, RestartType } from '../../src/kernel/supervision.ts'
import type { ExitStatus } from '../../src/kernel/types.ts'

const TYPES: readonly RestartType[] = ['permanent', 'transient', 'temporary']
const ENDS = {
  completed: { code: 0, reason: 'completed', cause: 'agent' },
  'a bare code': { code: 3, reason: 'exit code 3', cause: 'agent' },
  'a signal of the system': { code: 139, reason: 'ended by SIGSEGV', cause: 'agent' },
  'a failure with words': { code: 1, reason: 'boom', error: 'boom', cause: 'agent' },
  'killed by a person': { code: 137, reason: 'SIGKILL from user', signal: 'SIGKILL', cause: 'person' },
  'killed by a person, code 0': { code: 0, reason: 'completed', cause: 'person' },
  'stopped by an agent': { code: 143, reason: 'SIGTERM from agent:x', signal: 'SIGTERM', cause: 'parent' },
  'a limit': { code: 1, reason: 'timed out', cause: 'limit' },
  'interrupted': { code: 1, reason: 'interrupted', cause: 'daemon' },
  'stopped by the kernel': { code: 143, reason: 'SIGTERM from system', signal: 'SIGTERM', cause: 'daemon' },
} as const satisfies Record<string, ExitStatus>

/** r: it comes back, f: afresh, h: it is held, -: it stays as it is. In the order permanent, transient, temporary. */
const TABLE: Readonly<Record<keyof typeof ENDS, string>> = {
  completed: 'f--',
  'a bare code': 'rr-',
  'a signal of the system': 'rr-',
  'a failure with words': 'rr-',
  'killed by a person': '---',
  'killed by a person, code 0': '---',
  'stopped by an agent': '---',
  'a limit': 'hh-',
  'interrupted': 'rr-',
  'stopped by the kernel': 'rr-',
}

function say(type: RestartType, exit: ExitStatus, { onComplete, before, wall = 0, chance = 0 }: { onComplete?: OnComplete; before?: Restarts; wall?: number; chance?: number } = {}): ReturnType<typeof verdict> {
  return verdict({ ...INTENSITY, type, ...(onComplete ? { onComplete } : {}) }, exit, before, { wall, chance })
}

function letter(said: ReturnType<typeof verdict>): string {
  return said.do === 'restart' ? (said.fresh ? 'f' : 'r') : said.do === 'hold' ? 'h' : said.do === 'giveUp' ? 'g' : '-'
}

describe.each(Object.entries(TABLE))('%s', (end, letters) => {
  test(`is ${letters}`, () => {
    expect(TYPES.map((type) => letter(say(type, ENDS[end as keyof typeof ENDS]))).join('')).toBe(letters)
  })
})

test('what has completed is begun afresh or not, as is said; never a temporary one', () => {
  const letters = (onComplete: OnComplete): string => TYPES.map((type) => letter(say(type, ENDS.completed, { onComplete }))).join('')
  expect(letters('fresh')).toBe('ff-')
  expect(letters('stop')).toBe('---')
})

describe('ends that would only come again', () => {
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
  ])('%s (%s)', (error, status, isFinal) => {
    const exit: ExitStatus = { code: 1, reason: error, error, cause: 'agent', ...(status === undefined ? {} : { status }) }
    expect(finalCause(exit) !== null).toBe(isFinal)
  })
})

test('words of a cause are the same whatever numbers and identifiers are in them', () => {
  const words = (error: string): string | null => ownWords({ code: 1, reason: error, error, cause: 'agent' })
  expect(words('connect to 10.0.0.1:443 timed out after 1200 ms (req_7f3a)')).toBe(words('connect to 10.0.0.2:443 timed out after 900 ms (req_01bc)'))
  expect(words('boom')).not.toBe(words('bang'))
  expect(ownWords(ENDS['a bare code'])).toBeNull()
})

describe('the same cause in a row', () => {
  /** What is said of one end after the other. */
  function row(...ends: readonly ExitStatus[]): string {
    let before: Restarts | undefined
    return ends.map((exit, index) => {
      const said = say('permanent', exit, { wall: index * INTENSITY.windowMs, ...(before ? { before } : {}) })
      if (said.do === 'restart') before = said.restarts
      return letter(said)
    }).join('')
  }
  const { 'a failure with words': boom, 'a bare code': code, interrupted, completed } = ENDS
  const bang: ExitStatus = { code: 1, reason: 'bang', error: 'bang', cause: 'agent' }

  test('is held at the third', () => expect(row(boom, boom, boom)).toBe('rrh'))
  test('another one between begins the count anew', () => expect(row(boom, boom, bang, boom, boom, boom)).toBe('rrrrrh'))
  test('a death of the daemon between does not', () => expect(row(boom, interrupted, boom, boom)).toBe('rrrh'))
  test('a completion between does', () => expect(row(boom, boom, completed, boom, boom, boom)).toBe('rrfrrh'))
  test('a bare exit code is no cause: the intensity bounds it', () => expect(row(code, code, code, code)).toBe('rrrr'))
})

describe('intensity', () => {
  const rule = { type: 'permanent', maxRestarts: 3, windowMs: 1_000, backoff: INTENSITY.backoff } as const
  const exit = ENDS['a bare code']

  function ends(...walls: readonly number[]): string {
    let before: Restarts | undefined
    return walls.map((wall) => {
      const said = verdict(rule, exit, before, { wall, chance: 0 })
      if (said.do === 'restart') before = said.restarts
      return letter(said)
    }).join('')
  }

  test('so many within the window, and one more is given up', () => expect(ends(0, 1, 2, 3)).toBe('rrrg'))
  test('what is out of the window does not count', () => expect(ends(0, 1, 2, 1_000, 1_001, 1_002, 1_003)).toBe('rrrrrrg'))
  test('the edge of the window is out', () => expect(within({ times: [0, 1], cause: null, inARow: 0 }, 1_000, 1_000)).toBe(1))
  test('no restarts at all', () => expect(letter(verdict({ ...rule, maxRestarts: 0 }, exit, undefined, { wall: 0, chance: 0 }))).toBe('g'))
  test('B9: an interruption is no fault of its own, and is not counted', () => {
    const said = verdict({ ...rule, maxRestarts: 0 }, ENDS.interrupted, undefined, { wall: 0, chance: 0.5 })
    expect(said).toMatchObject({ do: 'restart', attempt: 0, delayMs: 0 })
  })
})

describe('backoff', () => {
  const rule = { type: 'permanent', maxRestarts: 9, windowMs: 1e9, backoff: { initialMs: 100, maxMs: 1_000, factor: 3 } } as const

  function delays(chance: number): number[] {
    let before: Restarts | undefined
    return Array.from({ length: 4 }, (_, wall) => {
      const said = verdict(rule, ENDS['a bare code'], before, { wall, chance })
      if (said.do !== 'restart') throw new Error(said.do)
      before = said.restarts
      return said.delayMs
    })
  }

  test('is exponential up to its most', () => expect(delays(0)).toEqual([100, 300, 900, 1_000]))
  test('jitter takes up to half away', () => expect(delays(0.999_999)).toEqual([50, 150, 450, 500]))
})

test('strategies', () => {
  const ids = ['a', 'b', 'c', 'd']
  expect(others('one_for_one', ids, 'b')).toEqual([])
  expect(others('one_for_all', ids, 'b')).toEqual(['a', 'c', 'd'])
  expect(others('rest_for_one', ids, 'b')).toEqual(['c', 'd'])
  expect(others('rest_for_one', ids, 'd')).toEqual([])
})
