// Visible text: no character is hidden, and colour sequences become parts with their colour.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunView } from '../../../src/api/views/compose.ts'
import type { AskView } from '../../../src/api/views/process.ts'
import type { RowView } from '../../../src/api/views/rows.ts'
import { colouredParts, visibleText } from '../../../src/faces/visible-text.ts'
import { isShownInFull } from '../../../web/needs/shown-in-full.ts'
import { nodeWhy } from '../../../web/runs/node-texts.ts'

const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

test('visible text hides nothing, and changes nothing that is visible', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = visibleText(text)
      expect(HIDDEN.test(shown)).toBe(false)
      expect(shown.isWellFormed()).toBe(true)
    }),
  )
  fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => visibleText(text) === text))
  expect(visibleText('a\u202eb\u200bc\x1b[2Jd\u{e0041}\r\ne\u200d')).toBe('a\\u202eb\\u200bc\\x1b[2Jd\\u{e0041}\ne\\u200d')
  expect(visibleText('👩\u200d🔬')).toBe('👩\u200d🔬')
})

test('coloured text is the visible text without its colour sequences', () => {
  const codes = fc.array(fc.constantFrom('0', '1', '2', '4', '22', '24', '31', '38;5;3', '38;2;1;2;3', '39', '97', '999', ''), {
    maxLength: 3,
  })
  const piece = fc.oneof(
    codes.map((all) => `\x1b[${all.join(';')}m`),
    fc.string({ unit: 'binary', maxLength: 5 }),
    fc.constant('\x1b]52;c;x\x07'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const text = pieces.join('')
      const parts = colouredParts(text)
      for (const { text: shown, colour } of parts) {
        expect(HIDDEN.test(shown)).toBe(false)
        expect(colour === null || (colour >= 0 && colour < 16)).toBe(true)
      }
      // A sequence may stand between the halves of a line end or a pair of surrogates.
      const plain = text
        .replaceAll(/\x1b\[[0-9;:]*m/g, '\0')
        .split('\0')
        .map(visibleText)
        .join('')
      if (!text.includes('\0')) expect(parts.map((part) => part.text).join('')).toBe(plain)
    }),
    { numRuns: 1_000 },
  )
  expect(colouredParts('a\x1b[1;31mb\x1b[0mc').map(({ text, colour, isBold }) => [text, colour, isBold])).toEqual([
    ['a', null, false],
    ['b', 1, true],
    ['c', null, false],
  ])
})

test.each([
  ['38:2::1:2:4', { colour: null, isBold: true, isUnderlined: false }],
  ['38:5:3', { colour: 3, isBold: true, isUnderlined: false }],
  ['38;2;1;2;4', { colour: null, isBold: true, isUnderlined: false }],
  ['48:2::1:2:4;32', { colour: 2, isBold: true, isUnderlined: false }],
  ['4:3', { colour: 1, isBold: true, isUnderlined: true }],
  ['4;4:0', { colour: 1, isBold: true, isUnderlined: false }],
])('after bold red, the sequence %s changes only what it names', (sequence, style) => {
  expect(colouredParts(`\x1b[1;31ma\x1b[${sequence}mb`).at(-1)).toMatchObject({ text: 'b', ...style })
})

test.each(['*', '_', '`', '[', '**a', '[a](', '<', '> ', '- ', 'http://', '\x1b[1m', '\n', '```\n', '#'])(
  'a text of 200,000 times %j is read: a quadratic reader would not end',
  (piece) => {
    const text = piece.repeat(200_000)
    expect(colouredParts(text).length).toBeLessThan(10_000)
  },
)

test('why a node of a run is in its state has no hidden characters', () => {
  const node = { name: 'a', state: 'failed' as const, reason: 'exit\u202e 1', needs: [], attempts: 0, retries: 0, process: null }
  const run = { nodes: [], holds: [] } as unknown as RunView
  const row = { why: { text: 'reads\u200b it' } } as RowView
  expect(nodeWhy(node, run, undefined)).toBe('exit\\u202e 1')
  expect(nodeWhy({ ...node, state: 'running', reason: null }, run, row)).toBe('reads\\u200b it')
})

test.each([
  ['npm test', true],
  ['x'.repeat(100), true],
  ['x'.repeat(101), false],
  [`rm${'\u200b'.repeat(50)}`, false],
  ['npm test\rrm -rf .', false],
])('whether a line shows the command %j whole depends on its visible text', (command, isWhole) => {
  expect(isShownInFull({ tool: { input: { command }, cut: false }, diff: [] } as unknown as AskView)).toBe(isWhole)
})
