// The texts of crew events: every fact about a task has a text, and unimportant facts have none.
import { expect, test } from 'vitest'
import { crewEventText, TASK_FACTS } from '../../../../src/api/text/crew-event.ts'
import { logLines } from '../../../../src/api/text/log-lines.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'

const COMMIT = 'c'.repeat(40)

const RAN = { end: 'exited', code: 1, signal: null, ms: 5, output: 'not ok', left: 0 } as const
const ROWS: readonly (readonly [FactBody, about: string | null, what: string, text?: string])[] = [
  [
    { type: 'task.added', task: 'a', kind: 'work', title: 'A', text: 'Do it.', needs: [], role: null, reviews: true, by: 'user' },
    'a',
    'added by user',
  ],
  [
    { type: 'task.added', task: 'a', kind: 'human', title: 'A', text: 'Which?', needs: [], role: null, reviews: true, by: 'coordinator' },
    'a',
    'added by coordinator, for the user',
  ],
  [
    { type: 'task.added', task: 'a', kind: 'conflict', title: 'A', text: 'x', needs: [], role: null, reviews: true, by: 'system' },
    'a',
    'added by system, for a conflict',
  ],
  [{ type: 'task.assigned', task: 'a', member: 'worker-1' }, 'a', 'assigned to worker-1'],
  [{ type: 'task.prepared', task: 'a', base: COMMIT }, 'a', 'begins at cccccccccc'],
  [{ type: 'task.prepared', task: 'a', base: null }, 'a', 'ready to begin'],
  [
    { type: 'task.reported', task: 'a', member: 'worker-1', summary: 'It is written.' },
    'a',
    'worker-1 reports it complete',
    'It is written.',
  ],
  [{ type: 'task.review', task: 'a', member: 'worker-2' }, 'a', 'worker-2 reviews it'],
  [
    { type: 'task.review', task: 'a', member: 'worker-2', earlier: true },
    'a',
    'worker-2 reviews it, although it worked on it earlier: no other worker can',
  ],
  [{ type: 'task.briefed', task: 'a' }, 'a', 'the review begins'],
  [
    { type: 'crew.setup', member: 'worker-1', ok: false, command: 'npm ci', ran: RAN, copied: 1, skipped: [] },
    'worker-1',
    'the setup of its worktree failed, with 1 file copied: npm ci',
    'not ok',
  ],
  [
    {
      type: 'task.verify',
      task: 'a',
      member: 'worker-1',
      stage: 'review',
      ok: false,
      command: 'npm test',
      ran: RAN,
      commit: null,
      tree: null,
      changed: [],
    },
    'a',
    'failed verify: npm test',
    'not ok',
  ],
  [
    {
      type: 'task.verify',
      task: 'a',
      member: 'worker-1',
      stage: 'merge',
      ok: true,
      command: 'npm test',
      ran: { ...RAN, output: '' },
      commit: null,
      tree: null,
      changed: [],
    },
    'a',
    'passed verify when merged: npm test',
  ],
  [
    {
      type: 'task.verify',
      task: 'a',
      member: 'worker-1',
      stage: 'merge',
      ok: false,
      command: 'npm test',
      ran: { ...RAN, end: 'late', code: null, signal: 'SIGKILL', ms: 600_000 },
      commit: null,
      tree: null,
      changed: [],
    },
    'a',
    'failed verify when merged, killed after 600 s: npm test',
    'not ok',
  ],
  [
    {
      type: 'task.verify',
      task: 'a',
      member: 'worker-1',
      stage: 'review',
      ok: false,
      command: 'npm test',
      ran: { ...RAN, end: 'unable', code: 127 },
      commit: null,
      tree: null,
      changed: [],
    },
    'a',
    'failed verify, could not be started: npm test',
    'not ok',
  ],
  [{ type: 'task.unreviewed', task: 'a', member: 'worker-2', reason: 'it was lost' }, 'a', 'worker-2 gave no verdict', 'it was lost'],
  [
    { type: 'task.verdict', task: 'a', member: 'worker-2', verdict: 'DENIED', comments: 'a.ts:1: no' },
    'a',
    'DENIED by worker-2',
    'a.ts:1: no',
  ],
  [{ type: 'task.verdict', task: 'a', member: null, verdict: 'APPROVED', comments: '' }, 'a', 'APPROVED by the user'],
  [
    { type: 'task.asked', task: 'a', id: 'a.1', for: 'gate', question: 'May it?', options: ['approve'] },
    'a',
    'the user is asked',
    'May it?',
  ],
  [{ type: 'task.answered', task: 'a', option: 'deny', text: 'no tests' }, 'a', 'answered: deny', 'no tests'],
  [{ type: 'task.answered', task: 'a', option: null, text: 'B' }, 'a', 'answered', 'B'],
  [{ type: 'task.approved', task: 'a', by: null }, 'a', 'may be committed'],
  [{ type: 'task.approved', task: 'a', by: 'user' }, 'a', 'commit approved by user'],
  [{ type: 'task.committing', task: 'a' }, 'a', 'is being committed'],
  [{ type: 'task.uncommitted', task: 'a', reason: 'nothing is staged' }, 'a', 'is not committed yet', 'nothing is staged'],
  [{ type: 'task.committed', task: 'a', commit: COMMIT }, 'a', 'committed as cccccccccc'],
  [{ type: 'task.merged', task: 'a', merged: COMMIT }, 'a', 'merged: the branch is at cccccccccc'],
  [{ type: 'task.conflict', task: 'a', conflict: 'b', files: ['x', 'y'] }, 'a', 'a conflict, which b resolves', 'x\ny'],
  [{ type: 'task.resolving', task: 'a', files: ['x', 'y'], tasks: ['b'] }, 'a', 'its author resolves a conflict with b', 'x\ny'],
  [
    { type: 'task.differs', task: 'a', commit: COMMIT, from: COMMIT, files: ['x'] },
    'a',
    'committed as cccccccccc, which differs from the approved change: it is reviewed again',
    'x',
  ],
  [{ type: 'task.resolved', task: 'a', conflict: 'b' }, 'a', 'b is done: merging again'],
  [{ type: 'task.parked', task: 'a' }, 'a', 'waits for the user, and its worker is free'],
  [{ type: 'task.resumed', task: 'a', member: 'worker-1' }, 'a', 'worker-1 has it again'],
  [{ type: 'task.blocked', task: 'a', reason: 'another member looks at it' }, 'a', 'waits to be merged', 'another member looks at it'],
  [{ type: 'task.requeued', task: 'a', reason: 'it was lost', counts: true }, 'a', 'attempt failed', 'it was lost'],
  [{ type: 'task.requeued', task: 'a', reason: 'the user said so', counts: false }, 'a', 'back in the queue', 'the user said so'],
  [{ type: 'task.done', task: 'a', reason: null }, 'a', 'done'],
  [{ type: 'task.done', task: 'a', reason: 'answered', by: 'coordinator' }, 'a', 'done unchecked, marked by coordinator', 'answered'],
  [{ type: 'task.failed', task: 'a', reason: 'needs b, which failed' }, 'a', 'failed', 'needs b, which failed'],
  [{ type: 'task.cancelled', task: 'a', reason: 'not needed' }, 'a', 'cancelled', 'not needed'],
  [
    { type: 'task.taken', task: 'a', crew: 'u', name: 'fix', commit: COMMIT, merged: COMMIT, report: 'It works.' },
    'a',
    'done in an earlier crew, fix, as cccccccccc',
    'It works.',
  ],
  [{ type: 'task.retried', task: 'a', by: 'user' }, 'a', 'retried by user'],
  [{ type: 'task.reopened', task: 'a', comments: 'No tests.', by: 'user' }, 'a', 'reopened by user', 'No tests.'],
  [{ type: 'task.edited', task: 'a', title: 'A', text: 'Now this.', by: 'user' }, 'a', 'changed by user: title, text', 'Now this.'],
  [{ type: 'task.ordered', task: 'a', priority: 3, by: 'user' }, 'a', 'has priority 3'],
  [{ type: 'task.ordered', task: 'a', priority: 0, before: 'b', by: 'user' }, 'a', 'comes before b'],
  [{ type: 'task.message', task: 'a', from: 'worker-1', to: 'coordinator', text: 'Which?' }, 'a', 'worker-1 to coordinator', 'Which?'],
  [{ type: 'task.message', task: null, from: 'worker-1', to: 'coordinator', text: 'Hm.' }, null, 'worker-1 to coordinator', 'Hm.'],
  [{ type: 'crew.joined', member: 'worker-1', process: 'u' }, 'worker-1', 'has joined'],
  [{ type: 'crew.left', member: 'worker-1', how: 'lost', reason: 'exit code 1' }, 'worker-1', 'lost', 'exit code 1'],
  [{ type: 'crew.replaced', member: 'worker-1', heir: 'worker-3', summary: 'half of it' }, 'worker-1', 'worker-3 takes over', 'half of it'],
  [{ type: 'crew.full', member: 'worker-1', share: 0.904 }, 'worker-1', 'its context is 90 % full'],
  [
    { type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'error', end: 'failed', queued: 0, error: 'the model failed' },
    'worker-1',
    'its turn failed',
    'the model failed',
  ],
  [
    { type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'ok', end: 'through', queued: 0 },
    'worker-1',
    'ended its turn without a report',
  ],
  [{ type: 'crew.notified', text: 'the key is missing' }, null, 'to you', 'the key is missing'],
  [{ type: 'crew.ending', outcome: 'completed', summary: 'all is done' }, null, 'completed', 'all is done'],
]

