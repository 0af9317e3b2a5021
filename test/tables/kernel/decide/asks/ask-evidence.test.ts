// The limits of the evidence of an ask: what is kept, what is left out, and how that is marked.
import { describe, expect, test } from 'vitest'
import { boundEvidence, DIFF_CHARS, INPUT_CHARS, MAX_FILES } from '../../../../../src/kernel/decide/asks/ask-evidence.ts'
import type { AskDiff, AskEvidence } from '../../../../../src/kernel/model/asks.ts'

const makeEvidence = (changes: Partial<AskEvidence> = {}): AskEvidence => ({
  source: 'said',
  tool: { name: 'edit', kind: 'edit', input: { path: 'a.ts' }, locations: ['a.ts'] },
  diff: [],
  ...changes,
})
const boundDiff = (diff: AskDiff): AskDiff | undefined => boundEvidence(makeEvidence({ diff: [diff] })).diff[0]
const manyLines = (count: number, changed = ''): string =>
  Array.from({ length: count }, (_, row) => (row === count / 2 ? `line ${row}${changed}` : `line ${row}`)).join('\n')

test('small evidence stays as it is', () => {
  const evidence = makeEvidence({ diff: [{ path: 'a.ts', old: 'a\n', new: 'b\n' }] })
  expect(boundEvidence(evidence)).toEqual(evidence)
})

describe('a diff', () => {
  test('of a long file leaves out equal lines far from the change, and counts them', () => {
    expect(boundDiff({ path: 'a.ts', old: manyLines(8_000), new: manyLines(8_000, ' new') })).toEqual({
      path: 'a.ts',
      old: 'line 3997\nline 3998\nline 3999\nline 4000\nline 4001\nline 4002\nline 4003',
      new: 'line 3997\nline 3998\nline 3999\nline 4000 new\nline 4001\nline 4002\nline 4003',
      equal: { before: 3_997, after: 3_996 },
    })
  })

  test('that is too long is cut at its ends, with the number of characters', () => {
    const bounded = boundDiff({ path: 'a.ts', old: 'o'.repeat(DIFF_CHARS), new: 'n'.repeat(DIFF_CHARS) })
    expect(bounded).toEqual({ path: 'a.ts', old: 'o'.repeat(DIFF_CHARS / 2), new: 'n'.repeat(DIFF_CHARS / 2), cut: DIFF_CHARS })
  })

  test('of a long new file is cut', () => {
    expect(boundDiff({ path: 'a.ts', old: null, new: 'n'.repeat(DIFF_CHARS + 5) })).toMatchObject({ old: null, cut: 5 })
  })

  test('with a short old text leaves the room to the new one', () => {
    expect(boundDiff({ path: 'a.ts', old: 'o', new: 'n'.repeat(DIFF_CHARS) })).toMatchObject({ old: 'o', cut: 1 })
  })
})

test('many files: the first ones are kept, and the others are counted', () => {
  const diff = Array.from({ length: MAX_FILES + 3 }, (_, index) => ({ path: `${index}.ts`, old: 'a', new: 'b' }))
  const bounded = boundEvidence(makeEvidence({ diff }))
  expect([bounded.diff.length, bounded.moreFiles]).toEqual([MAX_FILES, 3])
})

test('a short file leaves its room to the next one', () => {
  const { diff } = boundEvidence(
    makeEvidence({
      diff: [
        { path: 'a', old: null, new: 'short' },
        { path: 'b', old: null, new: 'n'.repeat(DIFF_CHARS - 5) },
      ],
    }),
  )
  expect(diff.map(({ cut }) => cut)).toEqual([undefined, undefined])
})

describe('an input', () => {
  const boundTool = (input: unknown): AskEvidence['tool'] =>
    boundEvidence(makeEvidence({ tool: { name: 'x', kind: 'other', input, locations: [] } })).tool

  test('keeps its structure with shorter strings', () => {
    const { input, isCut } = boundTool({ path: 'a.ts', content: 'c'.repeat(INPUT_CHARS) })
    expect(isCut).toBe(true)
    expect(input).toEqual({ path: 'a.ts', content: `${'c'.repeat(1_999)}…` })
  })

  test('becomes a string if it has too many parts', () => {
    const { input, isCut } = boundTool(Array.from({ length: INPUT_CHARS }, () => 1))
    expect([typeof input, isCut]).toEqual(['string', true])
  })

  test('without a value stays without one', () => {
    expect(boundTool(undefined)).toEqual({ name: 'x', kind: 'other', input: undefined, locations: [] })
  })
})
