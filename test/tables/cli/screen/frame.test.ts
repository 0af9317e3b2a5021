// The bytes of a frame: a terminal that gets them shows the frame, and equal lines are not written again. Two emulators check the bytes:
// that of the other tests, and xterm.js.
import xterm from '@xterm/headless'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frameBytes, type ScreenFrame } from '../../../../src/cli/screen/frame.ts'
import { lineOf } from '../../../../src/cli/top/line-layout.ts'
import { TerminalEmulator } from '../../../support/daemon/terminal-emulator.ts'

const COLUMNS = 20
const ROWS = 6

const style = { ascii: false, ellipsis: '…', pauseMark: '⏸', paint: (_: string, text: string) => `\x1b[31m${text}\x1b[0m` }
const line = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.boolean())
  .map(([text, isRed]) => lineOf([{ text, ...(isRed ? { style: 'red' as const } : {}) }], COLUMNS, style))
const frame: fc.Arbitrary<ScreenFrame> = fc.record(
  { lines: fc.array(line, { maxLength: ROWS }), cursor: fc.record({ line: fc.nat(ROWS - 1), column: fc.nat(COLUMNS - 1) }) },
  { requiredKeys: ['lines'] },
)

async function screenOfXterm(bytes: string): Promise<string[]> {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(bytes, resolve))
  return Array.from({ length: ROWS }, (_, row) => terminal.buffer.active.getLine(row)?.translateToString(true).trimEnd() ?? '')
}

const shownText = ({ lines }: ScreenFrame): string[] =>
  Array.from({ length: ROWS }, (_, row) => (lines[row] ?? '').replaceAll(/\x1b\[\d+m/g, '').trimEnd())

test('a terminal shows each frame of a series, whatever was shown before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 4 }), async (frames) => {
      let before: ScreenFrame | null = null
      let bytes = ''
      for (const after of frames) {
        bytes += frameBytes(before, after, ROWS)
        before = after
      }
      const own = new TerminalEmulator(COLUMNS, ROWS)
      own.write(bytes)
      const expected = shownText(before ?? { lines: [] })
      expect(Array.from({ length: ROWS }, (_, row) => own.lines[row] ?? '')).toEqual(expected)
      expect(own.modes.has('25')).toBe(before?.cursor !== undefined)
      if (before?.cursor) expect([own.row, own.column]).toEqual([before.cursor.line, before.cursor.column])
      // Terminals differ in the width of rare characters: only plain text is compared.
      if (expected.every((text) => /^[ -~…]*$/.test(text))) expect(await screenOfXterm(bytes)).toEqual(expected)
    }),
  )
})

test('an equal frame has no bytes, and one changed line is written alone', () => {
  const before = { lines: ['one', 'two', 'three'] }
  expect(frameBytes(before, { lines: ['one', 'two', 'three'] }, ROWS)).toBe('')
  const bytes = frameBytes(before, { lines: ['one', '2', 'three'] }, ROWS)
  expect(bytes).toBe('\x1b[?2026h\x1b[2;1H\x1b[2K2\x1b[?2026l')
})

test('a line that fills the row keeps its last character', async () => {
  const full = 'x'.repeat(COLUMNS)
  const bytes = frameBytes(null, { lines: [full, full] }, ROWS)
  expect((await screenOfXterm(bytes)).slice(0, 2)).toEqual([full, full])
})
