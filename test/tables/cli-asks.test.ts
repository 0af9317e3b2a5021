// What a person types to answer, and which option that is.
import { describe, expect, test } from 'vitest'
import { answerTo, askLines, yesOrNo } from '../../src/cli/asks.ts'
import type { AskView } from '../../src/api/views.ts'

const OPTIONS: AskView['options'] = [
  { id: 'always', name: 'Always allow', kind: 'allow_always' },
  { id: 'once', name: 'Allow once', kind: 'allow_once' },
  { id: '7', name: 'Reject', kind: 'reject_once' },
]
const ask = (options: AskView['options']): AskView => ({ id: 'q1', kind: 'permission', text: 'run make?\n  make all', options, at: '2026-01-01T00:00:00.000Z' })

test('a question is shown with its lines and numbered options, and without what a terminal would obey', () => {
  expect(askLines(ask(OPTIONS))).toEqual(['run make?', '  make all', '  1 Always allow', '  2 Allow once', '  3 Reject'])
  expect(askLines({ text: 'a\x1b[2Jb', options: [{ id: 'x', name: 'c\x1b[0m\nd', kind: 'choice' }] })).toEqual(['ab', '  1 c d'])
})

describe('an answer to options', () => {
  test.each([
    ['1', 'always'], ['2', 'once'], ['3', '7'], [' 2 ', 'once'], ['once', 'once'], ['ALLOW ONCE', 'once'], ['allow_once', 'once'], ['7', '7'],
    ['0', null], ['4', null], ['1.5', null], ['-1', null], ['yes', null], ['', null],
  ])('%j is %j', (words, option) => {
    expect(answerTo(ask(OPTIONS), words)).toEqual(option === null ? null : { id: 'q1', option })
  })

  test('yes and no are for once, where that is offered', () => {
    expect(yesOrNo(ask(OPTIONS), true)).toEqual({ id: 'q1', option: 'once' })
    expect(yesOrNo(ask(OPTIONS.slice(0, 1)), true)).toEqual({ id: 'q1', option: 'always' })
    expect(yesOrNo(ask(OPTIONS), false)).toEqual({ id: 'q1', option: '7' })
    expect(yesOrNo(ask(OPTIONS.slice(0, 1)), false)).toBeNull()
  })
})

test('without options the text is the answer, as it is', () => {
  expect(answerTo(ask([]), ' use pnpm ')).toEqual({ id: 'q1', text: ' use pnpm ' })
  expect(answerTo(ask([]), '  ')).toBeNull()
  expect(yesOrNo(ask([]), true)).toBeNull()
})
