// The text so far of an unfinished step, which a viewer receives when it begins in the middle of the step.
import { expect, test } from 'vitest'
import { Feed, type Subscription } from '../../../../src/daemon/loop/feed.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Store } from '../../../../src/store/store.ts'
import { uuidOf } from '../../../support/store/facts.ts'

const UUID = uuidOf(1)
const OTHER = uuidOf(2)

function newFeed(): Feed {
  return new Feed({ since: () => Promise.resolve([]) } as Partial<Store> as Store, () => 0)
}

function writeText(feed: Feed, text: string, step = 1): void {
  feed.publishLive(UUID, 5, { type: 'text', step, text })
}

function publishFact(feed: Feed, body: Partial<FactBody>): void {
  feed.publish([{ uuid: UUID, pid: 5, seq: 1, cursor: 1, at: 0, body } as StoredFact])
}

/** Returns the events that a viewer receives at once when it begins now. */
async function firstEvents(feed: Feed, change: Partial<Subscription> = {}): Promise<unknown[]> {
  const abort = new AbortController()
  const events: unknown[] = []
  const subscription = { uuid: UUID, after: 0, live: true, follow: true, signal: abort.signal, ...change }
  // The history is read in one turn of the event loop.
  setImmediate(() => setImmediate(() => abort.abort()))
  for await (const { type, uuid, ...rest } of feed.subscribe(subscription))
    events.push([type, uuid, rest['step'], rest['text'], rest['whole']])
  return events
}

test('the text so far is the first event of a late viewer', async () => {
  const feed = newFeed()
  writeText(feed, 'Let ')
  writeText(feed, 'me see')
  const textSoFar = [['live.text', UUID, 1, 'Let me see', true]]
  expect(await firstEvents(feed)).toEqual(textSoFar)
  expect(await firstEvents(feed, { uuid: null })).toEqual(textSoFar)
  writeText(feed, 'Now', 2)
  expect(await firstEvents(feed)).toEqual([['live.text', UUID, 2, 'Now', true]])
})

test.each([
  ['it follows another process', (feed: Feed) => writeText(feed, 'x'), { uuid: OTHER }],
  ['it did not ask for live events', (feed: Feed) => writeText(feed, 'x'), { live: false }],
  ['only reasoning was written', (feed: Feed) => feed.publishLive(UUID, 5, { type: 'reasoning', step: 1, text: 'x' }), {}],
] as const)('a late viewer gets no text so far: %s', async (_, prepare, change) => {
  const feed = newFeed()
  prepare(feed)
  expect(await firstEvents(feed, change)).toEqual([])
})

test.each(['model.finished', 'model.failed', 'process.ready', 'process.exited'] as const)('%s ends the text', async (type) => {
  const feed = newFeed()
  writeText(feed, 'x')
  publishFact(feed, { type: 'model.started' })
  expect(await firstEvents(feed)).toHaveLength(1)
  publishFact(feed, { type })
  expect(await firstEvents(feed)).toEqual([])
})

test('a late viewer learns how many pieces of a text it has missed that is too long to send', async () => {
  const feed = newFeed()
  for (const text of ['x'.repeat(65_536), 'x', 'x']) writeText(feed, text)
  expect(await firstEvents(feed)).toEqual([['live.gap', UUID, 1, undefined, undefined]])
  writeText(feed, 'Now', 2)
  expect(await firstEvents(feed)).toEqual([['live.text', UUID, 2, 'Now', true]])
})

test('the end of a process ends its text', async () => {
  const feed = newFeed()
  writeText(feed, 'x')
  feed.endStreamsOf(UUID)
  expect(await firstEvents(feed)).toEqual([])
})
