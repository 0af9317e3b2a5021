// The line splitter returns the same lines, wherever the chunks of a stream begin and end.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LineSplitter } from '../../../../src/drivers/common/line-splitter.ts'

function splitLines(chunks: readonly Buffer[]): { readonly lines: string[]; readonly restBytes: number } {
  const splitter = new LineSplitter()
  const lines = chunks.flatMap((chunk) => [...splitter.push(chunk)].map((line) => line.toString('latin1')))
  return { lines, restBytes: splitter.unfinishedBytes }
}

describe('the line splitter', () => {
  test.each([
    ['nothing', [''], [], 0],
    ['a line without its end', ['ab'], [], 2],
    ['a line', ['ab\n'], ['ab'], 0],
    ['an empty line', ['\n\n'], ['', ''], 0],
    ['a line in pieces', ['a', 'b', 'c\nd'], ['abc'], 1],
    ['a line that ends with its own chunk', ['ab', '\n'], ['ab'], 0],
    ['a CR, which stays', ['ab\r\n'], ['ab\r'], 0],
  ] as const)('splits %s', (_, chunks, lines, restBytes) => {
    expect(splitLines(chunks.map((chunk) => Buffer.from(chunk)))).toEqual({ lines, restBytes })
  })

  test('drops an unfinished line', () => {
    const splitter = new LineSplitter()
    expect([...splitter.push(Buffer.from('ab'))]).toEqual([])
    splitter.clear()
    expect([...splitter.push(Buffer.from('c\n'))].map(String)).toEqual(['c'])
  })

  test('returns the same lines for any chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'é', '\n', '\n\n', 'bcd')), fc.array(fc.nat(4)), (pieces, sizes) => {
        const bytes = Buffer.from(pieces.join(''))
        const chunks: Buffer[] = []
        for (let position = 0, turn = 0; position < bytes.length; turn += 1) {
          const size = (sizes[turn % Math.max(1, sizes.length)] ?? 0) + 1
          chunks.push(bytes.subarray(position, position + size))
          position += size
        }
        const expectedLines = bytes.toString('latin1').split('\n')
        expect(splitLines(chunks)).toEqual({ lines: expectedLines.slice(0, -1), restBytes: expectedLines.at(-1)?.length ?? 0 })
      }),
    )
  })
})
