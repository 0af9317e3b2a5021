// The footer of a terminal while a process is followed: drawing it never changes the output above it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StickyFooter } from '../../../../src/cli/screen/sticky-footer.ts'
import { stripControls } from '../../../../src/cli/print/text.ts'
import { TerminalEmulator } from '../../../support/daemon/terminal-emulator.ts'

describe('the lines at the bottom', () => {
  const newScreen = (columns = 20, height = 24): { vt: TerminalEmulator; bottom: StickyFooter; output: (text: string) => void } => {
    const vt = new TerminalEmulator(columns, height)
    const bottom = new StickyFooter({ columns, write: (text) => vt.write(text) })
    return { vt, bottom, output: (text) => vt.write(bottom.renderAbove(text)) }
  }

  test('stay below all output', () => {
    const { vt, bottom, output } = newScreen()
    bottom.show({ lines: ['one', 'two'] })
    output('hello\n')
    output('wor')
    expect(vt.lines).toEqual(['hello', 'wor', 'one', 'two'])
    output('ld\nnext\n')
    bottom.show({ lines: ['three'] })
    expect(vt.lines).toEqual(['hello', 'world', 'next', 'three'])
    bottom[Symbol.dispose]()
    expect(vt.lines).toEqual(['hello', 'world', 'next', ''])
  })

  test('let a program continue or end a line that filled its row', () => {
    for (const [rest, lines] of [
      ['x', ['0123456789', 'x', 'b']],
      ['\nx', ['0123456789', 'x', 'b']],
      ['\n\nx', ['0123456789', '', 'x', 'b']],
      ['\x1b[0m\nx', ['0123456789', 'x', 'b']],
    ] as const) {
      const { vt, bottom, output } = newScreen(10)
      bottom.show({ lines: ['b'] })
      output('0123456789')
      output(rest)
      expect(vt.lines, rest).toEqual(lines)
    }
  })

  test('let a line that filled its row end after a chunk with only colours', () => {
    const { vt, bottom, output } = newScreen(10)
    bottom.show({ lines: ['b'] })
    for (const text of ['0123456789', '\x1b[31m', '\nx']) output(text)
    expect(vt.lines).toEqual(['0123456789', 'x', 'b'])
  })

  test.each([
    ['a wide character that did not fit', ['abcd漢', 'x'], ['abcd', '漢x', 'b']],
    ['a tab', ['a\t', 'x'], ['a   x', 'b']],
    ['an accent of its own', ['ae', '\u0301x'], ['ae\u0301x', 'b']],
    ['several rows', ['abcdefgh', 'ij', 'k'], ['abcde', 'fghij', 'k', 'b']],
  ])('let a program continue a line after %s', (_, texts, lines) => {
    const { vt, bottom, output } = newScreen(5)
    bottom.show({ lines: ['b'] })
    for (const text of texts) output(text)
    expect(vt.lines).toEqual(lines)
  })

  test('have the cursor in the input line', () => {
    const { vt, bottom, output } = newScreen()
    bottom.show({ lines: ['row', '> ab', '  cd'], cursor: { line: 1, column: 3 } })
    expect([vt.row, vt.column]).toEqual([1, 3])
    output('text\n')
    expect([vt.lines, vt.row, vt.column]).toEqual([['text', 'row', '> ab', '  cd'], 2, 3])
  })

  test('are written only where they differ, in one synchronised update', () => {
    const written: string[] = []
    const bottom = new StickyFooter({
      columns: 20,
      write: (text) => {
        written.push(text)
      },
    })
    bottom.show({ lines: ['one', 'two', '> '], cursor: { line: 2, column: 2 } })
    bottom.show({ lines: ['one', 'TWO', '> '], cursor: { line: 2, column: 2 } })
    bottom.show({ lines: ['one', 'TWO', '> '], cursor: { line: 2, column: 2 } })
    bottom.show({ lines: ['one', 'TWO', '> '], cursor: { line: 2, column: 1 } })
    expect(written.map((text) => JSON.stringify(text).replaceAll('\\u001b', '^'))).toEqual([
      String.raw`"^[?2026hone\ntwo\n> \r^[2C^[?2026l"`,
      String.raw`"^[?2026h^[1A\r^[2KTWO^[1B\r^[2C^[?2026l"`,
      String.raw`"^[?2026h\r^[1C^[?2026l"`,
    ])
  })

  test('do not take over the colours of a program', () => {
    const written: string[] = []
    const bottom = new StickyFooter({
      columns: 20,
      write: (text) => {
        written.push(text)
      },
    })
    bottom.show({ lines: ['b'] })
    expect(bottom.renderAbove('\x1b[31mred')).toMatch(/\x1b\[31mred\x1b\[0m\nb/)
    expect(bottom.renderAbove(' more')).toMatch(/\x1b\[31m more\x1b\[0m/)
    expect(bottom.renderAbove('\x1b[0m plain')).toMatch(/\x1b\[31m\x1b\[0m plain\nb/)
  })

  // Text as agents write it, in any pieces, and any number of bottom lines. The text has no tabs, because terminals differ in a tab after a
  // full row.
  const text = fc
    .array(
      fc.oneof(
        fc.constantFrom('\n', '漢', '漢字漢字漢', '🙂', 'e\u0301', ' ', '\x1b[31m', '\x1b[0m'),
        fc.string({ maxLength: 12 }).map((text) => stripControls(text).replaceAll('\t', ' ')),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join(''))
  const line = fc.stringMatching(/^[a-z ]{0,8}$/)
  const step = fc.oneof(
    text.map((output) => ({ out: output })),
    fc.tuple(fc.array(line, { maxLength: 3 }), fc.nat({ max: 2 })).map(([lines, at]) => ({ lines, at })),
  )

  test('never change the output above them, and are all on the screen', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 9, max: 16 }), (steps, columns) => {
        const { vt, bottom, output } = newScreen(columns, 12)
        const expectedScreen = new TerminalEmulator(columns, 12)
        let shown: readonly string[] = []
        for (const step of steps) {
          if ('out' in step) {
            output(step.out)
            expectedScreen.write(step.out)
          } else {
            bottom.show({ lines: step.lines, ...(step.at < step.lines.length ? { cursor: { line: step.at, column: 1 } } : {}) })
            shown = step.lines.map((one) => one.trimEnd())
          }
        }
        expect(shown.length === 0 ? [] : vt.lines.slice(-shown.length)).toEqual(shown)
        bottom[Symbol.dispose]()
        expect(withoutEmptyEnd(vt.lines)).toEqual(withoutEmptyEnd(expectedScreen.lines))
      }),
    )
  })

  /** Empty rows at the end are ignored: a full row may have been wrapped already. */
  function withoutEmptyEnd(lines: readonly string[]): string[] {
    return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
  }
})
