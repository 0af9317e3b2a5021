// The fold computes the same state from any position in a journal, also after a round trip through JSON. A fact that cannot
// follow is refused, never skipped.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fold } from '../../src/kernel/state/fold.ts'
import { KernelError } from '../../src/kernel/model/errors.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import type { Fact, FactBody } from '../../src/kernel/model/facts.ts'
import type { Process } from '../../src/kernel/model/process.ts'

/** Journals of a random life, with the rows that they led to. */
function randomJournals(seed: number, inputs = 150): { readonly facts: readonly Fact[]; readonly row: Process | undefined }[] {
  const pick = makeSeededPick(seed)
  const run = new RandomRun()
  while (run.inputs < inputs) run.play(pick)
  return [...run.world.journal].map(([uuid, facts]) => ({ facts, row: run.world.row(uuid) }))
}

const foldAll = (facts: readonly Fact[], start?: Process): Process | undefined =>
  facts.reduce<Process | undefined>((process, fact) => fold(process, fact), start)
const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'nothing was thrown'
  } catch (error) {
    return error instanceof KernelError ? error.code : String(error)
  }
}

test('the fold of a journal that was read from JSON is the row, also when it continues from any position', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(), (seed, position) => {
      for (const { facts, row } of randomJournals(seed)) {
        const readFacts = JSON.parse(JSON.stringify(facts)) as Fact[]
        expect(foldAll(readFacts)).toEqual(row)
        const splitAt = position % facts.length
        const halfway = foldAll(readFacts.slice(0, splitAt))
        expect(foldAll(readFacts.slice(splitAt), halfway && (JSON.parse(JSON.stringify(halfway)) as Process))).toEqual(row)
      }
    }),
    { numRuns: 25 },
  )
})

test('a journal with a gap or a repetition, or without its first fact, is refused', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(), (seed, position) => {
      const facts =
        randomJournals(seed)
          .map((journal) => journal.facts)
          .toSorted((a, b) => b.length - a.length)[0] ?? []
      fc.pre(facts.length > 2)
      const index = 1 + (position % (facts.length - 2))
      expect(codeOf(() => foldAll(facts.toSpliced(index, 1)))).toBe('INTERNAL')
      expect(codeOf(() => foldAll(facts.toSpliced(index, 0, facts[index] as Fact)))).toBe('INTERNAL')
      expect(codeOf(() => foldAll(facts.slice(1)))).toBe('INTERNAL')
    }),
    { numRuns: 25 },
  )
})

describe('the fold refuses', () => {
  const pick = makeSeededPick(1)
  const makeFact = (seq: number, body: FactBody): Fact => ({ uuid: 'p1', seq, pid: 1, at: 1, body })
  const run = new RandomRun()
  while (!run.world.journal.has('p1')) run.play(pick)
  const created = fold(undefined, run.world.journal.get('p1')?.[0] as Fact)
  const HOLD = { reason: 'user', by: 'user', at: 1 } as const
  const INVALID_BODIES: readonly FactBody[] = [
    { type: 'process.attached', containment: null },
    { type: 'process.ready', turn: 1 },
    { type: 'process.working', turn: 1, message: null },
    { type: 'process.held', hold: HOLD, mono: 1 },
    { type: 'process.released', holds: [HOLD], by: 'user', mono: 1 },
    { type: 'process.drained', inFlight: null },
    { type: 'process.exited', exit: { code: 0, reason: 'completed', cause: 'agent' }, mono: 1 },
    { type: 'process.reaped' },
    { type: 'process.rehydrated', pid: 2 },
  ]
  test.each(INVALID_BODIES)('a fact of type $type directly after the spawn', (body) => {
    expect(codeOf(() => fold(created, makeFact(2, body)))).toBe('INTERNAL')
  })
  test('a second spawn', () => {
    const firstFact = run.world.journal.get('p1')?.[0] as Fact
    expect(codeOf(() => fold(created, makeFact(2, firstFact.body)))).toBe('INTERNAL')
  })
})

test('the row has at most 500 characters of a note, whatever its length in the journal', () => {
  const run = new RandomRun()
  const pick = makeSeededPick(1)
  while (!run.world.journal.has('p1')) run.play(pick)
  const created = fold(undefined, run.world.journal.get('p1')?.[0] as Fact)
  const longNoteRow = fold(created, { uuid: 'p1', seq: 2, pid: 1, at: 1, body: { type: 'process.note', text: 'x'.repeat(10_000) } })
  expect(longNoteRow.note).toHaveLength(500)
})
