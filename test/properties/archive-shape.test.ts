// An import accepts every fact that a daemon may write. A fact of any type, generated from its type, passes the check of its shape.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { factBodyProblem } from '../../src/daemon/archive/fact-shape.ts'
import type { FactBody } from '../../src/kernel/model/facts.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { FACT_TYPES, bodyOf } from '../support/store/arbitraries.ts'

test.each(FACT_TYPES)('an import accepts any %s', (type) => {
  fc.assert(
    fc.property(bodyOf(type), (body) => {
      expect(factBodyProblem(body)).toBeNull()
    }),
    { numRuns: 50 },
  )
})

test('an import accepts all facts of a random life of the kernel, read back from JSON', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), (seed) => {
      const pick = makeSeededPick(seed)
      const run = new RandomRun()
      while (run.inputs < 200) run.play(pick)
      for (const fact of [...run.world.journal.values()].flat())
        expect(factBodyProblem(JSON.parse(JSON.stringify(fact.body)) as FactBody)).toBeNull()
    }),
    { numRuns: 25 },
  )
})

/** Facts without fields besides their type. */
const TYPES_WITHOUT_FIELDS: ReadonlySet<string> = new Set(['process.reaped', 'crew.begun', 'crew.stalled', 'crew.ended'])

test.each(FACT_TYPES.filter((type) => !TYPES_WITHOUT_FIELDS.has(type)))('an import refuses a %s without its fields', (type) => {
  expect(factBodyProblem({ type } as never)).toMatch(new RegExp(`^it is not a valid ${type}: .* (is missing|must be one of .*)$`))
})
