// Typed answers, and the option that each selects.
import { describe, expect, test } from 'vitest'
import { parseAnswer, questionLines, yesOrNoAnswer } from '../../../../src/cli/input/questions.ts'
import type { AskView } from '../../../../src/api/views/process.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'

const OPTIONS: AskView['options'] = [
  { id: 'always', name: 'Always allow', kind: 'allow_always' },
  { id: 'once', name: 'Allow once', kind: 'allow_once' },
  { id: '7', name: 'Reject', kind: 'reject_once' },
]
const makeAsk = (options: AskView['options']): AskView => makeAskView({ kind: 'permission', text: 'run make?\n  make all', options })

test('a question is shown with its lines and numbered options, and without control characters', () => {
  expect(questionLines(makeAsk(OPTIONS))).toEqual(['run make?', '  make all', '  1 Always allow', '  2 Allow once', '  3 Reject'])
  expect(questionLines({ text: 'a\x1b[2Jb', options: [{ id: 'x', name: 'c\x1b[0m\nd', kind: 'choice' }] })).toEqual(['ab', '  1 c d'])
})

describe('an answer to options', () => {
  test.each([
    ['1', 'always'],
    ['2', 'once'],
    ['3', '7'],
    [' 2 ', 'once'],
    ['once', 'once'],
    ['ALLOW ONCE', 'once'],
    ['allow_once', 'once'],
    ['7', '7'],
    ['0', null],
    ['4', null],
    ['1.5', null],
    ['-1', null],
    ['yes', null],
    ['', null],
  ])('%j selects %j', (typed, option) => {
    expect(parseAnswer(makeAsk(OPTIONS), typed)).toEqual(option === null ? null : { id: 'q1', option, seen: 'h' })
  })

  test('that is yes or no selects the option that applies once, if there is one', () => {
    expect(yesOrNoAnswer(makeAsk(OPTIONS), true)).toEqual({ id: 'q1', option: 'once', seen: 'h' })
    expect(yesOrNoAnswer(makeAsk(OPTIONS.slice(0, 1)), true)).toEqual({ id: 'q1', option: 'always', seen: 'h' })
    expect(yesOrNoAnswer(makeAsk(OPTIONS), false)).toEqual({ id: 'q1', option: '7', seen: 'h' })
    expect(yesOrNoAnswer(makeAsk(OPTIONS.slice(0, 1)), false)).toBeNull()
  })
})

test('an answer without options is the typed text, unchanged', () => {
  expect(parseAnswer(makeAsk([]), ' use pnpm ')).toEqual({ id: 'q1', text: ' use pnpm ', seen: 'h' })
  expect(parseAnswer(makeAsk([]), '  ')).toBeNull()
  expect(yesOrNoAnswer(makeAsk([]), true)).toBeNull()
})
