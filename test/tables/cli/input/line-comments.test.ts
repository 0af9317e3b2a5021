// Comments on lines: their typed form, and the text that the author of the change receives.
import { expect, test } from 'vitest'
import { parseLineComment } from '../../../../src/cli/input/line-comments.ts'
import { appendLineComments, type QuotedComment } from '../../../../src/kernel/crew/text/line-comments.ts'

const makeComment = (changes: Partial<QuotedComment> = {}): QuotedComment => ({
  file: 'src/x.ts',
  line: 12,
  text: 'use a map',
  quote: '  const x = 1  ',
  ...changes,
})

test.each([
  ['The tests are missing.', [], 'The tests are missing.'],
  ['', [makeComment()], 'src/x.ts:12: use a map\n>   const x = 1'],
  [
    'Nearly.\n',
    [makeComment(), makeComment({ line: 13, quote: null, text: ' why?\n' })],
    'Nearly.\n\nsrc/x.ts:12: use a map\n>   const x = 1\n\nsrc/x.ts:13: why?',
  ],
  ['', [makeComment({ quote: '' })], 'src/x.ts:12: use a map\n> '],
  ['', [makeComment({ quote: 'y'.repeat(300) })], `src/x.ts:12: use a map\n> ${'y'.repeat(199)}…`],
])('the comments %j and %j become one text', (comments, lines, text) => {
  expect(appendLineComments(comments, lines)).toBe(text)
})

test.each([
  ['src/x.ts:12=use a map', { file: 'src/x.ts', line: 12, text: 'use a map' }],
  ['./src/x.ts:1=a=b:2=c', { file: 'src/x.ts', line: 1, text: 'a=b:2=c' }],
  ['a b:c.ts:3=two\nlines', { file: 'a b:c.ts', line: 3, text: 'two\nlines' }],
])('%j is read as a comment on a line', (typed, comment) => {
  expect(parseLineComment(typed)).toEqual(comment)
})

test.each([
  '',
  'src/x.ts',
  'src/x.ts:12',
  'src/x.ts:12=',
  'src/x.ts:12= ',
  'src/x.ts:0=a',
  'src/x.ts:x=a',
  ':12=a',
  'src/x.ts:99999999999=a',
])('%j is not a comment on a line', (typed) => {
  expect(() => parseLineComment(typed)).toThrow('is not a comment on a line')
})
