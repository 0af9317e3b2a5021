// Long reads: what a process said and did, of a history with large facts, which must not all be in memory at once.
// A real store; what is asked of it is counted.
import { expect, test } from 'vitest'
import { systemClock } from '../../src/daemon/clock.ts'
import { Reads } from '../../src/daemon/reads.ts'
import { Table } from '../../src/daemon/table.ts'
import type { FactBody, StoredFact } from '../../src/kernel/facts.ts'
import type { Store } from '../../src/store/store.ts'
import { Scribe, uuidOf } from '../support/store-facts.ts'
import { testStore } from '../support/store-open.ts'

const A = uuidOf(1)
const NOTES = 400
const MOST_AT_ONCE = 100

const note = (number: number): FactBody => ({ type: 'process.note', text: `note ${number}` })

/** The same store; `most` is how many facts were given at once. */
function counting(store: Store): { readonly store: Store; most(): number; given(): number } {
  let [most, given] = [0, 0]
  const count = (facts: readonly StoredFact[]): readonly StoredFact[] => {
    most = Math.max(most, facts.length)
    given += facts.length
    return facts
  }
  const counted: Pick<Store, 'facts' | 'tail'> = {
    facts: async (...asked) => count(await store.facts(...asked)),
    tail: async (...asked) => count(await store.tail(...asked)),
  }
  return { store: new Proxy(store, { get: (target, key) => (key in counted ? counted[key as keyof typeof counted] : (target[key as keyof Store] as CallableFunction).bind(target)) }), most: () => most, given: () => given }
}

test('logs and steps of a long history are read in small pages, and no more of it than is shown', async () => {
  await using at = await testStore()
  const scribe = new Scribe()
  await at.store.commit(scribe.spawn(A))
  for (let number = 0; number < NOTES; number += 50) await at.store.commit(scribe.write(A, ...Array.from({ length: 50 }, (_, index) => note(number + index))))
  const counted = counting(at.store)
  const reads = new Reads(new Table(10), counted.store, systemClock)
  const process = await reads.get(A)
  const all = Array.from({ length: NOTES }, (_, index) => `note ${index}`)
  const { lines, cursor } = await reads.logs(process, 10)
  expect([lines.map(({ text }) => text), cursor]).toEqual([all.slice(-10), NOTES + 2])
  expect(counted.given()).toBeLessThan(MOST_AT_ONCE)
  expect((await reads.logs(process, 10_000)).lines.map(({ text }) => text)).toEqual(all)
  expect(await reads.logs(process, 0)).toEqual({ lines: [], cursor: NOTES + 2 })
  expect(await reads.steps(process, 0, 100)).toEqual([])
  expect(counted.most()).toBeLessThan(MOST_AT_ONCE)
})
