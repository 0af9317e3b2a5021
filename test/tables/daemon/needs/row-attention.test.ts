// A row's attention is the level of its most urgent need. The row also shows whether the need is unseen or snoozed.
import { expect, test } from 'vitest'
import { attentionOf, lastingNeedsOf } from '../../../../src/daemon/needs/row-attention.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'

const START_AT = 1_700_000_000_000
const START: readonly FactBody[] = [
  { type: 'process.spawned', pid: 7, spec: specOf(), parentUuid: null, depth: 1, by: 'user' },
  { type: 'process.started', mono: 1_000, attached: true, containment: null },
  { type: 'process.ready', turn: 0 },
  { type: 'process.working', turn: 1, message: null },
]
const asked = (id: string, second: number): FactBody => ({
  type: 'process.waiting',
  question: 'q',
  ask: { id, kind: 'question', text: 'q', options: [], callId: null, at: START_AT + second * 1_000 },
})
const SEEN: FactBody = { type: 'process.seen', by: 'user' }
const SNOOZED: FactBody = { type: 'process.snoozed', until: START_AT + 60_000, by: 'user' }
const ENDED: FactBody = { type: 'process.exited', exit: { code: 0, reason: 'completed', cause: 'agent' }, mono: 9_000 }
const FAILED: FactBody = { type: 'process.exited', exit: { code: 1, reason: 'exit code 1', cause: 'agent' }, mono: 9_000 }

/** Returns the attention after these facts. The facts are one second apart; the first of `bodies` comes at second 4. */
function attentionAfter(...bodies: readonly FactBody[]): ReturnType<typeof attentionOf> {
  const process = [...START, ...bodies].reduce<Process | undefined>(
    (before, body, index) => fold(before, { uuid: uuidOf(1), pid: 7, seq: index + 1, at: START_AT + index * 1_000, body }),
    undefined,
  )
  if (!process) throw new Error('no facts')
  return attentionOf(process, lastingNeedsOf(process, { table: new Table(0), mono: 0 }))
}

test.each<[string, readonly FactBody[], number, boolean, boolean]>([
  ['nothing', [], 0, false, false],
  ['a question', [asked('a', 4)], 6, true, false],
  ['a question that was seen', [asked('a', 4), SEEN], 6, false, false],
  ['a question that is snoozed', [asked('a', 4), SNOOZED], 6, true, true],
  ['a later question beside one that is snoozed', [asked('a', 4), SNOOZED, asked('b', 6)], 6, true, false],
  ['a failure', [FAILED], 3, true, false],
  ['an end', [ENDED], 1, true, false],
  ['an end that was seen', [ENDED, SEEN], 0, false, false],
])('after %s, the row has attention %i (unseen: %s, snoozed: %s)', (_, bodies, attention, unseen, isSnoozed) => {
  const snoozedUntil = isSnoozed ? expect.stringMatching(/^20/) : null
  expect(attentionAfter(...bodies)).toEqual({ attention, unseen, snoozedUntil })
})
