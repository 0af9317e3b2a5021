// The history of each task from a crew's journal: attempts, verdicts, time in turns, time of open questions, tokens. Also the usage that
// a report attributes to no task.
import { expect, test } from 'vitest'
import { CrewHistory, coveredMs } from '../../../../src/daemon/crew/history.ts'
import { unattributedUsage, toUsageView } from '../../../../src/daemon/crew/report.ts'
import { isoTime } from '../../../../src/daemon/views/format-times.ts'
import type { CrewFact } from '../../../../src/kernel/model/crew/facts.ts'

const WALL = 1_700_000_000_000

/** Builds a history of facts that are one second apart. A fact with a number happens that many seconds after the start. */
function historyOfFacts(...facts: readonly (CrewFact | [seconds: number, fact: CrewFact])[]): CrewHistory {
  const history = new CrewHistory()
  for (const [index, one] of facts.entries()) {
    const [seconds, body] = Array.isArray(one) ? one : [index, one]
    history.addFact({ seq: index + 1, at: WALL + seconds * 1_000, body })
  }
  return history
}

const timeAfter = (seconds: number): string => isoTime(WALL + seconds * 1_000)
const turnBegun = (member: 'worker-1' | 'worker-2', turn: number): CrewFact => ({ type: 'crew.turn.begun', member, turn, resets: true })
const turnEnded = (member: 'worker-1' | 'worker-2', turn: number, details: { task?: string; spent?: object } = {}): CrewFact => ({
  type: 'crew.turn',
  member,
  turn,
  outcome: 'ok',
  end: 'complete',
  queued: 0,
  ...details,
})
const taskAssigned = (member: 'worker-1' | 'worker-2', task = 'a'): CrewFact => ({ type: 'task.assigned', task, member })

test.each<[string, (readonly [number, number])[], number]>([
  ['no interval', [], 0],
  ['one interval', [[5, 9]], 4],
  [
    'separate intervals, in any order',
    [
      [10, 12],
      [0, 5],
    ],
    7,
  ],
  [
    'an interval within another',
    [
      [0, 10],
      [2, 4],
    ],
    10,
  ],
  [
    'an interval over the end of another',
    [
      [0, 5],
      [3, 8],
      [8, 9],
    ],
    9,
  ],
  ['a clock that went back', [[9, 5]], 0],
])('the time that intervals cover counts overlaps once: %s', (_, spans, expectedSum) => {
  expect(coveredMs(spans)).toBe(expectedSum)
})

test('the history of a task has each attempt with its outcome, each verdict, and its reviewers', () => {
  const { tries, verdicts, reviewers } = historyOfFacts(
    taskAssigned('worker-1'),
    { type: 'task.requeued', task: 'a', reason: 'worker-1 was lost', counts: true },
    [5, taskAssigned('worker-2')],
    { type: 'task.review', task: 'a', member: 'worker-1' },
    [7, { type: 'task.verdict', task: 'a', member: 'worker-1', verdict: 'DENIED', comments: 'no tests' }],
    { type: 'task.review', task: 'a', member: 'worker-1' },
    [9, { type: 'task.verdict', task: 'a', member: null, verdict: 'APPROVED', comments: '' }],
    [12, { type: 'task.done', task: 'a', reason: null }],
  ).taskHistory('a')
  expect(tries).toEqual([
    { member: 'worker-1', startedAt: timeAfter(0), endedAt: timeAfter(1), outcome: 'requeued', reason: 'worker-1 was lost' },
    { member: 'worker-2', startedAt: timeAfter(5), endedAt: timeAfter(12), outcome: 'done', reason: null },
  ])
  expect(verdicts).toEqual([
    { by: 'worker-1', at: timeAfter(7), verdict: 'DENIED', comments: 'no tests' },
    { by: null, at: timeAfter(9), verdict: 'APPROVED', comments: '' },
  ])
  expect(reviewers).toEqual(['worker-1'])
})

test('a successor continues the handed-over task, and only that', () => {
  const history = historyOfFacts(
    taskAssigned('worker-1'),
    taskAssigned('worker-2', 'b'),
    { type: 'crew.replaced', member: 'worker-1', heir: 'worker-3', summary: 'half done' },
    [9, { type: 'task.failed', task: 'a', reason: 'too hard' }],
  )
  expect(history.taskHistory('a').tries).toEqual([
    { member: 'worker-1', startedAt: timeAfter(0), endedAt: timeAfter(2), outcome: 'handed over', reason: null },
    { member: 'worker-3', startedAt: timeAfter(2), endedAt: timeAfter(9), outcome: 'failed', reason: 'too hard' },
  ])
  expect(history.taskHistory('b').tries).toMatchObject([{ member: 'worker-2', endedAt: null, outcome: null }])
})

