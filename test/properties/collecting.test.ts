// Garbage collection over any rows and rules: the remaining rows satisfy the rules, and each removal has a rule. No process is removed
// before an older one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GcSelector, type CollectionCandidate, type GcRules } from '../../src/kernel/state/gc-selection.ts'

const NOW = 10_000
const rules: fc.Arbitrary<GcRules> = fc.record({ retentionMs: fc.nat(12_000), maxEntries: fc.nat(12), maxBytes: fc.nat(1_000) })
const rows = fc.array(fc.record({ exitedAt: fc.nat(NOW), bytes: fc.nat(100), isDamaged: fc.boolean() }), { maxLength: 20 }).map((all) =>
  all
    .toSorted((a, b) => a.exitedAt - b.exitedAt)
    .map(({ isDamaged, ...one }, index): CollectionCandidate & { bytes: number; exitedAt: number } => ({
      uuid: String(index),
      warning: isDamaged ? 'damaged' : null,
      ...one,
    })),
)

test('the remaining rows satisfy the rules, and no row was removed without need', () => {
  fc.assert(
    fc.property(rules, rows, fc.nat(200), (given, all, others) => {
      const sound = all.filter(({ warning }) => warning === null)
      const total = others + all.reduce((sum, { bytes }) => sum + bytes, 0)
      const collecting = new GcSelector(given, { entries: sound.length, bytes: total }, NOW)
      const judged = all.map((one) => ({ one, verdict: collecting.judge(one) }))
      const gone = judged.filter(({ verdict }) => verdict.verdict === 'collect').map(({ one }) => one)
      const kept = sound.filter((one) => !gone.includes(one))
      for (const { one, verdict } of judged) expect(verdict.verdict === 'skip').toBe(one.warning !== null)
      // The oldest rows are removed first: the removed ones are the beginning of the sound ones.
      expect(gone).toEqual(sound.slice(0, gone.length))
      const bytes = total - gone.reduce((sum, one) => sum + one.bytes, 0)
      const broken = (left: typeof kept, size: number): boolean =>
        (given.retentionMs > 0 && left.some(({ exitedAt }) => NOW - exitedAt > given.retentionMs)) ||
        (given.maxEntries > 0 && left.length > given.maxEntries) ||
        (given.maxBytes > 0 && size > given.maxBytes)
      expect(kept.length > 0 && broken(kept, bytes)).toBe(false)
      const last = gone.at(-1)
      if (last) expect(broken([last, ...kept], bytes + last.bytes)).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