test.each(ROWS.map(([fact, about, what, text = null]) => [fact, { about, what, text }] as const))('%j has its text', (fact, expected) => {
  expect(crewEventText(fact)).toEqual(expected)
})

test('the table above contains every type of fact about a task', () => {
  expect(TASK_FACTS.filter((type) => !ROWS.some(([fact]) => fact.type === type))).toEqual([])
})

test.each<FactBody>([
  { type: 'crew.begun' },
  { type: 'crew.ended' },
  { type: 'crew.stalled' },
  { type: 'crew.turn', member: 'worker-1', turn: 2, outcome: 'ok', end: 'complete', queued: 0 },
  { type: 'process.note', text: 'x' },
])('%j is not shown', (fact) => {
  expect(crewEventText(fact)).toBeNull()
})

test('a log has a line for each fact, except facts that have other log lines', () => {
  const lines = ROWS.map(([fact]) => [fact.type, logLines('t', fact).map(({ text }) => text)] as const)
  expect(lines.filter(([, text]) => text.length === 0).map(([type]) => type)).toEqual([
    'task.asked',
    'task.answered',
    'task.answered',
    'crew.joined',
    'crew.notified',
  ])
  expect(lines.find(([type]) => type === 'task.verdict')?.[1]).toEqual(['a: DENIED by worker-2: a.ts:1: no'])
  expect(lines.find(([type]) => type === 'task.done')?.[1]).toEqual(['a: done'])
})
