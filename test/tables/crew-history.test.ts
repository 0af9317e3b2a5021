// What a crew's journal says of each task, added up: who had it and until when, verdicts, time in turns, time of people, tokens.
import { expect, test } from 'vitest'
import { CrewHistory, covered } from '../../src/daemon/crew-history.ts'
import { restOf, usageOf } from '../../src/daemon/crew-report.ts'
import { iso } from '../../src/daemon/times.ts'
import type { CrewFact } from '../../src/crew/facts.ts'

const WALL = 1_700_000_000_000

/** Facts, one second after another but where they say when. */
function told(...facts: readonly (CrewFact | [seconds: number, fact: CrewFact])[]): CrewHistory {
  const history = new CrewHistory()
  for (const [index, one] of facts.entries()) {
    const [seconds, body] = Array.isArray(one) ? one : [index, one]
    history.take({ seq: index + 1, at: WALL + seconds * 1_000, body })
  }
  return history
}

const at = (seconds: number): string => iso(WALL + seconds * 1_000)
const begun = (member: 'worker-1' | 'worker-2', turn: number): CrewFact => ({ type: 'crew.turn.begun', member, turn, resets: true })
const ended = (member: 'worker-1' | 'worker-2', turn: number, rest: { task?: string; spent?: object } = {}): CrewFact => ({ type: 'crew.turn', member, turn, outcome: 'ok', end: 'complete', queued: 0, ...rest })
const assigned = (member: 'worker-1' | 'worker-2', task = 'a'): CrewFact => ({ type: 'task.assigned', task, member })

test.each<[string, (readonly [number, number])[], number]>([
  ['none', [], 0],
  ['one', [[5, 9]], 4],
  ['apart, in any order', [[10, 12], [0, 5]], 7],
  ['one within another', [[0, 10], [2, 4]], 10],
  ['one over the end of another', [[0, 5], [3, 8], [8, 9]], 9],
  ['a clock that went back', [[9, 5]], 0],
])('time that is covered: %s', (_, spans, sum) => {
  expect(covered(spans)).toBe(sum)
})

test('a task that is lost, denied, fixed and done', () => {
  const { tries, verdicts, reviewers } = told(
    assigned('worker-1'), { type: 'task.requeued', task: 'a', reason: 'worker-1 was lost', counts: true }, [5, assigned('worker-2')],
    { type: 'task.review', task: 'a', member: 'worker-1' }, [7, { type: 'task.verdict', task: 'a', member: 'worker-1', verdict: 'DENIED', comments: 'no tests' }],
    { type: 'task.review', task: 'a', member: 'worker-1' }, [9, { type: 'task.verdict', task: 'a', member: null, verdict: 'APPROVED', comments: '' }], [12, { type: 'task.done', task: 'a', reason: null }],
  ).task('a')
  expect(tries).toEqual([
    { member: 'worker-1', startedAt: at(0), endedAt: at(1), outcome: 'requeued', reason: 'worker-1 was lost' },
    { member: 'worker-2', startedAt: at(5), endedAt: at(12), outcome: 'done', reason: null },
  ])
  expect(verdicts).toEqual([{ by: 'worker-1', at: at(7), verdict: 'DENIED', comments: 'no tests' }, { by: null, at: at(9), verdict: 'APPROVED', comments: '' }])
  expect(reviewers).toEqual(['worker-1'])
})

test('a successor goes on with what it was given, and with that alone', () => {
  const history = told(assigned('worker-1'), assigned('worker-2', 'b'), { type: 'crew.replaced', member: 'worker-1', heir: 'worker-3', summary: 'half done' }, [9, { type: 'task.failed', task: 'a', reason: 'too hard' }])
  expect(history.task('a').tries).toEqual([
    { member: 'worker-1', startedAt: at(0), endedAt: at(2), outcome: 'handed over', reason: null },
    { member: 'worker-3', startedAt: at(2), endedAt: at(9), outcome: 'failed', reason: 'too hard' },
  ])
  expect(history.task('b').tries).toMatchObject([{ member: 'worker-2', endedAt: null, outcome: null }])
})

test('turns count for their task, with what they cost; others for their member alone', () => {
  const history = told(
    begun('worker-1', 1), begun('worker-2', 1), [4, ended('worker-1', 1, { task: 'a', spent: { inputTokens: 10, costUsd: 0.1 } })], [6, ended('worker-2', 1, { task: 'a', spent: { inputTokens: 5, unpriced: true } })],
    [7, begun('worker-1', 2)], [9, ended('worker-1', 2, { spent: { inputTokens: 1 } })],
    // Begun again after a crash: what was before it is not known.
    [20, begun('worker-1', 3)], [30, begun('worker-1', 3)], [31, ended('worker-1', 3, { task: 'a' })],
    // Nobody saw it begin.
    [40, ended('worker-2', 9, { task: 'a', spent: { inputTokens: 2 } })],
  )
  const { worked, spent } = history.task('a')
  expect([covered(worked), spent]).toEqual([7_000, { inputTokens: 17, costUsd: 0.1, unpriced: true }])
  expect([history.spentBy('worker-1'), history.spentBy('worker-2'), history.spentBy('worker-9')]).toEqual([{ inputTokens: 11, costUsd: 0.1 }, { inputTokens: 7, unpriced: true }, {}])
})

test('how long a person is asked: until an answer, a verdict, an approval or the end', () => {
  const ask = (task: string): CrewFact => ({ type: 'task.asked', task, id: '1', for: 'gate', question: 'yes?', options: [] })
  const history = told(
    [0, ask('a')], [3, { type: 'task.answered', task: 'a', option: 'yes', text: null }], [4, { type: 'task.approved', task: 'a', by: 'user' }],
    [5, ask('b')], [9, { type: 'task.cancelled', task: 'b', reason: 'no' }], [10, ask('c')],
  )
  expect([covered(history.task('a').asked), covered(history.task('b').asked), history.task('c').askedAt]).toEqual([3_000, 4_000, WALL + 10_000])
})

test('what is about no task is the rest of the whole, never less than nothing', () => {
  const whole = usageOf({ turns: 5, inputTokens: 100, costUsd: 0.3, unpriced: true })
  expect(restOf(whole, [usageOf({ turns: 2, inputTokens: 70, costUsd: 0.1 }), usageOf({ inputTokens: 20, costUsd: 0.2 })])).toEqual(usageOf({ turns: 3, inputTokens: 10, unpriced: true }))
  expect(restOf(usageOf({}), [usageOf({ turns: 1 })])).toEqual(usageOf({}))
})

test('what git says of a commit is kept with its task, once there is one', () => {
  const commit = (job: number, task: string): CrewFact => ({ type: 'crew.job', job: { job, type: 'commit', member: 'worker-1', task, base: null, force: true } })
  const done = (job: number, output: string, of: string | null): CrewFact => ({ type: 'crew.job.done', job, result: { type: 'committed', commit: of, dirty: of === null, output } })
  const history = told(commit(1, 'a'), commit(2, 'b'), done(1, 'a hook says no', null), done(2, 'the author is reeve', 'abc'))
  expect([history.task('a').note, history.task('b').note]).toEqual([null, 'the author is reeve'])
})

test('of very many tries the last ones are kept', () => {
  const many = Array.from({ length: 150 }, (_, index) => [[index * 2, assigned('worker-1')], [index * 2 + 1, { type: 'task.requeued', task: 'a', reason: String(index), counts: true }]] as [number, CrewFact][]).flat()
  const { tries } = told(...many).task('a')
  expect([tries.length, tries[0]?.reason, tries.at(-1)?.reason]).toEqual([100, '50', '149'])
})
