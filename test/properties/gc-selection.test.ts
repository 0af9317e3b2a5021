// Garbage collection over any rows and rules. The remaining rows satisfy the rules, and no row is removed without need. No process is
// removed before an older one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GcSelector, type CollectionCandidate, type GcRules } from '../../src/kernel/state/gc-selection.ts'

const NOW = 10_000
const rules: fc.Arbitrary<GcRules> = fc.record({ retentionMs: fc.nat(12_000), maxEntries: fc.nat(12), maxBytes: fc.nat(1_000) })
const rows = fc
  .array(fc.record({ exitedAt: fc.nat(NOW), bytes: fc.nat(100), isDamaged: fc.boolean() }), { maxLength: 20 })
  .map((drawnRows) =>
    drawnRows
      .toSorted((a, b) => a.exitedAt - b.exitedAt)
      .map(({ isDamaged, ...row }, index): CollectionCandidate & { bytes: number; exitedAt: number } => ({
        uuid: String(index),
        warning: isDamaged ? 'damaged' : null,
        ...row,
      })),
  )

test('the remaining rows satisfy the rules, and no row was removed without need', () => {
  fc.assert(
    fc.property(rules, rows, fc.nat(200), (rules, candidates, otherBytes) => {
      const sound = candidates.filter(({ warning }) => warning === null)
      const total = otherBytes + candidates.reduce((sum, { bytes }) => sum + bytes, 0)
      const selector = new GcSelector(rules, { entries: sound.length, bytes: total }, NOW)
      const judged = candidates.map((candidate) => ({ row: candidate, verdict: selector.judge(candidate) }))
      const removedRows = judged.filter(({ verdict }) => verdict.verdict === 'collect').map(({ row }) => row)
      const keptRows = sound.filter((row) => !removedRows.includes(row))
      for (const { row, verdict } of judged) expect(verdict.verdict === 'skip').toBe(row.warning !== null)
      // The oldest rows are removed first: the removed ones are the beginning of the sound ones.
      expect(removedRows).toEqual(sound.slice(0, removedRows.length))
      const bytes = total - removedRows.reduce((sum, row) => sum + row.bytes, 0)
      const breaksRule = (remainingRows: typeof keptRows, size: number): boolean =>
        (rules.retentionMs > 0 && remainingRows.some(({ exitedAt }) => NOW - exitedAt > rules.retentionMs)) ||
        (rules.maxEntries > 0 && remainingRows.length > rules.maxEntries) ||
        (rules.maxBytes > 0 && size > rules.maxBytes)
      expect(keptRows.length > 0 && breaksRule(keptRows, bytes)).toBe(false)
      const lastRemoved = removedRows.at(-1)
      if (lastRemoved) expect(breaksRule([lastRemoved, ...keptRows], bytes + lastRemoved.bytes)).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
