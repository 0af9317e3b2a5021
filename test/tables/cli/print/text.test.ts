// Text on the terminal: control sequences are removed, or made visible in the output of a program. Columns are counted as they are drawn,
// also in tables.
import fc from 'fast-check'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { formatTable } from '../../../../src/cli/print/format-table.ts'
import { TerminalFilter } from '../../../../src/cli/print/terminal-filter.ts'
import { fitWidth, oneLine, padWidth, stripControls, displayWidth } from '../../../../src/cli/print/text.ts'

// Text in which escapes, controls and wide characters are common.
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\x1b[31m',
        '\x1b[0m',
        '\x1b]0;title\x07',
        '\x1b[2J',
        '\x1b',
        '\x9b31m',
        '\r',
        '\n',
        '\r\n',
        '\t',
        '\b',
        '\x7f',
        '\u202e',
        '\u2028',
        '漢',
        '🙂',
        'e\u0301',
        '\ud800',
      ),
      fc.string(),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

const FORBIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/

describe('the safe form of a text', () => {
  test.each([
    ['plain', 'plain'],
    ['\x1b[31mred\x1b[0m', 'red'],
    ['\x1b]0;evil\x07title', 'title'],
    ['\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['a\rb', 'a\nb'],
    ['a\r\nb', 'a\nb'],
    ['bell\x07 back\b', 'bell back'],
    ['abc\u202edef', 'abcdef'],
    ['tab\tand\nline', 'tab\tand\nline'],
    ['漢字🙂', '漢字🙂'],
  ])('%j is shown as %j', (text, expected) => {
    expect(stripControls(text)).toBe(expected)
  })

  test('has no control character', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(stripControls(text)).not.toMatch(FORBIDDEN)
        expect(oneLine(text)).not.toMatch(/[\n\t]/)
      }),
    )
  })
})

describe('the output of a program on a terminal', () => {
  const printedOf = (...pieces: string[]): string => {
    const output = new TerminalFilter()
    return pieces.map((piece) => output.push(piece)).join('') + output.end()
  }

  test.each([
    [['plain\n'], 'plain\n'],
    [['\x1b[31mred'], '\x1b[31mred\x1b[0m'],
    [['\x1b[3', '1mred'], '\x1b[31mred\x1b[0m'],
    [['\x1b', '[1;4mx'], '\x1b[1;4mx\x1b[0m'],
    [['\x1b[2J'], '\\x1b[2J'],
    [['\x1b]0;t\x07'], '\\x1b]0;t\\x07'],
    [['end\x1b'], 'end\\x1b'],
    [['a\r', '\nb'], 'a\nb'],
    [['10%\r20%'], '10%\n20%'],
    [['\x9b31m'], '\\x9b31m'],
    [['\u202e'], '\\u202e'],
  ])('%j is shown as %j', (pieces, text) => {
    expect(printedOf(...pieces)).toBe(text)
  })

  test('has the same safe result for any division into chunks', () => {
    fc.assert(
      fc.property(hostile, fc.nat(), (text, position) => {
        const splitAt = position % (text.length + 1)
        expect(printedOf(text.slice(0, splitAt), text.slice(splitAt))).toBe(printedOf(text))
        expect(printedOf(text).replaceAll(/\x1b\[[0-9;:]*m/g, '')).not.toMatch(FORBIDDEN)
      }),
    )
  })
})

describe('the width', () => {
  test.each([
    ['abc', 3],
    ['漢字', 4],
    ['🙂', 2],
    ['e\u0301', 1],
    ['⏸', 1],
    ['…', 1],
    ['', 0],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
  ])('of %j is %d', (text, columns) => {
    expect(displayWidth(text)).toBe(columns)
  })

  test('of a shortened text never exceeds the limit', () => {
    fc.assert(
      fc.property(hostile.map(oneLine), fc.nat({ max: 30 }), (text, columns) => {
        expect(displayWidth(fitWidth(text, columns))).toBeLessThanOrEqual(columns)
        if (displayWidth(text) <= columns) expect(fitWidth(text, columns)).toBe(text)
        expect(displayWidth(padWidth(fitWidth(text, columns), columns))).toBe(columns)
      }),
    )
  })
})

describe('a table', () => {
  const columns = [
    { title: 'PID', side: 'right' as const },
    { title: 'NAME', min: 4 },
    { title: 'NOTE', min: 4 },
  ]

  test('has columns as wide as they need to be', () => {
    expect(
      formatTable(
        columns,
        [
          ['5', 'docs', 'a'],
          ['12', '漢字', ''],
        ],
        Infinity,
      ),
    ).toEqual(['PID  NAME  NOTE', '  5  docs  a', ' 12  漢字'])
  })

  test('narrows the last shrinking column first', () => {
    expect(formatTable(columns, [['5', 'long-name', 'a very long note']], 26)).toEqual([
      'PID  NAME       NOTE',
      '  5  long-name  a very lo…',
    ])
    expect(formatTable(columns, [['5', 'long-name', 'a very long note']], 16)).toEqual(['PID  NAME   NOTE', '  5  long…  a v…'])
  })

  test('is never wider than the limit, with any content', () => {
    const cell = hostile.map(oneLine)
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }), fc.integer({ min: 1, max: 60 }), (rows, max) => {
        for (const line of formatTable(columns, rows, max)) expect(displayWidth(line)).toBeLessThanOrEqual(max)
      }),
    )
  })
})

test('every character that is wide by the Unicode tables of Node takes two columns', () => {
  const terminal = createInterface({ input: new PassThrough(), output: new PassThrough(), terminal: true, prompt: '' })
  /** The columns by the Unicode tables of Node. */
  const columnsOf = (character: string): number => {
    Object.assign(terminal, { line: character, cursor: character.length })
    return terminal.getCursorPos().cols
  }
  // Node counts a musical symbol as its parts, and half of a flag as a whole one.
  const isException = (character: string): boolean => [...character.normalize()].length > 1 || /[\u{1f1e6}-\u{1f1ff}]/u.test(character)
  const wrongCharacters: string[] = []
  for (let code = 0xa0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code)
    if (/\p{Cn}|\p{Cs}/u.test(character) || displayWidth(character) === 0 || isException(character)) continue
    if (displayWidth(character) !== columnsOf(character)) wrongCharacters.push(code.toString(16))
  }
  terminal.close()
  expect([columnsOf('漢'), columnsOf('a')]).toEqual([2, 1])
  expect(wrongCharacters).toEqual([])
})
