// The filter language of lists.
import { describe, expect, test } from 'vitest'
import { FILTER_KEYS, meetsFilter, parseFilter } from '../../../src/faces/filter.ts'
import { BIRTH, rowMap, rowOf } from '../../support/faces/rows.ts'

const rows = rowMap(
  rowOf({
    uuid: 'a',
    pid: 12,
    name: 'fix',
    kind: 'crew',
    sub: { usd: 6.2, live: 3, working: 1, asking: 1, held: 0, failed: 0, reservedUsd: 0 },
  }),
  rowOf({
    uuid: 'b',
    pid: 14,
    parent: 'a',
    name: 'fix.worker-1',
    agent: 'claude',
    model: 'sonnet-5',
    step: 57,
    ctx: { used: 61, window: 100, compactsAt: null },
    labels: { team: 'parser' },
    branch: 'reeve/fix.worker-1',
  }),
  rowOf({
    uuid: 'c',
    pid: 15,
    parent: 'a',
    name: 'fix.worker-2',
    status: 'waiting',
    asks: 1,
    unseen: true,
    why: { kind: 'ask', text: 'asks: git push --force', since: BIRTH },
  }),
  rowOf({
    uuid: 'd',
    pid: 21,
    name: 'night',
    status: 'failed',
    elapsedMs: 600_000,
    runsSince: null,
    endedAt: BIRTH,
    about: 'the night run',
  }),
)
const NOW = Date.parse(BIRTH) + 5 * 60_000

function pidsOf(filter: string): number[] {
  const parts = parseFilter(filter, rows)
  return [...rows.values()].filter((row) => meetsFilter(parts, row, NOW)).map(({ pid }) => pid)
}

test.each([
  ['', [12, 14, 15, 21]],
  ['fix', [12, 14, 15]],
  ['FIX.worker', [14, 15]],
  ['push', [15]],
  ['"night run"', [21]],
  ['21', [21]],
  ['-fix', [21]],
  ['fix -worker', [12]],
  ['status:failed', [21]],
  ['status:failed,waiting', [15, 21]],
  ['-status:failed', [12, 14, 15]],
  ['kind:crew', [12]],
  ['agent:claude model:sonnet', [14]],
  ['branch:fix.worker-1', [14]],
  ['why:git', [15]],
  ['under:fix', [12, 14, 15]],
  ['under:fix -kind:crew', [14, 15]],
  ['under:14', [14]],
  ['cost:>5', [12]],
  ['cost:>$5', [12]],
  ['cost:<=6.2 cost:>=6.2', [12]],
  ['step:57', [14]],
  ['ctx:>60%', [14]],
  ['ctx:<99', [14]],
  ['age:>10m', []],
  ['age:<10m', [12, 14, 15, 21]],
  ['elapsed:>=10m', [21]],
  ['elapsed:<6m', [12, 14, 15]],
  ['is:asking', [15]],
  ['is:failed,asking', [15, 21]],
  ['is:live is:unseen', [15]],
  ['-is:live', [21]],
  ['label:team', [14]],
  ['label:team=parser', [14]],
  ['label:team=docs', []],
  ['pid:12,21', [12, 21]],
] as const)('`%s` finds %j', (filter, pids) => {
  expect(pidsOf(filter)).toEqual(pids)
})

describe('a part with an error', () => {
  test.each([
    ['colour:red', '"colour" is not a condition; conditions: ' + FILTER_KEYS.join(', ')],
    ['constructor:x', '"constructor" is not a condition; conditions: ' + FILTER_KEYS.join(', ')],
    ['status:', '"status:" needs a value'],
    ['cost:much', 'write a number, such as cost:>5'],
    ['cost:>5m', 'write a number, such as cost:>5'],
    ['age:>10', 'write a duration, such as age:>10m'],
    ['is:tired', '"tired" is unknown; `is:` takes asking, held, live, ended, failed, working, silent, unseen, urgent, pinned, fork'],
    ['under:nobody', 'no process "nobody" is in the list'],
  ])('`%s` is reported: %s', (filter, error) => {
    expect(parseFilter(filter, rows)).toMatchObject([{ text: filter, error }])
  })

  test('is left out, and the other parts decide', () => {
    expect(pidsOf('colour:red is:asking')).toEqual([15])
  })
})
