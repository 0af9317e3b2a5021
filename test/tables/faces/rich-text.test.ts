// Rich text of agents: no character of any text is lost, only known kinds of nodes come out, and links lead only to the web or to mail.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRichText, targetOf, type TextBlock, type TextPart } from '../../../src/faces/rich-text.ts'

const MARKS = ['`', '```', '\n', '**', '__', '*', '_', '[', '](', ')', '# ', '- ', '1. ', '> ', '---', '~~~', ' ', '\t', '\\', '<b>', '|']
const ADDRESSES = ['https://a.test/x', 'http://b.test', 'javascript:alert(1)', 'mailto:a@b.test', 'data:text/html,x', '//c.test']
const marked = fc
  .array(fc.oneof(fc.constantFrom(...MARKS, ...ADDRESSES), fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 40 })
  .map((parts) => parts.join(''))
const anyText = fc.oneof(marked, fc.string({ unit: 'binary', maxLength: 200 }))

const inlinesOf = (blocks: readonly TextBlock[]): TextPart[] => blocks.flatMap((block) => (block.kind === 'code' ? [] : block.parts))
/** The source text, put together from its blocks. */
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

test('a link leads to http, https or mailto, and its address is in the source', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const part of inlinesOf(readRichText(text))) {
        if (part.kind !== 'link') continue
        expect(part.href).toMatch(/^(https?:\/\/|mailto:)/)
        expect(text).toContain(part.href)
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
])('%j has links to %j', (text, addresses) => {
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

test('a text as models write it has the expected blocks and parts', () => {
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

test.each(['*', '_', '`', '[', '**a', '[a](', '<', '> ', '- ', 'http://', '\n', '```\n', '#'])(
  'a text of 200,000 times %j is read: a quadratic reader would not end',
  (piece) => {
    const text = piece.repeat(200_000)
    expect(sourceOf(readRichText(text))).toBe(text)
  },
)
