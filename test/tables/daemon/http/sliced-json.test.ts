// Long responses are serialized in time slices, and their text equals that of JSON.stringify. The test counts turns of the event loop.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasLongList, jsonInSlices } from '../../../../src/daemon/http/sliced-json.ts'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import { countTurnsDuring, makeAdvancingClock } from '../../../support/loop-turns.ts'

const anything = fc.oneof(fc.anything({ withNullPrototype: false }), fc.constant(undefined)).filter((value) => {
  try {
    JSON.stringify(value)
    return true
  } catch {
    return false
  }
})

test('the text equals that of JSON.stringify', async () => {
  const slices = new EventLoopTurns(() => 0).newQueue()
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.string().filter((name) => name !== 'toJSON'),
        fc.oneof(anything, fc.array(anything)),
      ),
      async (answer) => {
        expect(await jsonInSlices(answer, slices)).toBe(JSON.stringify(answer))
      },
    ),
  )
})

test('a long list is serialized in many turns of the event loop', async () => {
  const answer = { version: 1, rows: Array.from({ length: 200 }, (_, row) => ({ row })) }
  const { result, turns } = await countTurnsDuring(() => jsonInSlices(answer, new EventLoopTurns(makeAdvancingClock()).newQueue()))
  expect(result).toBe(JSON.stringify(answer))
  expect(turns).toBeGreaterThan(10)
})

test('only a response with a long list is serialized in slices', () => {
  expect([{ rows: Array.from({ length: 51 }) }, { rows: [1, 2] }, [1], 'text', null, undefined].map(hasLongList)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})
