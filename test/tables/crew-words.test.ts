// What happened in a crew, in words: one row for each fact, so that none is without words, or told where nobody need know.
import { expect, test } from 'vitest'
import { crewWords, TASK_FACTS } from '../../src/api/crew-words.ts'
import { logLines } from '../../src/api/log-lines.ts'
import type { FactBody } from '../../src/kernel/facts.ts'

const C = 'c'.repeat(40)

const ROWS: readonly (readonly [FactBody, about: string | null, what: string, text?: string])[] = [
  [{ type: 'task.added', task: 'a', kind: 'work', title: 'A', text: 'Do it.', needs: [], role: null, reviews: true, by: 'user' }, 'a', 'added by user'],
  [{ type: 'task.added', task: 'a', kind: 'human', title: 'A', text: 'Which?', needs: [], role: null, reviews: true, by: 'coordinator' }, 'a', 'added by coordinator, for a person'],
  [{ type: 'task.added', task: 'a', kind: 'conflict', title: 'A', text: 'x', needs: [], role: null, reviews: true, by: 'system' }, 'a', 'added by system, for a conflict'],
  [{ type: 'task.assigned', task: 'a', member: 'worker-1' }, 'a', 'assigned to worker-1'],
  [{ type: 'task.prepared', task: 'a', base: C }, 'a', 'begins at cccccccccc'],
  [{ type: 'task.prepared', task: 'a', base: null }, 'a', 'ready to begin'],
  [{ type: 'task.reported', task: 'a', member: 'worker-1', summary: 'It is written.' }, 'a', 'worker-1 says that it is done', 'It is written.'],
  [{ type: 'task.review', task: 'a', member: 'worker-2' }, 'a', 'worker-2 reviews it'],
  [{ type: 'task.review', task: 'a', member: 'worker-2', earlier: true }, 'a', 'worker-2 reviews it, who held it once: there is nobody else'],
  [{ type: 'task.briefed', task: 'a' }, 'a', 'the review begins'],
  [{ type: 'task.unreviewed', task: 'a', member: 'worker-2', reason: 'it was lost' }, 'a', 'worker-2 gave no verdict', 'it was lost'],
  [{ type: 'task.verdict', task: 'a', member: 'worker-2', verdict: 'DENIED', comments: 'a.ts:1: no' }, 'a', 'DENIED by worker-2', 'a.ts:1: no'],
  [{ type: 'task.verdict', task: 'a', member: null, verdict: 'APPROVED', comments: '' }, 'a', 'APPROVED by a person'],
  [{ type: 'task.asked', task: 'a', id: 'a.1', for: 'gate', question: 'May it?', options: ['approve'] }, 'a', 'a person is asked', 'May it?'],
  [{ type: 'task.answered', task: 'a', option: 'deny', text: 'no tests' }, 'a', 'answered: deny', 'no tests'],
  [{ type: 'task.answered', task: 'a', option: null, text: 'B' }, 'a', 'answered', 'B'],
  [{ type: 'task.approved', task: 'a', by: null }, 'a', 'may be committed'],
  [{ type: 'task.approved', task: 'a', by: 'user' }, 'a', 'may be committed, says user'],
  [{ type: 'task.committing', task: 'a' }, 'a', 'is being committed'],
  [{ type: 'task.uncommitted', task: 'a', reason: 'nothing is staged' }, 'a', 'is not committed yet', 'nothing is staged'],
  [{ type: 'task.committed', task: 'a', commit: C }, 'a', 'committed as cccccccccc'],
  [{ type: 'task.merged', task: 'a', merged: C }, 'a', 'merged: the branch is at cccccccccc'],
  [{ type: 'task.conflict', task: 'a', conflict: 'b', files: ['x', 'y'] }, 'a', 'a conflict, which b resolves', 'x\ny'],
  [{ type: 'task.requeued', task: 'a', reason: 'it was lost', counts: true }, 'a', 'back in the queue, as a failed try', 'it was lost'],
  [{ type: 'task.requeued', task: 'a', reason: 'a person said so', counts: false }, 'a', 'back in the queue', 'a person said so'],
  [{ type: 'task.done', task: 'a', reason: null }, 'a', 'done'],
  [{ type: 'task.failed', task: 'a', reason: 'needs b, which failed' }, 'a', 'failed', 'needs b, which failed'],
  [{ type: 'task.cancelled', task: 'a', reason: 'not needed' }, 'a', 'cancelled', 'not needed'],
  [{ type: 'task.message', task: 'a', from: 'worker-1', to: 'coordinator', text: 'Which?' }, 'a', 'worker-1 to coordinator', 'Which?'],
  [{ type: 'task.message', task: null, from: 'worker-1', to: 'coordinator', text: 'Hm.' }, null, 'worker-1 to coordinator', 'Hm.'],
  [{ type: 'crew.joined', member: 'worker-1', process: 'u' }, 'worker-1', 'is there'],
  [{ type: 'crew.left', member: 'worker-1', how: 'lost', reason: 'exit code 1' }, 'worker-1', 'lost', 'exit code 1'],
  [{ type: 'crew.replaced', member: 'worker-1', heir: 'worker-3', summary: 'half of it' }, 'worker-1', 'worker-3 takes its place', 'half of it'],
  [{ type: 'crew.full', member: 'worker-1', share: 0.904 }, 'worker-1', 'its context is 90 % full'],
  [{ type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'error', end: 'failed', queued: 0, error: 'the model failed' }, 'worker-1', 'its turn failed', 'the model failed'],
  [{ type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'ok', end: 'through', queued: 0 }, 'worker-1', 'ended its turn without a report'],
  [{ type: 'crew.notified', text: 'the key is missing' }, null, 'to you', 'the key is missing'],
  [{ type: 'crew.ending', outcome: 'completed', summary: 'all is done' }, null, 'completed', 'all is done'],
]

test.each(ROWS.map(([fact, about, what, text = null]) => [fact, { about, what, text }] as const))('%j', (fact, words) => {
  expect(crewWords(fact)).toEqual(words)
})

test('each kind of fact about a task is among them', () => {
  expect(TASK_FACTS.filter((type) => !ROWS.some(([fact]) => fact.type === type))).toEqual([])
})

test.each<FactBody>([
  { type: 'crew.begun' }, { type: 'crew.ended' }, { type: 'crew.stalled' }, { type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'ok', end: 'complete', queued: 0 }, { type: 'process.note', text: 'x' },
])('%j is no news', (fact) => {
  expect(crewWords(fact)).toBeNull()
})

test('a log has a line for each, but for what it says in other words', () => {
  const lines = ROWS.map(([fact]) => [fact.type, logLines('t', fact).map(({ text }) => text)] as const)
  expect(lines.filter(([, text]) => text.length === 0).map(([type]) => type)).toEqual(['task.asked', 'task.answered', 'task.answered', 'crew.joined', 'crew.notified'])
  expect(lines.find(([type]) => type === 'task.verdict')?.[1]).toEqual(['a: DENIED by worker-2: a.ts:1: no'])
  expect(lines.find(([type]) => type === 'task.done')?.[1]).toEqual(['a: done'])
})