test('a turn of a task counts for the task and its member; a turn without a task counts for its member only', () => {
  const history = historyOfFacts(
    turnBegun('worker-1', 1),
    turnBegun('worker-2', 1),
    [4, turnEnded('worker-1', 1, { task: 'a', spent: { inputTokens: 10, costUsd: 0.1 } })],
    [6, turnEnded('worker-2', 1, { task: 'a', spent: { inputTokens: 5, unpriced: true } })],
    [7, turnBegun('worker-1', 2)],
    [9, turnEnded('worker-1', 2, { spent: { inputTokens: 1 } })],
    // The turn began again after a crash. Its earlier time is not known.
    [20, turnBegun('worker-1', 3)],
    [30, turnBegun('worker-1', 3)],
    [31, turnEnded('worker-1', 3, { task: 'a' })],
    // The beginning of the task was not recorded.
    [40, turnEnded('worker-2', 9, { task: 'a', spent: { inputTokens: 2 } })],
  )
  const { workSpans, spent } = history.taskHistory('a')
  expect([coveredMs(workSpans), spent]).toEqual([7_000, { inputTokens: 17, costUsd: 0.1, unpriced: true }])
  expect([history.usageOfMember('worker-1'), history.usageOfMember('worker-2'), history.usageOfMember('worker-9')]).toEqual([
    { inputTokens: 11, costUsd: 0.1 },
    { inputTokens: 7, unpriced: true },
    {},
  ])
})

test('the time of a question ends with its answer or the end of its task; an open question has its start', () => {
  const taskAsked = (task: string): CrewFact => ({ type: 'task.asked', task, id: '1', for: 'gate', question: 'yes?', options: [] })
  const history = historyOfFacts(
    [0, taskAsked('a')],
    [3, { type: 'task.answered', task: 'a', option: 'yes', text: null }],
    [4, { type: 'task.approved', task: 'a', by: 'user' }],
    [5, taskAsked('b')],
    [9, { type: 'task.cancelled', task: 'b', reason: 'no' }],
    [10, taskAsked('c')],
  )
  expect([
    coveredMs(history.taskHistory('a').questionSpans),
    coveredMs(history.taskHistory('b').questionSpans),
    history.taskHistory('c').openQuestionSince,
  ]).toEqual([3_000, 4_000, WALL + 10_000])
})

test('usage outside tasks is the remainder of the total, never negative', () => {
  const total = toUsageView({ turns: 5, inputTokens: 100, costUsd: 0.3, unpriced: true })
  expect(
    unattributedUsage(total, [toUsageView({ turns: 2, inputTokens: 70, costUsd: 0.1 }), toUsageView({ inputTokens: 20, costUsd: 0.2 })]),
  ).toEqual(toUsageView({ turns: 3, inputTokens: 10, unpriced: true }))
  expect(unattributedUsage(toUsageView({}), [toUsageView({ turns: 1 })])).toEqual(toUsageView({}))
})

test("the history of a task has git's note about its commit, but no note of a commit that git refused", () => {
  const commitRequested = (job: number, task: string): CrewFact => ({
    type: 'crew.job',
    job: { job, type: 'commit', member: 'worker-1', task, base: null, force: true },
  })
  const commitDone = (job: number, output: string, commit: string | null): CrewFact => ({
    type: 'crew.job.done',
    job,
    result: { type: 'committed', commit, dirty: commit === null, output },
  })
  const history = historyOfFacts(
    commitRequested(1, 'a'),
    commitRequested(2, 'b'),
    commitDone(1, 'a hook refuses', null),
    commitDone(2, 'the author is reeve', 'abc'),
  )
  expect([history.taskHistory('a').note, history.taskHistory('b').note]).toEqual([null, 'the author is reeve'])
})

test('only the last 100 attempts are kept', () => {
  const manyFacts = Array.from(
    { length: 150 },
    (_, index) =>
      [
        [index * 2, taskAssigned('worker-1')],
        [index * 2 + 1, { type: 'task.requeued', task: 'a', reason: String(index), counts: true }],
      ] as [number, CrewFact][],
  ).flat()
  const { tries } = historyOfFacts(...manyFacts).taskHistory('a')
  expect([tries.length, tries[0]?.reason, tries.at(-1)?.reason]).toEqual([100, '50', '149'])
})
