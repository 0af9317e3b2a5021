// The board of a crew as text: lanes, cards, and the attempts of a task.
import { describe, expect, test } from 'vitest'
import type { CrewTaskView, TaskEventView } from '../../../src/api/views/crew.ts'
import type { ReportTryView, ReportVerdictView } from '../../../src/api/views/crew-report.ts'
import { cardText, laneOf, eventsByAttempt } from '../../../src/faces/crew-board.ts'

const timeAt = (minute: number): string => new Date(Date.UTC(2026, 10, 24, 2, minute)).toISOString()
const now = Date.parse(timeAt(30))

test.each<[CrewTaskView['state'], CrewTaskView['asks'], string]>([
  ['queued', null, 'queued'],
  ['waiting', 'human', 'queued'],
  ['waiting', 'gate', 'commit'],
  ['waiting', 'review', 'review'],
  ['in_review', null, 'review'],
  ['addressing_feedback', null, 'feedback'],
  ['merging', null, 'commit'],
  ['cancelled', null, 'failed'],
])('a task that is %s and asks %s stands in %s', (state, asks, lane) => {
  expect(laneOf({ state, asks })).toBe(lane)
})

describe('a card', () => {
  const nothing = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpriced: false }
  const card = {
    state: 'queued' as const,
    asks: null,
    needs: [],
    implementer: null,
    reviewer: null,
    verdict: null,
    check: null,
    attempts: 0,
    denials: 0,
    startedAt: null,
    endedAt: null,
    spent: nothing,
    merged: null,
    reason: null,
  }
  const others = [
    { id: 'lexer', state: 'waiting' as const, asks: 'gate' as const },
    { id: 'tokens', state: 'done' as const, asks: null },
  ]
  const check = { stage: 'review' as const, command: 'npm test', ok: true, code: 0, ms: 900, commit: null, tree: null }

  test.each<[Partial<Parameters<typeof cardText>[0]>, string]>([
    [{}, ''],
    [{ needs: ['lexer', 'tokens'] }, 'needs lexer (commit)'],
    [{ needs: ['tokens'] }, ''],
    [{ state: 'implementing', implementer: 'worker-1', startedAt: timeAt(18) }, 'worker-1 · 12m 00s'],
    [
      { state: 'in_review', implementer: 'worker-1', reviewer: 'worker-3', attempts: 3, denials: 1, startedAt: timeAt(28) },
      'worker-3 reviews · 2m 00s · 1 denied · 2 failed',
    ],
    [
      { state: 'waiting', asks: 'gate', implementer: 'worker-2', reviewer: 'worker-3', verdict: 'APPROVED', check },
      'waits for you: the commit · worker-2 · APPROVED by worker-3 · verified',
    ],
    [{ state: 'waiting', asks: 'gate', check: { ...check, ok: false } }, 'waits for you: the commit · verify failed'],
    [
      { state: 'done', startedAt: timeAt(0), endedAt: timeAt(1), spent: { ...nothing, costUsd: 0.4 }, merged: 'a91fcafe00' },
      '1m 00s · $0.40 · merged a91fcaf',
    ],
    [{ state: 'failed', reason: 'the budget is used up' }, 'the budget is used up'],
  ])('of %j', (given, text) => {
    expect(cardText({ ...card, ...given }, others, now)).toBe(text)
  })
})

test('the story of a task has its attempts, the newest first, each with its events and verdicts', () => {
  const event = (seq: number, minute: number): TaskEventView => ({ seq, at: timeAt(minute), type: 'task.assigned', what: 'x', text: null })
  const attempt = (member: string, from: number, to: number | null, given: Partial<ReportTryView> = {}): ReportTryView => ({
    member,
    startedAt: timeAt(from),
    endedAt: to === null ? null : timeAt(to),
    outcome: null,
    reason: null,
    ...given,
  })
  const denied: ReportVerdictView = { by: 'worker-3', at: timeAt(6), verdict: 'DENIED', comments: 'the full stop' }
  const tries = [attempt('worker-1', 2, 8, { outcome: 'requeued', reason: 'lost' }), attempt('worker-2', 10, null)]
  const story = eventsByAttempt({ tries, verdicts: [denied], checks: [] }, [event(1, 0), event(2, 2), event(3, 9), event(4, 10)], now)
  expect(story.before.map(({ seq }) => seq)).toEqual([1])
  expect(story.attempts).toMatchObject([
    { number: 2, member: 'worker-2', outcome: 'for 20m 00s', isOpen: true, verdicts: [], events: [{ seq: 4 }] },
    {
      number: 1,
      member: 'worker-1',
      outcome: 'requeued after 6m 00s: lost',
      isOpen: false,
      verdicts: [denied],
      events: [{ seq: 2 }, { seq: 3 }],
    },
  ])
  expect(eventsByAttempt({ tries: [], verdicts: [], checks: [] }, [event(1, 0)], now)).toMatchObject({ before: [{ seq: 1 }], attempts: [] })
})
