// Truncating a text: its length, its mark, and surrogate pairs at the cut.
import { expect, test } from 'vitest'
import { truncate } from '../../../../src/kernel/util/truncate.ts'

test.each([
  ['abc', 3, '', 'abc'],
  ['abcd', 3, '', 'abc'],
  ['abcd', 3, '…', 'ab…'],
  ['abc', 3, '…', 'abc'],
  ['', 0, '', ''],
  ['a😀b', 2, '', 'a'],
  ['a😀b', 3, '', 'a😀'],
  ['a😀bc', 3, '…', 'a…'],
  ['a😀bc', 4, '…', 'a😀…'],
])('%j in %i characters with the mark %j is %j', (text, maxChars, mark, expected) => {
  expect(truncate(text, maxChars, mark)).toBe(expected)
})

test('no length splits a surrogate pair', () => {
  const text = 'a😀😀b😀'
  for (let maxChars = 1; maxChars <= text.length; maxChars++) {
    expect(truncate(text, maxChars).isWellFormed()).toBe(true)
    expect(truncate(text, maxChars).length).toBeLessThanOrEqual(maxChars)
  }
})
