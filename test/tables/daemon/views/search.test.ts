// The bounds of a search: its time, its client and the size of its pages, with a clock that the test sets.
import { expect, test } from 'vitest'
import { searchTranscripts } from '../../../../src/daemon/views/search.ts'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import type { StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const uuid = '01960000-0000-7000-8000-000000000001'
const process = { uuid, pid: 1, spec: { name: 'a' } } as unknown as Process
const QUERY = { text: 'needle', ignoreCase: false, limit: 10 }

/** A store with endless output, each page of which takes some time. */
function createEndlessStore(msPerFact: number) {
  let now = 0
  const pageSizes: number[] = []
  const tail = (_: string, limit: number): Promise<StoredFact[]> => {
    pageSizes.push(limit)
    now += limit * msPerFact
    return Promise.resolve(
      Array.from({ length: limit }, (_, index) => ({
        cursor: 1,
        uuid,
        seq: 1_000_000 + index,
        pid: 1,
        at: 1,
        body: { type: 'process.output' as const, stream: 'stdout' as const, text: 'hay' },
      })),
    )
  }
  const mono = (): number => now
  const deps = {
    store: { tail, dead: () => Promise.resolve([]) },
    reads: { livingProcesses: () => [process], find: () => Promise.resolve(undefined) },
    slices: new EventLoopTurns(mono).newQueue(),
    mono,
  }
  return { deps, pageSizes, mono }
}

test('a search ends after a minute, and reports that', async () => {
  const { deps, mono } = createEndlessStore(10)
  expect(await searchTranscripts(deps, QUERY, null, new AbortController().signal)).toEqual({
    version: 1,
    matches: [],
    processes: 1,
    cutBy: 'time',
  })
  expect(mono()).toBeLessThan(61_000)
})

test('a search ends when its client has gone', async () => {
  const { deps, mono } = createEndlessStore(1)
  const client = new AbortController()
  const tail = deps.store.tail
  deps.store.tail = (...args) => {
    if (mono() > 100) client.abort()
    return tail(...args)
  }
  await searchTranscripts(deps, QUERY, [process], client.signal)
  expect(mono()).toBeLessThan(200)
})

test.each([
  [10, 1],
  [1, 4],
  [0.001, 32],
])('with %d ms per fact a page has %d facts', async (msPerFact, size) => {
  const { deps, pageSizes } = createEndlessStore(msPerFact)
  const client = new AbortController()
  const tail = deps.store.tail
  deps.store.tail = (...args) => {
    if (pageSizes.length === 20) client.abort()
    return tail(...args)
  }
  await searchTranscripts(deps, QUERY, [process], client.signal)
  expect(pageSizes.at(-1)).toBe(size)
})
