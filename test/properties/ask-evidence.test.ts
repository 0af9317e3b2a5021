// The evidence of an ask. Its size is limited, a mark tells what is left out, and the hash changes if and only if the shown ask changes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { askHash, askView } from '../../src/daemon/views/ask-view.ts'
import { boundEvidence, DIFF_CHARS, INPUT_CHARS } from '../../src/kernel/decide/asks/ask-evidence.ts'
import type { Ask, AskDiff, AskEvidence } from '../../src/kernel/model/asks.ts'
import { deep } from '../support/deep.ts'

const RUNS = deep(300, 10_000)
const word = fc.constantFrom('a', 'b', '\n', 'a\nb\n', '…', '😀', '"', 'x'.repeat(700), 'line\n'.repeat(3_000))
const longText = fc.array(word, { maxLength: 12 }).map((words) => words.join(''))
const diff: fc.Arbitrary<AskDiff> = fc.record({ path: longText, old: fc.option(longText), new: longText })
const evidence: fc.Arbitrary<AskEvidence> = fc.record({
  source: fc.constantFrom('said', 'recorded'),
  tool: fc.record({
    name: longText,
    kind: fc.constantFrom('execute', 'edit', 'fetch', 'read', 'other'),
    input: fc.oneof(fc.jsonValue(), fc.record({ content: longText, path: longText }), fc.array(longText, { maxLength: 30 })),
    locations: fc.array(longText, { maxLength: 3 }),
  }),
  diff: fc.array(diff, { maxLength: 40 }),
})

test('the evidence is limited, and what is left out is marked', () => {
  fc.assert(
    fc.property(evidence, (whole) => {
      const bounded = boundEvidence(whole)
      expect(JSON.stringify(bounded.tool.input).length).toBeLessThanOrEqual(INPUT_CHARS + 2)
      expect(bounded.diff.reduce((sum, { old, new: text }) => sum + (old?.length ?? 0) + text.length, 0)).toBeLessThanOrEqual(DIFF_CHARS)
      if (bounded.tool.isCut !== true) expect(bounded.tool.input).toBe(whole.tool.input)
      expect(bounded.diff.length + (bounded.moreFiles ?? 0)).toBe(whole.diff.length)
      for (const [index, part] of bounded.diff.entries()) expectPartOfWhole(part, whole.diff[index] as AskDiff)
    }),
    { numRuns: RUNS },
  )
})

/** Expects that the kept text is a part of the whole one, and that the marks account for the rest. */
function expectPartOfWhole({ old, new: text, equal = { before: 0, after: 0 }, cut = 0 }: AskDiff, whole: AskDiff): void {
  expect(old === null).toBe(whole.old === null)
  const middle = (lines: string): string =>
    lines
      .split('\n')
      .slice(equal.before, equal.after === 0 ? undefined : -equal.after)
      .join('\n')
  expect(middle(whole.new).startsWith(text)).toBe(true)
  expect(middle(whole.old ?? '').startsWith(old ?? '')).toBe(true)
  expect(middle(whole.new).length - text.length + middle(whole.old ?? '').length - (old ?? '').length).toBe(cut)
  expect(whole.new.split('\n').slice(0, equal.before)).toEqual((whole.old ?? '').split('\n').slice(0, equal.before))
}

test('bounded evidence stays the same when it is bounded again', () => {
  fc.assert(
    fc.property(evidence, (whole) => {
      const once = boundEvidence(whole)
      expect(boundEvidence(once)).toEqual(once)
    }),
    { numRuns: RUNS },
  )
})

test('the hash changes if and only if something changes that the user sees', () => {
  const ask: fc.Arbitrary<Ask> = fc.record({
    id: fc.constantFrom('1', '2'),
    kind: fc.constantFrom('permission', 'question', 'plan'),
    text: fc.constantFrom('run?', 'run? '),
    options: fc.array(
      fc.record({ id: fc.constantFrom('a', 'b'), name: fc.constantFrom('A', 'B'), kind: fc.constantFrom('allow_once', 'reject_once') }),
      { maxLength: 2 },
    ),
    callId: fc.constantFrom('c', null),
    at: fc.constantFrom(0, 1),
    evidence: fc.record({
      source: fc.constantFrom('said', 'recorded'),
      tool: fc.record({
        name: fc.constantFrom('edit', 'write'),
        kind: fc.constantFrom('edit', 'other'),
        input: fc.constantFrom({ path: 'a' }, { path: 'b' }, null),
        locations: fc.constantFrom([], ['a']),
      }),
      diff: fc.array(fc.record({ path: fc.constantFrom('a', 'b'), old: fc.constantFrom(null, ''), new: fc.constantFrom('', 'x') }), {
        maxLength: 2,
      }),
    }),
  })
  const shownOf = (one: Ask): object => {
    const { id: _, at: _at, callId: _call, hash: _hash, ...shown } = askView(one)
    return shown
  }
  fc.assert(
    fc.property(ask, ask, (one, other) => {
      expect(askHash(one) === askHash(other)).toBe(JSON.stringify(shownOf(one)) === JSON.stringify(shownOf(other)))
    }),
    { numRuns: RUNS * 5 },
  )
})
