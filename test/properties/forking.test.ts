// What a process was at any fact of its journal, read from any checkpoint before it and the facts after that, is what the
// fold of all its facts says; also across forks of forks. A checkpoint that does not say enough is refused, not guessed at.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fold } from '../../src/kernel/fold.ts'
import { forkState, processAt } from '../../src/kernel/forking.ts'
import type { CheckpointFact } from '../../src/kernel/forking.ts'
import type { Fact, ForkState } from '../../src/kernel/facts.ts'
import type { Process } from '../../src/kernel/types.ts'
import { Episode } from '../support/kernel/episode.ts'
import { seeded } from '../support/kernel/random.ts'

/** Journals of a life by chance, with all that forks have of their origins. */
function lived(seed: number, inputs = 250): { readonly row: Process; readonly facts: readonly Fact[] }[] {
  const pick = seeded(seed)
  const episode = new Episode()
  while (episode.inputs < inputs) episode.play(pick)
  return [...episode.world.journal.keys()].flatMap((uuid) => {
    const row = episode.world.row(uuid)
    return row ? [{ row, facts: episode.world.history(uuid) }] : []
  })
}

const isCheckpoint = (fact: Fact): fact is CheckpointFact => fact.body.type === 'checkpoint.written'
/** The last text is for people, and a checkpoint does not have it; who has a session is forked as it is now only. */
const essence = ({ lastText: _, sessionId: __, ...state }: ForkState): object => state

let compared = 0

function compare(row: Process, facts: readonly Fact[], start: number): void {
  const from = facts[start] as Fact
  const checkpoint = isCheckpoint(from) ? from : null
  let at: Process | undefined
  for (const [index, fact] of facts.entries()) {
    at = fold(at, fact)
    if (index < start) continue
    const read = processAt(row, checkpoint, facts.slice(checkpoint ? start + 1 : start, index + 1))
    if (read === null) return expect(checkpoint?.body.state).toBeUndefined()
    expect(essence(forkState(read))).toEqual(essence(forkState(at)))
    expect([read.seq, read.progress.wholeStep, read.progress.openCalls]).toEqual([at.seq, at.progress.wholeStep, at.progress.openCalls])
    compared += 1
  }
}

test('the state at any fact, from any checkpoint or beginning of a fork before it, is the fold of the whole', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), (seed) => {
      for (const { row, facts } of lived(seed)) {
        const starts = facts.flatMap(({ body: { type } }, index) => (type === 'checkpoint.written' || type === 'process.forked' ? [index] : []))
        for (const start of starts) compare(row, facts, start)
      }
    }),
    { numRuns: 60 },
  )
  expect(compared).toBeGreaterThan(0)
}, 120_000)

test('a checkpoint without a state says nothing', () => {
  const row = lived(7)[0]?.row as Process
  const body = { type: 'checkpoint.written', step: 1, ranges: [[1, 9]], turn: 1, openCalls: [] } as const
  expect(processAt(row, { uuid: row.uuid, seq: 9, pid: 1, at: 1, body }, [])).toBeNull()
})
