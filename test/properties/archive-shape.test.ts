// Whatever a daemon may write, an import takes: a fact of any type, as its type allows it, is one of its kind.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyProblem } from '../../src/daemon/archive/body-shape.ts'
import type { FactBody } from '../../src/kernel/facts.ts'
import { Episode } from '../support/kernel/episode.ts'
import { seeded } from '../support/kernel/random.ts'
import { FACT_TYPES, bodyOf } from '../support/store-arbitraries.ts'

test.each(FACT_TYPES)('any %s', (type) => {
  fc.assert(fc.property(bodyOf(type), (body) => { expect(bodyProblem(body)).toBeNull() }), { numRuns: 50 })
})

test('all that a kernel says in a life by chance, read back from JSON', () => {
  fc.assert(fc.property(fc.nat(1_000_000), (seed) => {
    const pick = seeded(seed)
    const episode = new Episode()
    while (episode.inputs < 200) episode.play(pick)
    for (const fact of [...episode.world.journal.values()].flat()) expect(bodyProblem(JSON.parse(JSON.stringify(fact.body)) as FactBody)).toBeNull()
  }), { numRuns: 25 })
}, 60_000)

/** They say what they say by their type alone. */
const BARE: ReadonlySet<string> = new Set(['process.reaped', 'crew.begun', 'crew.stalled', 'crew.ended'])

test.each(FACT_TYPES.filter((type) => !BARE.has(type)))('%s without what it says is none', (type) => {
  expect(bodyProblem({ type } as never)).toMatch(new RegExp(`^it is no ${type}: .* (is missing|must be one of .*)$`))
})
