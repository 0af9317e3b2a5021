// Truncated texts: the beginning and the end are kept, and no character is cut.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TruncatingBuffer, truncateMiddle } from '../../../../src/drivers/common/truncate-middle.ts'

test('a text within the limit stays unchanged', () => {
  expect(truncateMiddle('', 10)).toBe('')
  expect(truncateMiddle('0123456789', 10)).toBe('0123456789')
})

test('a longer text keeps both ends and states the missing bytes', () => {
  expect(truncateMiddle('0123456789abcdef', 10)).toBe('01234\n[… 6 bytes omitted …]\nbcdef')
})

test('characters of several bytes are not cut', () => {
  expect(truncateMiddle('ééééééé', 6)).toBe('é\n[… 10 bytes omitted …]\né')
})

test('for any pieces of a text, the result has both ends, and states how many bytes are omitted', () => {
  const piece = fc.string({ unit: 'grapheme', maxLength: 20 })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 8, max: 60 }), (pieces, limit) => {
      const bounded = new TruncatingBuffer(limit)
      for (const piece of pieces) bounded.push(piece)
      const wholeText = pieces.join('')
      const text = bounded.text()
      const omission = /\n\[… (\d+) bytes omitted …\]\n/.exec(text)
      if (omission === null) return text === wholeText
      const [head, tail] = [text.slice(0, omission.index), text.slice(omission.index + omission[0].length)]
      const keptBytes = Buffer.byteLength(head) + Buffer.byteLength(tail)
      return (
        wholeText.startsWith(head) &&
        wholeText.endsWith(tail) &&
        keptBytes <= limit &&
        keptBytes + Number(omission[1]) === Buffer.byteLength(wholeText)
      )
    }),
  )
})
