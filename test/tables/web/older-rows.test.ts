// The rows of processes that ended over 24 hours ago, in the page: which stay when the stream no longer sends them.
import { expect, test } from 'vitest'
import type { RowEvent } from '../../../src/api/row-events.ts'
import type { RowView } from '../../../src/api/views/rows.ts'
import { isUnseenEnd } from '../../../src/faces/attention.ts'
import { meetsFilter, parseFilter } from '../../../src/faces/filter.ts'
import { OlderRows } from '../../../web/fleet/older-rows.ts'
import { BIRTH, rowMap, rowOf, sumsOf } from '../../support/faces/rows.ts'

const HOUR_MS = 3_600_000
const NOW = Date.parse(BIRTH) + 100 * HOUR_MS
const STATE = { cursor: 'a-1', seq: 1 }
const endedBefore = (hours: number, uuid: string): RowView =>
  rowOf({ uuid, state: 'dead', status: 'failed', endedAt: new Date(NOW - hours * HOUR_MS).toISOString(), unseen: true })

const OLD = endedBefore(48, 'old')
const DAY_OLD = endedBefore(24, 'day-old')
const RECENT = endedBefore(1, 'recent')
const LIVE = rowOf({ uuid: 'live' })

const gone = (...uuids: string[]): RowEvent => ({ ...STATE, type: 'rows', up: [], gone: uuids })
const up = (...rows: RowView[]): RowEvent => ({ ...STATE, type: 'rows', up: rows, gone: [] })
const removed = (...uuids: string[]): RowEvent => ({ ...STATE, type: 'rows', up: [], gone: [], removed: uuids })
const reset = (...rows: RowView[]): RowEvent => ({
  ...STATE,
  type: 'reset',
  now: new Date(NOW).toISOString(),
  rows,
  sums: sumsOf(1),
  needs: [],
})

test.each<[string, 'none' | 'read' | 'all', readonly RowEvent[], string]>([
  ['nothing was read', 'none', [gone('day-old', 'recent')], 'live'],
  ['an older row stays when all are replaced', 'read', [reset(LIVE)], 'live old*'],
  [
    'an older row that has changed stays when the stream drops it',
    'read',
    [up({ ...OLD, unseen: false }), gone('old')],
    'live day-old recent old*',
  ],
  ['a row that becomes too old is hidden like the others', 'read', [gone('day-old')], 'live recent old*'],
  ['a row that becomes too old stays while all are shown', 'all', [gone('day-old')], 'live recent old* day-old*'],
  ['a row that becomes too old between two streams stays', 'all', [reset(LIVE, RECENT)], 'live recent old* day-old*'],
  ['a recent row that is gone does not stay', 'all', [gone('recent')], 'live day-old old*'],
  ['an older row whose process was removed is gone', 'all', [removed('old')], 'live day-old recent'],
  [
    'so is a row that was removed when it became too old',
    'all',
    [{ ...removed('day-old'), gone: ['day-old'] } as RowEvent],
    'live recent old*',
  ],
  ['a row that the stream sends is not an older one', 'all', [up(OLD)], 'live day-old recent old'],
  ['a process that is resumed is not an older one', 'all', [up({ ...OLD, endedAt: null }), gone('old')], 'live day-old recent'],
])('%s', (_, request, events, expected) => {
  const rows = rowMap(LIVE, DAY_OLD, RECENT)
  const older = new OlderRows()
  if (request !== 'none') older.add(rows, [OLD])
  if (request === 'all') older.keepAll()
  for (const event of events) older.apply(rows, event, NOW)
  const shown = [...rows.keys()].map((uuid) => `${uuid}${older.has(uuid) ? '*' : ''}`)
  expect(shown.toSorted()).toEqual(expected.split(' ').toSorted())
})

test('older rows have what the stream sent last, and can be hidden', () => {
  const rows = rowMap(LIVE, DAY_OLD)
  const older = new OlderRows()
  expect(older.add(rows, [OLD, { ...DAY_OLD, unseen: false }])).toEqual(['old'])
  older.keepAll()
  for (const event of [up({ ...OLD, unseen: false }), gone('old', 'day-old')]) older.apply(rows, event, NOW)
  expect([rows.get('old')?.unseen, rows.get('day-old')?.unseen]).toEqual([false, false])
  expect(older.drop(rows)).toEqual(['old', 'day-old'])
  expect([...rows.keys()]).toEqual(['live'])
})

test('the filter for unseen ends names those that are counted: older ones count as seen', () => {
  const rows = rowMap(LIVE, DAY_OLD, RECENT)
  const older = new OlderRows()
  older.add(rows, [OLD])
  older.keepAll()
  older.apply(rows, gone('day-old'), NOW)
  const parts = parseFilter('is:ended is:unseen', rows)
  const filtered = [...rows.values()].filter((row) => meetsFilter(parts, row, NOW))
  const counted = [...rows.values()].filter((row) => !older.has(row.uuid) && isUnseenEnd(row))
  expect([filtered, counted].map((found) => found.map(({ uuid }) => uuid))).toEqual([['recent'], ['recent']])
})
