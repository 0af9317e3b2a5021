// Compares the kernel with the simple model under random inputs. A failure shrinks to the few inputs that cause it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { step } from '../../src/kernel/decide/step.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { kernelSpec, World } from '../support/kernel/world.ts'
import type { PickNumber } from '../support/kernel/random-inputs.ts'

/** The numbers that select one input; a missing one is 0. */
const inputNumbers = fc.array(fc.nat(9_999), { minLength: 1, maxLength: 16 })

function pickFrom(numbers: readonly number[]): PickNumber {
  let nextIndex = 0
  return (n) => {
    const number = numbers[nextIndex] ?? 0
    nextIndex += 1
    return number % n
  }
}

test('every sequence of inputs keeps the rules and agrees with the model', () => {
  fc.assert(
    fc.property(fc.array(inputNumbers, { maxLength: 120, size: 'max' }), (sequence) => {
      const run = new RandomRun()
      for (const numbers of sequence) run.play(pickFrom(numbers))
      run.checkEnd()
    }),
    { numRuns: 1_000 },
  )
}, 300_000)

test('a decision depends only on the view and the input, and changes neither', () => {
  fc.assert(
    fc.property(fc.array(inputNumbers, { minLength: 5, maxLength: 40, size: 'max' }), (sequence) => {
      const run = new RandomRun()
      for (const numbers of sequence) run.play(pickFrom(numbers))
      const { world } = run
      world.commit()
      const before = JSON.stringify([...world.table.rows()])
      const input = { type: 'hold', uuid: null, reason: 'daemon-shutdown', now: { wall: world.wall, mono: world.mono } } as const
      const firstDecision = step(world.table, input)
      const secondDecision = step(world.table, input)
      expect(secondDecision.changes.facts).toEqual(firstDecision.changes.facts)
      expect(secondDecision.effects).toEqual(firstDecision.effects)
      expect(JSON.stringify([...world.table.rows()])).toBe(before)
    }),
    { numRuns: 60 },
  )
})

test('a decision does not copy the table: a signal is as fast among 5,000 processes as among 50', () => {
  const perStep = (rows: number): number => {
    const world = new World(10_000)
    for (let i = 0; i < rows; i += 1) {
      world.step({ type: 'spawn', reply: i, by: 'user', uuid: `p${i}`, parent: null, spec: kernelSpec() })
      if (i % 100 === 0) world.commit()
    }
    world.commit()
    const durations: number[] = []
    for (let round = 0; round < 15; round += 1) {
      const startMs = performance.now()
      for (let i = 0; i < 200; i += 1) world.step({ type: 'send', reply: i, by: 'user', uuid: `p${i % 50}`, id: 'm', text: 'hello' })
      durations.push(performance.now() - startMs)
      world.commit()
    }
    return durations.toSorted((a, b) => a - b)[2] ?? 0
  }
  // 100 times as many rows; linear work would be about 100 times slower
  expect(perStep(5_000)).toBeLessThan(perStep(50) * 10 + 1)
})
