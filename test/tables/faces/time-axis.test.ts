// The axis of active time: idle spans are narrow, times and places belong to each other, and ticks lie in no fold.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ticksOf, timeAxis, type IdleSpan } from '../../../src/faces/time-axis.ts'

const MINUTE = 60_000
const idle = (from: number, to: number): IdleSpan => ({ from: from * MINUTE, to: to * MINUTE, word: 'held' })

test('a long idle span is as narrow as a short one', () => {
  const axis = timeAxis(0, 620 * MINUTE, [idle(10, 20), idle(30, 610)])
  expect(axis.folds.map(({ start, end }) => [start / MINUTE, end / MINUTE])).toEqual([
    [10, 10.9],
    [20.9, 21.8],
  ])
  expect(axis.length / MINUTE).toBeCloseTo(31.8)
  expect(axis.place(610 * MINUTE) / MINUTE).toBeCloseTo(21.8)
})

test('short spans, and spans outside, are not folded', () => {
  expect(timeAxis(0, MINUTE, [{ from: 10, to: 4_000, word: '' }]).folds).toEqual([])
  expect(timeAxis(0, MINUTE, [idle(2, 3)]).folds).toEqual([])
  expect(timeAxis(5, 5, []).length).toBe(1)
})

test('ticks are round times, at most as many as requested, and in no fold', () => {
  const axis = timeAxis(0, 620 * MINUTE, [idle(10, 20), idle(30, 610)])
  const ticks = ticksOf(axis, 0, axis.length, 8)
  expect(ticks.map((time) => time / MINUTE)).toEqual([0, 5, 25, 615, 620].filter((minute) => ticks.includes(minute * MINUTE)))
  expect(ticks.length).toBeGreaterThan(2)
  expect(ticks.length).toBeLessThanOrEqual(8)
})

const spans = fc
  .uniqueArray(fc.nat(10_000_000), { maxLength: 20 })
  .map((times) => times.toSorted((a, b) => a - b))
  .map((times) => Array.from({ length: times.length >> 1 }, (_, i) => ({ from: times[2 * i] ?? 0, to: times[2 * i + 1] ?? 0, word: '' })))

test('places grow with times, and lead back to them', () => {
  fc.assert(
    fc.property(spans, fc.array(fc.nat(10_000_000), { minLength: 2 }), (idleSpans, times) => {
      const axis = timeAxis(0, 10_000_000, idleSpans)
      const places = times.toSorted((a, b) => a - b).map((time) => axis.place(time))
      for (const [index, place] of places.entries()) expect(place).toBeGreaterThanOrEqual((places[index - 1] ?? 0) - 1e-6)
      for (const time of times) expect(Math.abs(axis.time(axis.place(time)) - time)).toBeLessThan(2)
      expect(axis.place(10_000_000)).toBeCloseTo(axis.length, 3)
      const ticks = ticksOf(axis, 0, axis.length, 10)
      expect(ticks.length).toBeLessThanOrEqual(10)
      for (const tick of ticks) expect(axis.folds.some(({ start, end }) => axis.place(tick) > start && axis.place(tick) < end)).toBe(false)
    }),
  )
})
