// The lines of a log as a viewer keeps them, and a search in them.
import { describe, expect, test } from 'vitest'
import type { LogLine } from '../../../src/api/views/process.ts'
import {
  hiddenChars,
  joinEarlier,
  joinNewest,
  linesWith,
  logParts,
  MAX_LOG_LINES,
  nextMatch,
  patternOf,
  type LogList,
} from '../../../src/faces/log-list.ts'

const line = (number: number, text = `line ${number}`): LogLine => ({
  at: new Date(number * 1_000).toISOString(),
  stream: 'stdout',
  text,
})
const range = (from: number, to: number): LogLine[] => Array.from({ length: to - from }, (_, index) => line(from + index))
const texts = ({ lines }: LogList): string[] => lines.map(({ text }) => text)

describe('the newest lines', () => {
  const list = joinNewest(null, { lines: range(0, 100), before: '7' })

  test('continue the list where they overlap, and unchanged lines stay the same objects', () => {
    const joined = joinNewest(list, { lines: range(20, 120), before: '9' })
    expect(texts(joined)).toEqual(range(0, 120).map(({ text }) => text))
    expect(joined).toMatchObject({ first: 0, before: '7', isCut: false })
    expect(joined.lines[99]).toBe(list.lines[99])
  })

  test('may lack a line that a note repeats', () => {
    const joined = joinNewest(list, { lines: [...range(20, 99), line(100, 'note')], before: '9' })
    expect(texts(joined).slice(-2)).toEqual(['line 98', 'note'])
    expect(joined.lines).toHaveLength(100)
  })

  test('begin the list anew if lines between are missing, with numbers of their own', () => {
    const joined = joinNewest(list, { lines: range(300, 400), before: '12' })
    expect(texts(joined)[0]).toBe('line 300')
    expect(joined).toMatchObject({ first: 100, before: '12' })
  })

  test('continue a list of equal lines where all of them fit', () => {
    const equal = Array.from({ length: 1_000 }, () => line(0, 'again'))
    const repeated = joinNewest(null, { lines: equal, before: '7' })
    const joined = joinNewest(repeated, { lines: [...equal.slice(500), ...range(1, 501)], before: '9' })
    expect(texts(joined)).toEqual([...equal, ...range(1, 501)].map(({ text }) => text))
    expect(joined).toMatchObject({ first: 0, before: '7' })
  })

  test('continue the list although a late line stands between', () => {
    const joined = joinNewest(list, { lines: [...range(20, 90), line(90, 'late'), ...range(90, 120)], before: '9' })
    expect(texts(joined).slice(88, 92)).toEqual(['line 88', 'line 89', 'late', 'line 90'])
    expect(joined).toMatchObject({ first: 0, before: '7' })
    expect(joined.lines).toHaveLength(121)
  })

  test('are the whole log if nothing is before them', () => {
    expect(texts(joinNewest(joinNewest(null, { lines: [], before: null }), { lines: range(0, 2), before: null }))).toEqual([
      'line 0',
      'line 1',
    ])
  })

  test('replace a line whose call has ended', () => {
    const call = (state?: 'open'): LogLine => ({ ...line(0), call: { id: 'a', name: 'bash', input: '', ...(state ? { state } : {}) } })
    const open = joinNewest(null, { lines: [call('open')], before: null })
    expect(joinNewest(open, { lines: [call()], before: null }).lines[0]?.call?.state).toBeUndefined()
  })

  test('of a very long list drop the first lines', () => {
    const long = joinNewest(null, { lines: range(0, MAX_LOG_LINES), before: '3' })
    const joined = joinNewest(long, { lines: range(MAX_LOG_LINES - 90, MAX_LOG_LINES + 10), before: '4' })
    expect(joined).toMatchObject({ first: 10, before: null, isCut: true })
    expect(joined.lines).toHaveLength(MAX_LOG_LINES)
  })
})

test('earlier lines come before the list, up to its limit', () => {
  const list = joinNewest(null, { lines: range(100, 200), before: '7' })
  const joined = joinEarlier(list, { lines: range(0, 100), before: null })
  expect(joined).toMatchObject({ first: -100, before: null, isCut: false })
  expect(joined.lines).toEqual(range(0, 200))
  const cut = joinEarlier(list, { lines: range(0, MAX_LOG_LINES), before: '1' })
  expect(cut).toMatchObject({ first: 100 - MAX_LOG_LINES, before: null, isCut: true })
})

test.each([
  ['no text', '', 'abc', ['abc']],
  ['any case', 'B', 'abc', ['a', '[b]', 'c']],
  ['several matches', 'a', 'aba', ['[a]', 'b', '[a]']],
  ['adjacent matches', 'a', 'aa', ['[a]', '[a]']],
  ['no pattern', '.*', 'a.*b', ['a', '[.*]', 'b']],
  ['over two colours', 'bc', 'ab\x1b[31mcd', ['a', '[b]', '[c]', 'd']],
  ['escaped characters', 'x1b', 'a\x1bb', ['a\\', '[x1b]', 'b']],
])('finds %s in a line', (_, find, text, expected) => {
  expect(logParts(text, patternOf(find)).map((part) => (part.isMatch ? `[${part.text}]` : part.text))).toEqual(expected)
})

test('a line of which only a part is shown is searched in that part', () => {
  const list = joinNewest(null, { lines: [line(0, `${'x'.repeat(5_000)}needle`), line(1, 'needle')], before: null })
  expect(linesWith({ ...list, first: 7 }, patternOf('NEEDLE'))).toEqual([8])
  expect([hiddenChars('x'.repeat(5_006)), hiddenChars('x')]).toEqual([6, 0])
})

test.each([
  [[], null, 1, null],
  [[3, 5, 9], null, 1, 9],
  [[3, 5, 9], 5, 1, 9],
  [[3, 5, 9], 9, 1, 3],
  [[3, 5, 9], 5, -1, 3],
  [[3, 5, 9], 3, -1, 9],
  [[3, 5, 9], 4, 1, 5],
] as const)('of the matches %j, after %j by %i comes %j', (matches, number, by, expected) => {
  expect(nextMatch(matches, number, by)).toBe(expected)
})
