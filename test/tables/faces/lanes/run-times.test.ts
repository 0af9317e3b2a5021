// The nodes of a run on an axis of time.
import { expect, test } from 'vitest'
import type { NodeProcessView } from '../../../../src/api/views/compose.ts'
import type { SpanView } from '../../../../src/api/views/spans.ts'
import { runTimes } from '../../../../src/faces/lanes/run-times.ts'

const START = Date.UTC(2026, 10, 24, 2)
const timeAt = (minute: number): string => new Date(START + minute * 60_000).toISOString()
const span = (from: number, to: number | null, status: SpanView['status']): SpanView => ({
  from: timeAt(from),
  to: to === null ? null : timeAt(to),
  status,
  cause: null,
})
const node = (name: string, needs: string[], elapsedMs: number | null) => ({
  name,
  needs,
  process: elapsedMs === null ? null : ({ uuid: `process of ${name}`, elapsedMs } as NodeProcessView),
})
const process = (name: string, spans: SpanView[]) => ({ uuid: `process of ${name}`, pid: 1, parentUuid: 'run', name: null, spans })

const nodes = [
  node('test', ['docs', 'build'], null),
  node('docs', ['plan'], 60_000),
  node('build', ['plan'], 360_000),
  node('plan', [], 120_000),
]
const spans = [
  process('plan', [span(0, 2, 'working'), span(2, null, 'completed')]),
  process('docs', [span(5, 6, 'working'), span(6, 8, 'waiting'), span(8, null, 'working')]),
  process('build', [span(2, 4, 'working'), span(4, null, 'suspended')]),
]

test('shows when each node could begin, and what it did, in the order of ranks and starts', () => {
  const times = runTimes({ createdAt: timeAt(0), exitedAt: null, nodes }, spans, START + 10 * 60_000)
  expect(times.nodes.map(({ name, wait, isCritical, text }) => ({ name, wait, isCritical, text }))).toEqual([
    { name: 'plan', wait: null, isCritical: true, text: 'worked 2m 00s' },
    { name: 'build', wait: null, isCritical: true, text: 'worked 2m 00s, was held 6m 00s' },
    { name: 'docs', wait: { from: 0.2, to: 0.5 }, isCritical: false, text: 'worked 3m 00s, waited for you 2m 00s' },
    { name: 'test', wait: null, isCritical: expect.any(Boolean), text: '' },
  ])
  expect(times.nodes[2]?.parts.map(({ word, from, to }) => [word, from, to])).toEqual([
    ['worked', 0.5, 0.6],
    ['waited for you', 0.6, 0.8],
    ['worked', 0.8, 1],
  ])
  expect(times.ticks).toEqual(
    [0, 2, 4, 6, 8, 10].map((minute) => ({ at: minute / 10, text: minute === 0 ? '0s' : `${minute}m 00s` })).slice(0, times.ticks.length),
  )
})

test('the axis of an ended run ends with it, and a run without processes has no bars', () => {
  const ended = runTimes({ createdAt: timeAt(0), exitedAt: timeAt(4), nodes: [node('plan', [], 120_000)] }, spans, START + 10 * 60_000)
  expect(ended.nodes[0]?.parts).toMatchObject([{ from: 0, to: 0.5 }])
  const empty = runTimes({ createdAt: timeAt(0), exitedAt: timeAt(0), nodes: [node('plan', [], null)] }, [], START)
  expect(empty).toMatchObject({ nodes: [{ name: 'plan', parts: [], wait: null, text: '' }] })
})
