// Collection against what must hold for any rows and rules: what is left keeps the rules, nothing goes without one, and
// nobody goes before an older one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Collecting, type Ended, type GcRules } from '../../src/kernel/collecting.ts'

const NOW = 10_000
const rules: fc.Arbitrary<GcRules> = fc.record({ retentionMs: fc.nat(12_000), maxEntries: fc.nat(12), maxBytes: fc.nat(1_000) })
const rows = fc.array(fc.record({ exitedAt: fc.nat(NOW), bytes: fc.nat(100), isDamaged: fc.boolean() }), { maxLength: 20 }).map((all) =>
  all.toSorted((a, b) => a.exitedAt - b.exitedAt).map(({ isDamaged, ...one }, index): Ended & { bytes: number; exitedAt: number } => ({ uuid: String(index), warning: isDamaged ? 'damaged' : null, ...one })))

test('what is left keeps the rules, and nothing went without need', () => {
  fc.assert(fc.property(rules, rows, fc.nat(200), (given, all, others) => {
    const sound = all.filter(({ warning }) => warning === null)
    const total = others + all.reduce((sum, { bytes }) => sum + bytes, 0)
    const collecting = new Collecting(given, { entries: sound.length, bytes: total }, NOW)
    const said = all.map((one) => ({ one, verdict: collecting.judge(one) }))
    const gone = said.filter(({ verdict }) => verdict.verdict === 'collect').map(({ one }) => one)
    const kept = sound.filter((one) => !gone.includes(one))
    for (const { one, verdict } of said) expect(verdict.verdict === 'skip').toBe(one.warning !== null)
    // The oldest go first: what went is the beginning of the sound ones.
    expect(gone).toEqual(sound.slice(0, gone.length))
    const bytes = total - gone.reduce((sum, one) => sum + one.bytes, 0)
    const broken = (left: typeof kept, size: number): boolean =>
      (given.retentionMs > 0 && left.some(({ exitedAt }) => NOW - exitedAt > given.retentionMs)) || (given.maxEntries > 0 && left.length > given.maxEntries) || (given.maxBytes > 0 && size > given.maxBytes)
    expect(kept.length > 0 && broken(kept, bytes)).toBe(false)
    const last = gone.at(-1)
    if (last) expect(broken([last, ...kept], bytes + last.bytes)).toBe(true)
  }), { numRuns: 2_000 })
})
