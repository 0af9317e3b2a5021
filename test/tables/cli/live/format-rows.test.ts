// The rows of a followed process and its children below its output: the parts that fit, and their order.
import { describe, expect, test } from 'vitest'
import { childLines, stateLine, type RowStyle } from '../../../../src/cli/live/format-rows.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'
import type { RowView } from '../../../../src/api/views/rows.ts'
import { BIRTH, rowOf } from '../../../support/faces/rows.ts'

const STYLE: RowStyle = { columns: 80, ascii: false, ellipsis: '…', pauseMark: '⏸', paintMessage: (_, text) => text }
const noActivity = (): string => ''
/** four seconds after the birth of the row */
const NOW = Date.parse(BIRTH) + 4_000
const tokensWith = (changes: Partial<RowView['tokens']>): RowView['tokens'] => ({ ...rowOf().tokens, ...changes })
const costOf = (usd: number): RowView['cost'] => ({ usd, unpriced: false, estimated: false })

describe('the row of a process', () => {
  const rowText = (changes: Partial<RowView>, activity: (columns: number) => string = noActivity, columns = 80): string =>
    stateLine(rowOf(changes), activity, NOW, { ...STYLE, columns })
  const longFields: Partial<RowView> = {
    step: 3,
    elapsedMs: 246_000,
    queue: 1,
    tokens: tokensWith({ input: 4000, cacheRead: 6000, output: 1234 }),
    ctx: { used: 34_000, window: 100_000, compactsAt: null },
    cost: costOf(0.04),
  }
  const budget = { limit: 'budgetUsd', used: 0, reserved: 0, of: 2, warnAt: 0.8 } as const
  const npmActivity = (columns: number): string => 'bash npm test 12s'.slice(0, columns)

  test.each([
    [
      { step: 2, tokens: tokensWith({ input: 1200, cacheRead: 800, output: 300 }), cost: costOf(0.0123) },
      noActivity,
      80,
      '● working  4s  step 2  2.0k in (40% cached)  300 out  $0.0123',
    ],
    [
      longFields,
      npmActivity,
      120,
      '● working  4m 10s  step 3  10.0k in (60% cached)  1.2k out  context 34%  $0.0400  1 queued  bash npm test 12s',
    ],
    [longFields, npmActivity, 80, '● working  4m 10s  step 3  context 34%  $0.0400  1 queued  bash npm test 12s'],
    [longFields, npmActivity, 40, '● working  4m 10s  bash npm test 12s'],
    [longFields, npmActivity, 20, '● working  bash npm'],
    [{ status: 'suspended', elapsedMs: 4_000, runsSince: null }, noActivity, 80, '⏸ suspended  4s'],
    [{ status: 'pending', queue: 1, runsSince: null }, noActivity, 80, '● pending  0s'],
    [{ budget }, noActivity, 80, '● working  4s  $0.00 of $2'],
    [{ budget: { ...budget, limit: 'maxSteps', used: 4, of: 60 } }, noActivity, 80, '● working  4s  4 of 60 steps'],
  ] as const)('shows the most important parts that fit into $2 columns: $3', (changes, activity, columns, text) => {
    expect(rowText(changes, activity, columns)).toBe(text)
  })

  test('leaves the last column free, because the terminal would wrap it', () => {
    for (let columns = 1; columns < 130; columns++)
      expect(displayWidth(rowText(longFields, npmActivity, columns))).toBeLessThan(Math.max(2, columns))
  })

  test('has an ASCII mark on an ASCII terminal', () => {
    expect(stateLine(rowOf(), noActivity, NOW, { ...STYLE, ascii: true })).toMatch(/^\* working/)
  })
})

describe('the rows of children', () => {
  const makeChild = (pid: number, changes: Partial<RowView> = {}): RowView => rowOf({ pid, name: `c${pid}`, ...changes })

  test('are aligned, and contain no control characters', () => {
    const rows = childLines(
      [
        makeChild(6, { name: '漢字', note: 'a\x1b[2J\nb', step: 2, cost: costOf(0.0123) }),
        makeChild(12, { status: 'suspended', elapsedMs: 4_000, runsSince: null }),
        makeChild(13, { doing: { step: 1, what: 'tool', name: 'bash', input: 'npm test', since: BIRTH } }),
      ],
      NOW,
      STYLE,
    )
    expect(rows).toEqual([
      '  PID 6 漢字  working      4s  step 2  $0.0123  a b',
      '  PID 12 c12  ⏸ suspended  4s',
      '  PID 13 c13  working      4s                   bash npm test 4s',
    ])
  })

  test('are at most eight, and the last row counts the rest', () => {
    const rows = childLines(
      Array.from({ length: 10 }, (_, i) => makeChild(i + 1)),
      NOW,
      STYLE,
    )
    expect([rows.length, rows.at(-1)]).toEqual([9, '  +2 more'])
  })
})
