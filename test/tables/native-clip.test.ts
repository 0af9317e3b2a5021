// Bounded texts: the beginning and the end are kept, characters are never cut, memory is bounded.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Clip, clip } from '../../src/drivers/native/tools/clip.ts'

test('a text within the limit stays as it is', () => {
  expect(clip('', 10)).toBe('')
  expect(clip('0123456789', 10)).toBe('0123456789')
})

test('a longer one keeps both ends and says what is missing', () => {
  expect(clip('0123456789abcdef', 10)).toBe('01234\n[… 6 bytes are left out here …]\nbcdef')
})

test('characters of several bytes are not cut', () => {
  expect(clip('ééééééé', 6)).toBe('é\n[… 10 bytes are left out here …]\né')
})

test('however the text is cut into pieces, the result has both ends and the sum is right', () => {
  const piece = fc.string({ unit: 'grapheme', maxLength: 20 })
  fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 8, max: 60 }), (pieces, limit) => {
    const bounded = new Clip(limit)
    for (const each of pieces) bounded.push(each)
    const all = pieces.join('')
    const text = bounded.text()
    const cut = /\n\[… (\d+) bytes are left out here …\]\n/.exec(text)
    if (cut === null) return text === all
    const [head, tail] = [text.slice(0, cut.index), text.slice(cut.index + cut[0].length)]
    const kept = Buffer.byteLength(head) + Buffer.byteLength(tail)
    return all.startsWith(head) && all.endsWith(tail) && kept <= limit && kept + Number(cut[1]) === Buffer.byteLength(all)
  }))
})
