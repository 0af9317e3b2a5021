// Which events of a stream are selected, and how their texts are cut.
import { expect, test } from 'vitest'
import { checkTypes, cutTexts, filterEvents } from '../../../../../src/daemon/http/events/event-filter.ts'
import type { EventView } from '../../../../../src/api/views/daemon.ts'

const makeEvent = (type: string, fact?: string): EventView => ({
  version: 1,
  seq: 1,
  uuid: 'u',
  pid: 1,
  at: '',
  type,
  ...(fact === undefined ? {} : { fact }),
})

async function* eventsOf(all: readonly EventView[]): AsyncGenerator<EventView> {
  yield* all
}

test('events are selected by their type or their fact; a gap always passes', async () => {
  const all = [
    makeEvent('process.status', 'process.started'),
    makeEvent('process.status', 'process.waiting'),
    makeEvent('live.text'),
    makeEvent('live.gap'),
  ]
  const select = async (types?: readonly string[]): Promise<string[]> => {
    const found: string[] = []
    for await (const { type, ...rest } of filterEvents(eventsOf(all), { types, brief: false })) found.push(String(rest['fact'] ?? type))
    return found
  }
  expect(await select(['process.status'])).toEqual(['process.started', 'process.waiting', 'live.gap'])
  expect(await select(['process.waiting'])).toEqual(['process.waiting', 'live.gap'])
  expect(await select(['tool.finished'])).toEqual(['live.gap'])
  expect(await select()).toHaveLength(4)
})

test('a name that no event has is refused, and the hint has the most similar name', () => {
  expect(() => checkTypes(['process.status', 'process.spawned', 'live.text'])).not.toThrow()
  expect(() => checkTypes(['tool.finishd'])).toThrow(
    expect.objectContaining({ message: 'no event has the type "tool.finishd"', hint: 'Did you mean tool.finished?' }),
  )
})

test('long texts are cut at every depth, with the number of missing characters', () => {
  const long = 'x'.repeat(3_000)
  expect(cutTexts({ a: long, b: [{ c: long }], d: 'short', e: 7, f: null })).toEqual({
    a: `${'x'.repeat(2_048)}[… 952 more characters]`,
    b: [{ c: `${'x'.repeat(2_048)}[… 952 more characters]` }],
    d: 'short',
    e: 7,
    f: null,
  })
})
