// The ended processes that the garbage collection removes: each rule alone, disabled, combined, and rows that cannot be judged.
import { describe, expect, test } from 'vitest'
import { GcSelector, isGcOff, type CollectionCandidate, type GcRules } from '../../../../src/kernel/state/gc-selection.ts'

const NOW = 1_000_000
const OFF: GcRules = { retentionMs: 0, maxEntries: 0, maxBytes: 0 }
const makeRow = (age: number, changes: Partial<CollectionCandidate> = {}): CollectionCandidate => ({
  uuid: `a${age}`,
  exitedAt: NOW - age,
  bytes: 10,
  warning: null,
  ...changes,
})

/** Five processes, oldest first. Each has 10 bytes in a store of 100 bytes. */
const FIVE = [500, 400, 300, 200, 100].map((age) => makeRow(age))
const verdictsOf = (rules: Partial<GcRules>, candidates: readonly CollectionCandidate[] = FIVE): string[] => {
  const selector = new GcSelector(
    { ...OFF, ...rules },
    { entries: candidates.filter(({ warning, exitedAt }) => warning === null && exitedAt !== null).length, bytes: 100 },
    NOW,
  )
  return candidates.map((candidate) => {
    const judged = selector.judge(candidate)
    return judged.verdict === 'collect' ? judged.rule : judged.verdict === 'skip' ? `skip: ${judged.warning}` : 'keep'
  })
}

describe('rules', () => {
  test.each<[string, Partial<GcRules>, string[]]>([
    ['all rules disabled', {}, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['age', { retentionMs: 300 }, ['retention_days', 'retention_days', 'keep', 'keep', 'keep']],
    ['an age above that of all processes', { retentionMs: 500 }, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['number', { maxEntries: 2 }, ['max_entries', 'max_entries', 'max_entries', 'keep', 'keep']],
    ['exactly the maximum number', { maxEntries: 5 }, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['size', { maxBytes: 75 }, ['max_bytes', 'max_bytes', 'max_bytes', 'keep', 'keep']],
    ['a size that cannot be reached', { maxBytes: 1 }, ['max_bytes', 'max_bytes', 'max_bytes', 'max_bytes', 'max_bytes']],
    ['age before number', { retentionMs: 450, maxEntries: 3 }, ['retention_days', 'max_entries', 'keep', 'keep', 'keep']],
    [
      'the rule of age lowers the count for the rule of number',
      { retentionMs: 250, maxEntries: 2 },
      ['retention_days', 'retention_days', 'retention_days', 'keep', 'keep'],
    ],
    ['all three', { retentionMs: 450, maxEntries: 4, maxBytes: 75 }, ['retention_days', 'max_bytes', 'max_bytes', 'keep', 'keep']],
  ])('select processes: %s', (_what, rules, expected) => {
    expect(verdictsOf(rules)).toEqual(expected)
  })

  test('collection is off only if all rules are off', () => {
    expect(isGcOff(OFF)).toBe(true)
    for (const key of ['retentionMs', 'maxEntries', 'maxBytes'] as const) expect(isGcOff({ ...OFF, [key]: 1 })).toBe(false)
  })
})

describe('rows that cannot be judged', () => {
  test('are skipped with a warning, and do not count as removed', () => {
    const candidates = [
      makeRow(500, { warning: 'the row is damaged' }),
      makeRow(400),
      makeRow(300, { exitedAt: null }),
      makeRow(200),
      makeRow(100),
    ]
    expect(verdictsOf({ maxEntries: 2 }, candidates)).toEqual([
      'skip: the row is damaged',
      'max_entries',
      'skip: it has no exit time',
      'keep',
      'keep',
    ])
  })

  test('of unknown size are judged by the other rules, and their removal frees no counted bytes', () => {
    const candidates = [makeRow(500, { bytes: null }), makeRow(400), makeRow(300)]
    expect(verdictsOf({ maxBytes: 95 }, candidates)).toEqual(['max_bytes', 'max_bytes', 'keep'])
  })
})
