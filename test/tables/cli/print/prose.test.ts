// The text of an agent on a terminal: lines end between words, and parts that users copy (URLs, code) are not broken.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ProseWrapper, wrapText } from '../../../../src/cli/print/prose.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'

const URL_40 = 'https://example.org/a/path/that-is-long'

describe('text for a terminal of 20 columns', () => {
  test.each<[what: string, text: string, rows: string[]]>([
    ['ends its lines between words', 'the quick brown fox jumps over it', ['the quick brown fox', 'jumps over it']],
    ['fills a line to its last column', '0123456789 012345678 x', ['0123456789 012345678', 'x']],
    ['keeps the lines that it has', 'one\n\ntwo\n', ['one', '', 'two', '']],
    ['keeps spaces within a line, and has none where it is broken', 'one   two three four   five', ['one   two three four', 'five']],
    ['has no spaces at the end of a line', `${'x'.repeat(20)}  \ny`, ['x'.repeat(20), 'y']],
    [
      'puts the rest of a list item below its text',
      '- the quick brown fox jumps\n  - over the lazy dog',
      ['- the quick brown', '  fox jumps', '  - over the lazy', '    dog'],
    ],
    [
      'treats numbered items and quotes like list items',
      '12. the quick brown fox\n> the quick brown fox jumps',
      ['12. the quick brown', '    fox', '> the quick brown', '  fox jumps'],
    ],
    ['keeps the indent of a line', '  the quick brown fox jumps', ['  the quick brown', '  fox jumps']],
    [
      'limits an indent that would leave too little room',
      `${' '.repeat(3)}- - - - - the quick brown`,
      ['   - - - - - the', '     quick brown'],
    ],
    ['does not break a word that is too long', `see ${URL_40} and more`, ['see', URL_40, 'and more']],
    ['does not break a URL, even at its wide characters', 'see https://example.org/漢字漢字 x', ['see', 'https://example.org/漢字漢字 x']],
    ['ends a URL at a Chinese full stop', '見 https://a.jp/b。漢字漢字漢', ['見 https://a.jp/b。', '漢字漢字漢']],
    ['counts two columns for wide characters, and breaks between them', '漢字漢字漢字漢字漢字漢字', ['漢字漢字漢字漢字漢字', '漢字']],
    ['begins no line with a closing character', '漢字漢字漢字漢字漢字。漢字', ['漢字漢字漢字漢字漢', '字。漢字']],
    ['ends no line with an opening character', '漢字漢字漢字漢字漢「漢字」', ['漢字漢字漢字漢字漢', '「漢字」']],
    ['may be broken between two emojis', '🙂'.repeat(12), ['🙂'.repeat(10), '🙂'.repeat(2)]],
    ['keeps the parts of an emoji together', `${'x'.repeat(15)} 👨‍👩‍👧 y`, ['x'.repeat(15), '👨‍👩‍👧 y']],
    [
      'counts no column for a combining accent',
      `${'e\u0301'.repeat(10)} ${'e\u0301'.repeat(9)} e`,
      [`${'e\u0301'.repeat(10)} ${'e\u0301'.repeat(9)}`, 'e'],
    ],
    [
      'does not break code',
      'so:\n```sh\nnpm test -- --run a/very/long/path\n```\nthe quick brown fox jumps',
      ['so:', '```sh', 'npm test -- --run a/very/long/path', '```', 'the quick brown fox', 'jumps'],
    ],
    [
      'treats everything between two equal fences as code',
      '~~~~\n```\n~~~\na long line of code in it\n~~~~\nthe quick brown fox jumps',
      ['~~~~', '```', '~~~', 'a long line of code in it', '~~~~', 'the quick brown fox', 'jumps'],
    ],
    [
      'does not break code in a list item',
      '- so:\n  ```\n  a long line of code in it\n  ```\n  the quick brown fox',
      ['- so:', '  ```', '  a long line of code in it', '  ```', '  the quick brown', '  fox'],
    ],
    ['treats three backticks within a line as words', '```x``` the quick brown fox', ['```x``` the quick', 'brown fox']],
    [
      'does not break indented code',
      'so:\n    npm test -- --run a/path\n\tanother long line of code',
      ['so:', '    npm test -- --run a/path', '\tanother long line of code'],
    ],
    ['breaks an indented text in a list', '- a\n    the quick brown fox jumps', ['- a', '    the quick brown', '    fox jumps']],
    ['breaks an item deep in a list', '- a\n      - the quick brown fox', ['- a', '      - the quick', '        brown fox']],
    ['stays unchanged if it fits', '# Title\n\n| a | b |\n', ['# Title', '', '| a | b |', '']],
    ['may be empty', '', ['']],
  ])('%s', (_, text, rows) => {
    expect(wrapText(text, 20).split('\n')).toEqual(rows)
  })

  test('is not wrapped if no terminal gives a width', () => {
    const text = 'the quick brown fox jumps over the lazy dog  \n'
    expect(wrapText(text, Infinity)).toBe(text)
  })

  test('can have a margin', () => {
    expect(wrapText('the quick brown fox\njumps', 12, '  ')).toBe('the quick\n  brown fox\n  jumps')
  })
})

