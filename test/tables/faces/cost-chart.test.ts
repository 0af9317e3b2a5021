// The chart of a usage report: which groups have a part of their own, times without usage, the marks of the axis, and the signs of a cost.
import { describe, expect, test } from 'vitest'
import type { UsageReportView, UsageRowView } from '../../../src/api/views/usage.ts'
import { costChart, costWithSigns, groupName } from '../../../src/faces/cost-chart.ts'

const row = (key: string, part: string | null, costUsd: number | null, more: Partial<UsageRowView> = {}): UsageRowView => ({
  key,
  part,
  root: null,
  processes: 1,
  steps: 2,
  inputTokens: 1_000,
  outputTokens: 100,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd,
  unpriced: costUsd === null,
  estimated: false,
  ...more,
})
const period = { costUsd: 0, budgetUsd: null, endsAt: '2026-11-25T00:00:00.000Z' }
const report = (rows: UsageRowView[], more: Partial<UsageReportView> = {}): UsageReportView => ({
  version: 1,
  by: 'day',
  split: 'model',
  label: null,
  since: null,
  until: null,
  under: null,
  rows,
  more: 0,
  unread: 0,
  home: { day: period, month: period },
  total: row('', null, 0),
  ...more,
})

describe('the signs of a cost', () => {
  test.each([
    [{ costUsd: 1.5, unpriced: false, estimated: false, steps: 1 }, '$1.50'],
    [{ costUsd: 1.5, unpriced: true, estimated: false, steps: 1 }, '$1.50+'],
    [{ costUsd: 1.5, unpriced: true, estimated: true, steps: 1 }, '~$1.50+'],
    [{ costUsd: null, unpriced: true, estimated: false, steps: 1 }, '?'],
    [{ costUsd: 0, unpriced: false, estimated: false, steps: 1 }, '$0.00'],
    [{ costUsd: 0, unpriced: false, estimated: false, steps: 0 }, '-'],
  ])('%j is %s', (sum, text) => {
    expect(costWithSigns(sum)).toBe(text)
  })
})

describe('the name of a group', () => {
  const root = { uuid: 'u', pid: 1, name: null, agent: 'claude', removed: true }
  test.each([
    ['agent', 'claude', null, 'claude'],
    ['model', '', null, 'not known'],
    ['label', '', null, 'without a value'],
    ['tree', 'u', root, 'claude (removed)'],
    ['process', 'u', { ...root, name: 'fix', removed: false }, 'fix'],
  ] as const)('%s %j is %s', (by, key, rootOfGroup, name) => {
    expect(groupName(by, key, rootOfGroup)).toBe(name)
  })
})

describe('the columns', () => {
  test('have a part for each group in the order of their sizes, and a time without usage is empty', () => {
    const { series, columns, ticks } = costChart(
      report([row('2026-11-20', 'a', 1), row('2026-11-20', 'b', 2.5), row('2026-11-22', 'b', null)]),
      'cost',
      { to: '2026-11-23' },
    )
    expect(series.map(({ name }) => name)).toEqual(['b', 'a'])
    expect(columns.map(({ time, values }) => [time, ...values])).toEqual([
      ['2026-11-20', 2.5, 1],
      ['2026-11-21', 0, 0],
      ['2026-11-22', 0, 0],
      ['2026-11-23', 0, 0],
    ])
    expect(columns.map(({ text }) => text)).toEqual(['$3.50 · b $2.50 · a $1.00', '-', '? · b ?', '-'])
    expect(ticks.map(({ text }) => text)).toEqual(['$0', '$2', '$4'])
  })

  test('join the small groups', () => {
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((part, index) => row('2026-11-20', part, 7 - index))
    const { series, columns } = costChart(report(rows), 'cost')
    expect(series.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', '2 others'])
    expect(columns[0]?.values).toEqual([7, 6, 5, 4, 3, 3])
  })

  test('of hours continue past midnight; a chart of steps has only whole numbers on its axis', () => {
    const rows = [row('2026-11-20 23:00', 'a', 1, { steps: 1 }), row('2026-11-21 01:00', 'a', 1, { steps: 2 })]
    const { columns, ticks } = costChart(report(rows, { by: 'hour' }), 'steps')
    expect(columns.map(({ time, value }) => [time, value])).toEqual([
      ['2026-11-20 23:00', 1],
      ['2026-11-21 00:00', 0],
      ['2026-11-21 01:00', 2],
    ])
    expect(ticks.map(({ text }) => text)).toEqual(['0', '1', '2'])
  })

  test('are none without usage', () => {
    expect(costChart(report([]), 'tokens')).toEqual({ series: [], columns: [], ticks: [{ value: 0, text: '0' }] })
  })
})
