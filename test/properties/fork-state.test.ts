// The state of a process at any fact of its journal can be read from an earlier checkpoint and later facts. This state equals the fold of
// all facts, also across forks of forks. An incomplete checkpoint is refused.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fold } from '../../src/kernel/state/fold.ts'
import { forkState, processAt } from '../../src/kernel/decide/fork.ts'
import type { CheckpointFact } from '../../src/kernel/decide/fork.ts'
import type { Fact, ForkState } from '../../src/kernel/model/facts.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'

/** Plays random inputs. Returns each process with its journal, which begins with the facts that a fork shares with its origin. */
function randomJournals(seed: number, inputs = 250): { readonly row: Process; readonly facts: readonly Fact[] }[] {
  const pick = makeSeededPick(seed)
  const run = new RandomRun()
  while (run.inputs < inputs) run.play(pick)
  return [...run.world.journal.keys()].flatMap((uuid) => {
    const row = run.world.row(uuid)
    return row ? [{ row, facts: run.world.history(uuid) }] : []
  })
}

const isCheckpoint = (fact: Fact): fact is CheckpointFact => fact.body.type === 'checkpoint.written'
/**
 * Leaves out the two fields that a state from a checkpoint need not have. Only users read the last text, so a checkpoint does not store it.
 * It stores no session id either: a process with a session can be forked only at its last fact.
 */
const comparableState = ({ lastText: _, sessionId: __, ...state }: ForkState): object => state

let comparisonCount = 0

function compareStates(row: Process, facts: readonly Fact[], start: number): void {
  const startFact = facts[start] as Fact
  const checkpoint = isCheckpoint(startFact) ? startFact : null
  let expected: Process | undefined
  for (const [index, fact] of facts.entries()) {
    expected = fold(expected, fact)
    if (index < start) continue
    const stateRead = processAt(row, checkpoint, facts.slice(checkpoint ? start + 1 : start, index + 1))
    if (stateRead === null) return expect(checkpoint?.body.state).toBeUndefined()
    expect(comparableState(forkState(stateRead))).toEqual(comparableState(forkState(expected)))
    expect([stateRead.seq, stateRead.progress.wholeStep, stateRead.progress.openCalls]).toEqual([
      expected.seq,
      expected.progress.wholeStep,
      expected.progress.openCalls,
    ])
    comparisonCount += 1
  }
}

test('the state at any fact, from any earlier checkpoint or start of a fork, is the fold of the whole journal', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), (seed) => {
      for (const { row, facts } of randomJournals(seed)) {
        const starts = facts.flatMap(({ body: { type } }, index) =>
          type === 'checkpoint.written' || type === 'process.forked' ? [index] : [],
        )
        for (const start of starts) compareStates(row, facts, start)
      }
    }),
    { numRuns: 60 },
  )
  expect(comparisonCount).toBeGreaterThan(0)
}, 300_000)

test('a checkpoint without a state is refused', () => {
  const row = randomJournals(7)[0]?.row as Process
  const body = { type: 'checkpoint.written', step: 1, ranges: [[1, 9]], turn: 1, openCalls: [] } as const
  expect(processAt(row, { uuid: row.uuid, seq: 9, pid: 1, at: 1, body }, [])).toBeNull()
})
