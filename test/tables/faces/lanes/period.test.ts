// What happened in a period, from the spans of processes: a lane for each process, and a list of events.
import { expect, test } from 'vitest'
import { activityIn, spentInPeriod } from '../../../../src/faces/lanes/period.ts'
import { HOLD_REASONS } from '../../../../src/kernel/model/words.ts'
import type { SpanView } from '../../../../src/api/views/spans.ts'

const timeAt = (minute: number): string => new Date(Date.UTC(2026, 10, 24, 2, minute)).toISOString()
const span = (from: number, to: number | null, status: SpanView['status'], cause: string | null = null): SpanView => ({
  from: timeAt(from),
  to: to === null ? null : timeAt(to),
  status,
  cause,
})
const process = (uuid: string, parentUuid: string | null, spans: SpanView[]) => ({ uuid, pid: 1, parentUuid, name: uuid, spans })

test('a lane shows what its process did in each part of the period; the list has questions, failures and answers, newest first', () => {
  const { lanes, events } = activityIn(
    [
      process('root', null, [span(-10, 5, 'working'), span(5, 8, 'waiting', 'May I push?'), span(8, null, 'working', 'answered by user')]),
      process('child', 'root', [span(2, 6, 'working'), span(6, null, 'failed', 'exit code 2')]),
      process('old', null, [span(-10, -5, 'working'), span(-5, null, 'completed')]),
    ],
    Date.parse(timeAt(0)),
    Date.parse(timeAt(10)),
  )
  expect(
    lanes.map(({ name, depth, workedMs, waitedMs }) => [name, depth, Math.round(workedMs / 1_000), Math.round(waitedMs / 1_000)]),
  ).toEqual([
    ['root', 0, 420, 180],
    ['child', 1, 240, 0],
  ])
  expect(lanes[0]?.parts.map(({ word, from, to }) => [word, from, to])).toEqual([
    ['worked', 0, 0.5],
    ['waited for you', 0.5, 0.8],
    ['worked', 0.8, 1],
  ])
  expect(events.map(({ name, kind, text }) => `${name} ${kind} ${text}`)).toEqual([
    'root continued answered by user',
    'child failed exit code 2',
    'root asked May I push?',
  ])
})

test('only the last question of each process can still be open', () => {
  const { events } = activityIn(
    [
      process('a', null, [
        span(1, 2, 'waiting', 'first'),
        span(2, 3, 'working'),
        span(3, 4, 'waiting', 'second'),
        span(4, null, 'suspended'),
      ]),
      process('b', null, [span(2, null, 'waiting', 'only')]),
      process('c', null, [span(5, null, 'completed')]),
    ],
    Date.parse(timeAt(0)),
    Date.parse(timeAt(10)),
  )
  expect(events.filter(({ isLastAsk }) => isLastAsk).map(({ name, text }) => `${name} ${text}`)).toEqual(['a second', 'b only'])
})

test('a question before a pause and after it is one question, and an end is no continuation', () => {
  const { events } = activityIn(
    [
      process('a', null, [
        span(1, 2, 'waiting', 'May I?'),
        span(2, 3, 'suspended', 'subtree'),
        span(3, 4, 'waiting', 'released by user'),
        span(4, 5, 'zombie', 'interrupted'),
        span(5, null, 'interrupted'),
      ]),
    ],
    Date.parse(timeAt(0)),
    Date.parse(timeAt(10)),
  )
  expect(events.map(({ kind, text, isLastAsk }) => [kind, text, isLastAsk])).toEqual([
    ['interrupted', 'interrupted', false],
    ['continued', 'resumed by user', false],
    ['held', 'paused with its tree', false],
    ['asked', 'May I?', true],
  ])
})

test('a hold is an event; the time of a stop counts as work', () => {
  const { lanes, events } = activityIn(
    [process('a', null, [span(1, 3, 'suspended', 'budget'), span(3, 4, 'ready'), span(4, 5, 'stopping'), span(5, null, 'stopped')])],
    Date.parse(timeAt(0)),
    Date.parse(timeAt(10)),
  )
  expect(lanes[0]?.parts.map(({ word }) => word)).toEqual(['was held', 'was ready', 'worked', 'had ended'])
  expect(events.map(({ kind }) => kind)).toEqual(['stopped', 'continued', 'held'])
})

test('holds have the words of other pages, and the end of a pause without a user names nobody', () => {
  const { lanes, events } = activityIn(
    [
      process('a', null, [
        span(1, 3, 'suspended', 'daemon-shutdown'),
        span(3, 4, 'working', 'released by system'),
        span(4, 5, 'waiting', 'budget'),
      ]),
    ],
    Date.parse(timeAt(0)),
    Date.parse(timeAt(10)),
  )
  expect(events.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    'asked: budget',
    'continued: the pause ended by itself',
    'held: the daemon was stopped while it worked',
  ])
  expect(lanes[0]?.parts.map(({ text }) => text)).toEqual([
    'was held: the daemon was stopped while it worked',
    'worked: the pause ended by itself',
    'waited for you: budget',
  ])
})

test.each(HOLD_REASONS)('the reason %s is not shown as it is recorded', (reason) => {
  const { events } = activityIn([process('a', null, [span(1, null, 'suspended', reason)])], Date.parse(timeAt(0)), Date.parse(timeAt(10)))
  expect(events[0]?.text).not.toBe(reason)
})

test('the cost grows within each hour, by the clock of the daemon', () => {
  const [from, to] = [Date.UTC(2026, 10, 24, 21, 30), Date.UTC(2026, 10, 25, 1, 30)]
  const hours = [
    { key: '2026-11-25 00:00', costUsd: 2 },
    { key: '2026-11-24 22:00', costUsd: 1 },
    { key: '2026-11-25 02:00', costUsd: null },
  ]
  expect(spentInPeriod(hours, 3_600_000, { from, to })).toEqual([
    { at: 0, usd: 0 },
    { at: 0, usd: 0 },
    { at: 0.125, usd: 1 },
    { at: 0.375, usd: 1 },
    { at: 0.625, usd: 3 },
    { at: 1, usd: 3 },
  ])
  expect(spentInPeriod([], 0, { from, to })).toEqual([])
})
