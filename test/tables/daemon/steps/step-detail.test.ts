// One step with all its details, from facts: attempts, large parts, questions, holds, and the record of the step.
import { expect, test } from 'vitest'
import { MAX_PART_CHARS, partOf, stepDetailOf } from '../../../../src/daemon/steps/step-detail.ts'
import type { BodyOf, FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'

const USAGE = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
const LARGE = 'y'.repeat(MAX_PART_CHARS + 1)
const hold = { reason: 'user', by: 'user', at: 0 } as const
const journalOf = (...bodies: readonly FactBody[]): StoredFact[] =>
  bodies.map((body, index) => ({ uuid: 'a', pid: 1, seq: index + 1, cursor: index + 1, at: 1_000 * index, body }))
const record = (step: number, commit: string): FactBody => ({ type: 'files.recorded', step, commit, head: 'h', left: [] })

const FACTS = journalOf(
  { type: 'model.started', step: 2, attempt: 1, model: 'm' },
  { type: 'model.failed', step: 2, attempt: 1, error: 'busy', status: 529, retryInMs: 10 },
  { type: 'model.started', step: 2, attempt: 2, model: 'n' },
  {
    type: 'model.finished',
    step: 2,
    message: [
      { type: 'reasoning', text: 'why' },
      { type: 'reasoning', text: 'so' },
      { type: 'tool-call', callId: 'a', name: 'write', input: { content: LARGE } },
    ],
    usage: USAGE,
    finish: 'tool-calls',
    durationMs: 1_000,
  },
  { type: 'tool.started', step: 2, callId: 'a', name: 'write', effect: 'idempotent' },
  { type: 'process.waiting', question: 'May I?' },
  { type: 'process.unasked', id: '' },
  { type: 'process.held', hold, mono: 0 },
  { type: 'process.released', holds: [hold], by: 'user', mono: 0 },
  {
    type: 'tool.finished',
    step: 2,
    callId: 'a',
    name: 'write',
    outcome: 'ok',
    content: LARGE,
    durationMs: 1,
    images: [{ mediaType: 'image/png', data: 'AAAA' }],
  },
)

test('a step has its attempts, messages, asks, holds, record and tool calls; large parts are cut', () => {
  const taken: FactBody = { type: 'message.taken', id: 'm', turn: 1 }
  const before = journalOf(taken)
  const queued = journalOf({ type: 'process.queue', id: 'm', from: 'user', text: 'hello' })
  const late = journalOf(record(1, 'x'), record(2, 'z'), record(3, 'z'), {
    type: 'checkpoint.written',
    step: 2,
    ranges: [],
    turn: 1,
    openCalls: [],
  })
  const view = stepDetailOf({
    step: 2,
    facts: FACTS,
    before,
    messages: new Map(queued.map((fact) => ['m', fact])),
    late,
    unbegun: new Set(),
  })
  expect(view).toMatchObject({
    reasoning: 'why\n\nso',
    calls: [
      { model: 'm', error: 'busy', status: 529, retryInMs: 10 },
      { model: 'n', error: null },
    ],
    messages: [{ id: 'm', from: 'user', text: 'hello', truncated: false }],
    asks: [{ text: 'May I?', withdrawn: true, answeredAt: null }],
    holds: [{ reason: 'user', releasedBy: 'user' }],
    files: { commit: 'z', changed: true },
    checkpoint: true,
    modelMs: 2_000,
    firstTokenMs: null,
  })
  expect(view?.tools[0]).toMatchObject({
    input: null,
    truncated: ['input', 'result'],
    images: [{ mediaType: 'image/png', bytes: 3 }],
    effect: 'idempotent',
  })
  expect(view?.tools[0]?.result).toHaveLength(MAX_PART_CHARS)
  expect(stepDetailOf({ step: 3, facts: FACTS, before: [], messages: new Map(), late: [], unbegun: new Set() })).toBeNull()
})

const RESERVE: BodyOf<'call.started'>['reserve'] = { inputTokens: 1, maxOutputTokens: 1, usd: null }
const callStarted = (call: string): FactBody => ({ type: 'call.started', call, model: 'm', provider: 'p', reserve: RESERVE })
const callFinished = (call: string, firstTokenMs?: number): FactBody => ({
  type: 'call.finished',
  call,
  usage: USAGE,
  status: firstTokenMs === undefined ? 529 : 200,
  ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
})
const stepStarted: FactBody = { type: 'model.started', step: 1, attempt: 1, model: 'm' }
const stepFinished: FactBody = { type: 'model.finished', step: 1, message: [], usage: USAGE, finish: 'stop', durationMs: 9 }

test.each<[string, readonly FactBody[], number | null]>([
  ['is that of the driver', [stepStarted, { ...stepFinished, firstTokenMs: 4 }], 4],
  ['is null in older facts', [stepStarted, stepFinished], null],
  [
    'is that of the call at the gateway that succeeded',
    [callStarted('a'), callFinished('a'), callStarted('b'), stepStarted, stepFinished, callFinished('b', 7)],
    7,
  ],
  [
    'is null if two calls may be the one of the step',
    [callStarted('a'), callFinished('a', 3), callStarted('b'), callFinished('b', 7), stepStarted, stepFinished],
    null,
  ],
  ['is null while the model answers', [callStarted('a'), stepStarted], null],
])('the time to the first token %s', (_, bodies, expected) => {
  const view = stepDetailOf({ step: 1, facts: journalOf(...bodies), before: [], messages: new Map(), late: [], unbegun: new Set() })
  expect(view?.firstTokenMs).toBe(expected)
})

test('a part of a call is returned whole; a part that does not exist is null', () => {
  expect(partOf(FACTS, 'a', 'result')?.text).toBe(LARGE)
  expect(partOf(FACTS, 'a', 'input')).toEqual({ text: JSON.stringify({ content: LARGE }), mediaType: 'application/json' })
  expect(partOf(FACTS, 'a', 'image:0')).toEqual({ text: 'AAAA', mediaType: 'image/png' })
  expect([partOf(FACTS, 'a', 'image:1'), partOf(FACTS, 'b', 'result'), partOf(FACTS, 'b', 'input')]).toEqual([null, null, null])
})