describe('text that arrives in pieces', () => {
  test('shows a word when its end is known', () => {
    const view = new ProseWrapper()
    expect(['Hel', 'lo', ' wor', 'ld', '\n', 'x'].map((piece) => view.push(piece, 20))).toEqual(['', '', 'Hello', '', ' world\n', ''])
    expect(view.end()).toBe('x')
  })

  test('does not wait for the end of a word that is wider than the terminal', () => {
    const view = new ProseWrapper()
    expect(['see ', '0123456789', '0123456789', 'x', 'yz', ' a'].map((piece) => view.push(piece, 12))).toEqual([
      'see',
      '',
      '\n01234567890123456789',
      'x',
      'yz',
      '',
    ])
  })

  test('does not wait for the end of a sentence without spaces', () => {
    const view = new ProseWrapper()
    expect(view.push('漢字漢字漢字漢字', 20)).toBe('漢字漢字漢字漢')
  })

  test('is wrapped at the current width of the terminal', () => {
    const view = new ProseWrapper()
    let output = view.push('the quick brown fox jumps over ', 20)
    output += view.push('the lazy dog and ', 10)
    output += view.push('goes on to the end of it', 40)
    expect((output + view.end()).split('\n')).toEqual(['the quick brown fox', 'jumps over', 'the lazy', 'dog and goes on to the end of it'])
  })

  test('continues a word of which a part was shown', () => {
    const view = new ProseWrapper()
    const output =
      view.push('the quick brown fo', 20) +
      view.flush() +
      view.push('x jumps 漢字', 20) +
      view.flush() +
      view.push('漢字漢字漢字漢字 it', 20)
    expect(output + view.end()).toBe('the quick brown fox\njumps 漢字漢字漢字漢\n字漢字 it')
  })

  test('continues at the beginning of a line after other text', () => {
    const view = new ProseWrapper()
    expect(view.push('the quick bro', 20) + view.pause()).toBe('the quick bro')
    expect(view.push('wn fox jumps over it', 20) + view.end()).toBe('wn fox jumps over it')
  })

  test('continues within code after other text', () => {
    const view = new ProseWrapper()
    view.push('```\na long li', 20)
    view.pause()
    expect(view.push('ne of code, which is not broken\n', 20)).toBe('ne of code, which is not broken\n')
    expect(view.push('nor is this long one of the same\n', 20)).toBe('nor is this long one of the same\n')
  })

  test('is followed by a new text after its end', () => {
    const view = new ProseWrapper()
    expect(view.push('```\nnever closed', 20) + view.end()).toBe('```\nnever closed')
    expect(view.push('the quick brown fox jumps', 20) + view.end()).toBe('the quick brown fox\njumps')
  })
})

describe('any text', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ' ',
      '  ',
      '\n',
      '\n\n',
      '\t',
      '- ',
      '1. ',
      '> ',
      '```',
      '```\n',
      '~~~\n',
      '    ',
      'word',
      'words ',
      'https://a.example/b',
      '漢',
      '漢字。',
      '「',
      '」',
      '🙂',
      'e\u0301',
      '👨‍👩‍👧',
      '🇩🇪',
    ),
    fc.stringMatching(/^[a-z0-9]{1,12}$/),
  )
  const pieces = fc.array(piece, { maxLength: 30 })
  const columns = fc.integer({ min: 4, max: 30 })

  test('is broken at the same places for any division into pieces', () => {
    fc.assert(
      fc.property(pieces, columns, (pieces, columns) => {
        const view = new ProseWrapper()
        const printed = pieces.map((part) => view.push(part, columns)).join('') + view.end()
        expect(printed).toBe(wrapText(pieces.join(''), columns))
      }),
    )
  })

  test('loses only the spaces at which a line is broken', () => {
    fc.assert(
      fc.property(pieces, columns, (pieces, columns) => {
        expect(wrapText(pieces.join(''), columns).replace(/\s+/g, '')).toBe(pieces.join('').replace(/\s+/g, ''))
      }),
    )
  })

  test('of words has no line that is too wide, and no line with room for the next word', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 9, max: 30 }),
        (words, columns) => {
          const lines = wrapText(words.join(' '), columns).split('\n')
          for (const [index, line] of lines.entries()) {
            expect(displayWidth(line)).toBeLessThanOrEqual(columns)
            const nextWord = lines[index + 1]?.split(' ')[0]
            if (nextWord !== undefined) expect(displayWidth(`${line} ${nextWord}`)).toBeGreaterThan(columns)
          }
          expect(lines.join(' ')).toBe(words.join(' '))
        },
      ),
    )
  })
})
