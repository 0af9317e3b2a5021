// Which of the ended go, by which rule: each rule alone, off, together, and rows that cannot be judged.
import { describe, expect, test } from 'vitest'
import { Collecting, isOff, type Ended, type GcRules } from '../../src/kernel/collecting.ts'

const NOW = 1_000_000
const OFF: GcRules = { retentionMs: 0, maxEntries: 0, maxBytes: 0 }
const row = (age: number, more: Partial<Ended> = {}): Ended => ({ uuid: `a${age}`, exitedAt: NOW - age, bytes: 10, warning: null, ...more })

/** Ages of five processes, the oldest first; 10 bytes each in a store of 100. */
const FIVE = [500, 400, 300, 200, 100].map((age) => row(age))
const verdicts = (rules: Partial<GcRules>, rows: readonly Ended[] = FIVE): string[] => {
  const collecting = new Collecting({ ...OFF, ...rules }, { entries: rows.filter(({ warning, exitedAt }) => warning === null && exitedAt !== null).length, bytes: 100 }, NOW)
  return rows.map((one) => {
    const said = collecting.judge(one)
    return said.verdict === 'collect' ? said.rule : said.verdict === 'skip' ? `skip: ${said.warning}` : 'keep'
  })
}

describe('rules', () => {
  test.each<[string, Partial<GcRules>, string[]]>([
    ['all off', {}, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['age', { retentionMs: 300 }, ['retention_days', 'retention_days', 'keep', 'keep', 'keep']],
    ['an age that nobody has', { retentionMs: 500 }, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['number', { maxEntries: 2 }, ['max_entries', 'max_entries', 'max_entries', 'keep', 'keep']],
    ['as many as may be', { maxEntries: 5 }, ['keep', 'keep', 'keep', 'keep', 'keep']],
    ['size', { maxBytes: 75 }, ['max_bytes', 'max_bytes', 'max_bytes', 'keep', 'keep']],
    ['a size that cannot be reached', { maxBytes: 1 }, ['max_bytes', 'max_bytes', 'max_bytes', 'max_bytes', 'max_bytes']],
    ['age before number', { retentionMs: 450, maxEntries: 3 }, ['retention_days', 'max_entries', 'keep', 'keep', 'keep']],
    ['what age took counts for number', { retentionMs: 250, maxEntries: 2 }, ['retention_days', 'retention_days', 'retention_days', 'keep', 'keep']],
    ['all three', { retentionMs: 450, maxEntries: 4, maxBytes: 75 }, ['retention_days', 'max_bytes', 'max_bytes', 'keep', 'keep']],
  ])('%s', (_what, rules, expected) => {
    expect(verdicts(rules)).toEqual(expected)
  })

  test('off is off only when all are', () => {
    expect(isOff(OFF)).toBe(true)
    for (const key of ['retentionMs', 'maxEntries', 'maxBytes'] as const) expect(isOff({ ...OFF, [key]: 1 })).toBe(false)
  })
})

describe('rows that cannot be judged', () => {
  test('are passed over with the reason, and count for nothing', () => {
    const rows = [row(500, { warning: 'the row is not what was written' }), row(400), row(300, { exitedAt: null }), row(200), row(100)]
    expect(verdicts({ maxEntries: 2 }, rows)).toEqual(['skip: the row is not what was written', 'max_entries', 'skip: it has no time of death', 'keep', 'keep'])
  })

  test('one whose size is not known goes by the others\' rules, and gives back nothing that could be counted', () => {
    const rows = [row(500, { bytes: null }), row(400), row(300)]
    expect(verdicts({ maxBytes: 95 }, rows)).toEqual(['max_bytes', 'max_bytes', 'keep'])
  })
})
