// Markdown of models on a terminal: its marks become styles, its tables are aligned, and pieces give the same rows as the whole text.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MarkdownText } from '../../../../../src/cli/print/transcript/markdown.ts'
import { displayWidth, stripColours } from '../../../../../src/cli/print/text.ts'

/** The code of each style on a terminal. */
const CODES: Readonly<Record<string, number>> = { bold: 1, dim: 2, italic: 3, underline: 4, red: 31, green: 32, cyan: 36 }
const COLOURED = { ascii: false, paint: (name: string, text: string) => `\x1b[${CODES[name]}m${text}\x1b[0m` }
const PLAIN = { ascii: false, paint: (_: string, text: string) => text }

function drawText(text: string, columns: number, style: typeof COLOURED = COLOURED): string {
  const markdown = new MarkdownText(style)
  return markdown.push(text, columns) + markdown.end()
}
/** The rows with their styles in words: `<bold>Plan`. */
function rows(text: string, columns = 40): string[] {
  const named = Object.entries(CODES).reduce((all, [name, code]) => all.replaceAll(`\x1b[${code}m`, `<${name}>`), drawText(text, columns))
  return named.replaceAll('\x1b[0m', '</>').split('\n')
}

describe('a text with colours', () => {
  test.each<[what: string, text: string, expected: string[]]>([
    ['a heading', '## The plan', ['<bold>The</> <bold>plan</>']],
    ['items, with the rest of a row below the text', '- one `a`\n1. two', ['• one <cyan>a</>', '1. two']],
    ['emphasis', 'a **big one** and *small*', ['a <bold>big</> <bold>one</> and <italic>small</>']],
    ['characters that are not marks', '5 * 3 * 2 and snake_case_name', ['5 * 3 * 2 and snake_case_name']],
    ['a link with its address', '[docs](https://a.test/x)', ['<underline>docs</> <dim>(https://a.test/x)</>']],
    ['code', '```ts\nconst a = **b**\n```\nend', ['<dim>```ts</>', '<cyan>const a = **b**</>', '<dim>```</>', 'end']],
    ['a diff', '```diff\n-a\n+b\n c\n```\n', ['<dim>```diff</>', '<red>-a</>', '<green>+b</>', ' c', '<dim>```</>', '']],
    ['a quote', '> so it is', ['> <dim>so</> <dim>it</> <dim>is</>']],
    [
      'a table',
      '| name | n |\n|---|--:|\n| `a` | 1 |\n| bcd | 20 |\nend',
      ['<bold>name</> │  <bold>n</>', '<dim>─────┼───</>', '<cyan>a</>    │  1', 'bcd  │ 20', 'end'],
    ],
    ['lines with bars that are not a table', '| a | b\nend', ['| a | b', 'end']],
  ])('%s', (_, text, expected) => {
    expect(rows(text)).toEqual(expected)
  })

  test('a table that is too wide wraps its cells, and one that cannot fit has a line for each cell', () => {
    const table = '| name | what it does |\n|---|---|\n| merge | takes the work of a process into your branch |'
    const drawn = drawText(table, 30).split('\n').map(stripColours)
    expect(drawn.every((line) => displayWidth(line) <= 30)).toBe(true)
    expect(drawn.join(' ').replaceAll(/[│\s]+/g, ' ')).toContain('merge takes the work of')
    expect(stripColours(drawText(table, 12))).toContain('name: merge\n')
  })
})

test('without colours the marks stay, and tables are aligned', () => {
  const text = '# Plan\n- **a** `b`\n'
  expect(drawText(text, 40, PLAIN)).toBe(text)
  expect(drawText('|a|b|\n|-|-|\n|long|c|\n', 40, PLAIN)).toBe('a    │ b\n─────┼──\nlong │ c\n')
})

test('a file gets the unchanged text', () => {
  const text = '# Plan\n|a|b|\n|-|-|\n'
  expect(drawText(text, Infinity)).toBe(text)
})

test('words appear as they come; a mark waits for its end, and a pause shows all', () => {
  const markdown = new MarkdownText(COLOURED)
  const shown = (text: string): string => stripColours(markdown.push(text, 40))
  expect(shown('one two th')).toBe('one two')
  expect(stripColours(markdown.flush())).toBe(' th')
  expect(shown('ree **fo')).toBe('ree')
  expect(stripColours(markdown.flush())).toBe('')
  expect(shown('ur** five')).toBe(' four')
  expect(shown('\n- **open')).toBe(' five\n')
  expect(stripColours(markdown.pause())).toBe('• **open')
  expect(markdown.hasPending).toBe(false)
})

const MARKS = [
  '`',
  '```\n',
  '\n',
  '**',
  '_',
  '*',
  '[',
  '](https://a.test)',
  '# ',
  '- ',
  '1. ',
  '> ',
  '---\n',
  ' ',
  '|',
  '|-|-|\n',
  'word',
  '漢字',
]
const marked = fc
  .array(fc.oneof(fc.constantFrom(...MARKS), fc.stringMatching(/^[a-z ]{0,5}$/)), { maxLength: 30 })
  .map((parts) => parts.join(''))

test('pieces give the same rows as the whole text, and nothing but marks is lost', () => {
  fc.assert(
    fc.property(marked, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }), (text, sizes) => {
      const markdown = new MarkdownText(COLOURED)
      let shown = ''
      let at = 0
      for (const size of sizes) {
        shown += markdown.push(text.slice(at, at + size), 20)
        at += size
      }
      shown += markdown.push(text.slice(at), 20) + markdown.end()
      expect(shown.split('\n')).toEqual(drawText(text, 20).split('\n'))
      const lettersOf = (of: string): string => stripColours(of).replaceAll(/[^a-z漢字]/g, '')
      expect(lettersOf(shown).length).toBeGreaterThanOrEqual(lettersOf(text.replaceAll('](https://a.test)', '')).length)
    }),
    { numRuns: 1_000 },
  )
})
