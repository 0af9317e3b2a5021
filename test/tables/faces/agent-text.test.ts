// Text of agents as the page shows it: nothing of any text is lost or hidden, only known kinds of nodes come out, and links lead to the
// web alone.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRichText, targetOf, type TextBlock, type TextPart } from '../../../src/faces/rich-text.ts'
import { colouredParts, visibleText } from '../../../src/faces/visible-text.ts'

const MARKS = ['`', '```', '\n', '**', '__', '*', '_', '[', '](', ')', '# ', '- ', '1. ', '> ', '---', '~~~', ' ', '\t', '\\', '<b>', '|']
const ADDRESSES = ['https://a.test/x', 'http://b.test', 'javascript:alert(1)', 'mailto:a@b.test', 'data:text/html,x', '//c.test']
const marked = fc
  .array(fc.oneof(fc.constantFrom(...MARKS, ...ADDRESSES), fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 40 })
  .map((parts) => parts.join(''))
const anyText = fc.oneof(marked, fc.string({ unit: 'binary', maxLength: 200 }))

const inlinesOf = (blocks: readonly TextBlock[]): TextPart[] => blocks.flatMap((block) => (block.kind === 'code' ? [] : block.parts))
/** The text that was read. */
function sourceOf(blocks: readonly TextBlock[]): string {
  const partSource = (part: TextPart): string => (part.kind === 'text' ? part.text : part.open + part.text + part.close)
  return blocks
    .map((block) =>
      block.kind === 'code' ? block.open + block.text + block.close : block.open + block.parts.map(partSource).join('') + block.end,
    )
    .join('')
}

const KINDS = new Set(['code', 'heading', 'item', 'quote', 'line', 'rule', 'text', 'strong', 'em', 'link'])

test('rich text keeps every character of any text, in nodes of known kinds', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const blocks = readRichText(text)
      expect(sourceOf(blocks)).toBe(text)
      for (const { kind } of [...blocks, ...inlinesOf(blocks)]) expect(KINDS).toContain(kind)
    }),
    { numRuns: 2_000 },
  )
})

test('a link leads to http, https or mailto, and its text and address are in the source', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const part of inlinesOf(readRichText(text))) {
        if (part.kind !== 'link') continue
        expect(part.href).toMatch(/^(https?:\/\/|mailto:)/)
        const target = targetOf(part)
        if (target) expect(new URL(target.href).protocol).toMatch(/^(https?|mailto):$/)
      }
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['an [evil](javascript:alert(1)) link', []],
  ['a [site](https://a.test/x) and https://b.test/y.', ['https://a.test/x', 'https://b.test/y.']],
  ['![picture](https://a.test/leak.png)', ['https://a.test/leak.png']],
])('%s', (text, addresses) => {
  expect(inlinesOf(readRichText(text)).flatMap((part) => (part.kind === 'link' ? [part.href] : []))).toEqual(addresses)
})

test('a link whose text names another host is marked', () => {
  expect(targetOf({ text: 'github.com/reeve', href: 'https://evil.test/' })).toMatchObject({ host: 'evil.test', isMisleading: true })
  expect(targetOf({ text: 'the docs', href: 'https://evil.test/' })).toMatchObject({ isMisleading: false, isShown: false })
  expect(targetOf({ text: 'https://a.test/x', href: 'https://a.test/x' })).toMatchObject({ isMisleading: false, isShown: true })
  expect(targetOf({ text: 'https://good.test@evil.test', href: 'https://good.test@evil.test' })).toMatchObject({
    host: 'evil.test',
    isShown: false,
  })
})

test('the blocks of what models write', () => {
  const text = '# Plan\n\n1. read `a.ts`\n   - **then** _write_\n> quoted\n---\n```ts\nconst a = 1\n```\ndone'
  expect(readRichText(text).map((block) => [block.kind, block.kind === 'code' ? block.text : block.level])).toEqual([
    ['heading', 1],
    ['line', 0],
    ['item', 1],
    ['item', 2],
    ['quote', 1],
    ['rule', 0],
    ['code', 'const a = 1'],
    ['line', 0],
  ])
  expect(inlinesOf(readRichText(text)).map(({ kind, text: shown }) => `${kind} ${shown}`)).toEqual([
    'text Plan',
    'text read ',
    'code a.ts',
    'strong then',
    'text  ',
    'em write',
    'text quoted',
    'text done',
  ])
})

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

test.each(['*', '_', '`', '[', '**a', '[a](', '<', '> ', '- ', 'http://', '\x1b[1m', '\n', '```\n', '#'])(
  'a text of 200,000 times %j is read: a quadratic reader would not end',
  (piece) => {
    const text = piece.repeat(200_000)
    expect(sourceOf(readRichText(text))).toBe(text)
    expect(colouredParts(text).length).toBeLessThan(10_000)
  },
)
