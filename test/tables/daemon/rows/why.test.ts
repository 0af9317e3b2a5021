// What a process waits for or does: the sentence and its data for each state, hold and wait, made from facts as in the daemon.
import { describe, expect, test } from 'vitest'
import { WorkTracker, doingOf } from '../../../../src/daemon/rows/doing.ts'
import { reportedTaskText } from '../../../../src/daemon/rows/wait-texts.ts'
import { uuidsInWhy, whyOf } from '../../../../src/daemon/rows/why.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { momentOf } from '../../../../src/kernel/model/moment.ts'
import { HOLD_REASONS } from '../../../../src/kernel/model/words.ts'
import type { DeliveryTime } from '../../../../src/kernel/model/asks.ts'
import type { WhyView } from '../../../../src/api/views/heartbeat.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Hold, Process } from '../../../../src/kernel/model/process.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'

const UUID = uuidOf(1)
const ROOT = uuidOf(2)
const WALL = 1_700_000_000_000
const timeAfter = (seconds: number): string =>
  expect.stringContaining(new Date(WALL + seconds * 1_000).toISOString().slice(14, 19)) as string

const SPAWNED: FactBody = { type: 'process.spawned', pid: 7, spec: specOf({ name: 'writer' }), parentUuid: null, depth: 1, by: 'user' }
const STARTED: FactBody = { type: 'process.started', mono: 1_000, attached: true, containment: null }
const READY: FactBody = { type: 'process.ready', turn: 0 }
const WORKING: FactBody = { type: 'process.working', turn: 1, message: null }
const CALL: FactBody = { type: 'model.started', step: 1, attempt: 1, model: 'm' }
const USAGE = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
const toolCall = (callId: string, command: string): FactBody & object => ({
  type: 'model.finished',
  step: 1,
  message: [{ type: 'tool-call', callId, name: 'bash', input: { command } }],
  usage: USAGE,
  finish: 'tool-calls',
  durationMs: 1,
})
const TOOL: FactBody = { type: 'tool.started', step: 1, callId: 'a', name: 'bash', effect: 'once' }
const ASKED = {
  type: 'process.waiting',
  question: 'run npm test?',
  ask: { id: '1', kind: 'permission', text: 'run npm test?\nin /srv', options: [], callId: 'a', at: WALL + 4_000 },
} as const satisfies FactBody
const answered = (delivery: DeliveryTime): FactBody => ({
  type: 'process.answered',
  id: '1',
  option: null,
  text: 'yes',
  by: 'user',
  delivery,
})
const held = (hold: Partial<Hold> & Pick<Hold, 'reason'>): FactBody => ({
  type: 'process.held',
  hold: { by: 'user', at: WALL + 2_000, ...hold },
  mono: 3_000,
})
const REHYDRATED: FactBody = { type: 'process.rehydrated', pid: 8 }
const ATTACHED: FactBody = { type: 'process.attached', containment: null }
const askedAgain = (seconds: number): FactBody => ({
  ...ASKED,
  ask: { ...ASKED.ask, id: '2', at: WALL + seconds * 1_000 },
})
const DRAINED: FactBody = { type: 'process.drained', inFlight: null }
const note = (text: string): FactBody => ({ type: 'process.note', text })

/** Returns the process after these facts, which are one second apart, and the tracker that has seen them. */
function afterFacts(bodies: readonly FactBody[]): { readonly process: Process; readonly tracker: WorkTracker } {
  const tracker = new WorkTracker()
  let process: Process | undefined
  bodies.forEach((body, index) => {
    const fact = { cursor: index + 1, uuid: UUID, seq: index + 1, pid: 7, at: WALL + index * 1_000, body }
    process = fold(process, fact)
    const stored: StoredFact = { ...fact, moment: momentOf(process, undefined) }
    tracker.onFacts([stored])
  })
  return { process: process as Process, tracker }
}

function whyAfter(bodies: readonly FactBody[], live = ''): WhyView | null {
  const { process, tracker } = afterFacts(bodies)
  if (live !== '') tracker.onLive(UUID, { type: 'text', step: 1, text: live })
  const root = { ...process, uuid: ROOT, pid: 3, spec: specOf({ name: 'root' }) }
  return whyOf(process, { row: (uuid) => (uuid === ROOT ? root : undefined), work: tracker.of(UUID) })
}

const exited = (code = 0): FactBody => ({
  type: 'process.exited',
  exit: { code, reason: 'completed', cause: 'agent' },
  mono: 4_000,
})
const stopping = (changes: object = {}): FactBody => ({
  type: 'process.stopping',
  stopping: {
    signal: 'SIGTERM',
    by: 'user',
    at: WALL + 5_000,
    graceMs: 10_000,
    exit: { code: 143, reason: 'x', cause: 'person' },
    ...changes,
  },
})

test.each<[string, readonly FactBody[], object | null]>([
  ['not started', [SPAWNED], { kind: 'start', text: 'has not started yet', since: timeAfter(0) }],
  ['starting', [SPAWNED, STARTED], { kind: 'start', text: 'starts', since: timeAfter(1), can: ['kill'] }],
  ['ready', [SPAWNED, STARTED, READY], { kind: 'message', text: 'waits for a message', since: timeAfter(2), can: ['send', 'stop'] }],
  [
    'ready with a queued message',
    [SPAWNED, STARTED, READY, { type: 'process.queue', id: 'm', from: 'user', text: 'hi' }],
    { kind: 'queue', text: '1 queued message will begin a turn' },
  ],
  ['working without a call', [SPAWNED, STARTED, WORKING], { kind: 'work', text: 'works, but no open call is known', since: timeAfter(2) }],
  [
    'in a model call',
    [SPAWNED, STARTED, WORKING, CALL],
    { kind: 'model', text: 'waits for the model', since: timeAfter(3), can: ['interrupt', 'stop'] },
  ],
  [
    'before a repeated call',
    [
      SPAWNED,
      STARTED,
      WORKING,
      CALL,
      { type: 'model.failed', step: 1, attempt: 1, error: 'overloaded\nmore', status: 529, retryInMs: 8_000 },
    ],
    {
      kind: 'retry',
      text: expect.stringMatching(/^repeats the model call at \d\d:13:32 \(attempt 1 failed\): HTTP 529: overloaded$/),
      since: timeAfter(4),
      until: timeAfter(12),
    },
  ],
  [
    'in a tool call',
    [SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'npm\u001b[31m\ntest'), TOOL],
    { kind: 'tool', text: 'bash npm test', since: timeAfter(5) },
  ],
  [
    'in a silent tool call',
    [SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, { type: 'liveness.changed', word: 'silent', since: WALL, evidence: '' }],
    { kind: 'tool', text: expect.stringMatching(/^bash make; silent since \d\d:13$/) },
  ],
  [
    'asking',
    [SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, ASKED],
    { kind: 'ask', text: 'asks: run npm test?', since: timeAfter(4), can: ['answer'] },
  ],
  [
    'going to get its answer',
    [SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, ASKED, answered({ at: WALL + 12_000, dueMono: 0 })],
    {
      kind: 'ask',
      text: expect.stringMatching(/^gets your answer at \d\d:13:32$/),
      until: timeAfter(12),
      can: ['interrupt', 'stop'],
    },
  ],
  [
    'asking again, because its answer was taken back',
    [SPAWNED, STARTED, WORKING, ASKED, answered({ at: WALL + 12_000, dueMono: 0 }), { type: 'process.unanswered', id: '1', by: 'user' }],
    { kind: 'ask', text: 'asks: run npm test?', since: timeAfter(4), can: ['answer'] },
  ],
  [
    'asking again, because the daemon was restarted',
    [SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, ASKED, REHYDRATED, REHYDRATED, ATTACHED, WORKING, askedAgain(20)],
    { kind: 'ask', text: 'asks: run npm test?', since: timeAfter(4), can: ['answer'] },
  ],
  [
    'asking about its call again, which had begun before the daemon was restarted',
    [
      ...[SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), { ...TOOL, effect: 'idempotent' } as FactBody, ASKED],
      ...[answered({ at: WALL, dueMono: 0 }), { type: 'process.delivered', id: '1' } as const, REHYDRATED, ATTACHED, WORKING],
      askedAgain(20),
    ],
    { kind: 'ask', since: timeAfter(20) },
  ],
  [
    'stopping',
    [SPAWNED, STARTED, READY, stopping()],
    {
      kind: 'stop',
      text: expect.stringMatching(/^ends: SIGTERM by the user; is killed at \d\d:13:35 if it has not ended$/),
      until: timeAfter(15),
      can: ['kill'],
    },
  ],
  ['being killed', [SPAWNED, STARTED, READY, stopping({ signal: 'SIGKILL' })], { kind: 'stop', text: 'ends: SIGKILL by the user' }],
  [
    'a zombie',
    [SPAWNED, STARTED, READY, exited()],
    { kind: 'guardian', text: 'has ended, and waits until its programs are gone', since: timeAfter(3) },
  ],
  ['dead', [SPAWNED, STARTED, READY, exited(), { type: 'process.reaped' }], null],
  [
    'before a restart',
    [
      SPAWNED,
      STARTED,
      exited(1),
      { type: 'process.reaped' },
      {
        type: 'process.resumed',
        pid: 8,
        by: 'system',
        fromStep: 0,
        restart: { attempt: 2, cause: 'exit 1', at: null, dueMono: null, after: 'agent' },
      },
      { type: 'restart.due', startAt: WALL + 30_000, dueMono: 40_000 },
    ],
    { kind: 'restart', text: expect.stringMatching(/^waits for restart 2 at \d\d:13:50: exit 1$/), until: timeAfter(30), can: ['stop'] },
  ],
])('the sentence for a process that is %s', (_, bodies, expected) => {
  const why = whyAfter(bodies)
  if (expected === null) expect(why).toBeNull()
  else expect(why).toMatchObject(expected)
})

test('the tokens of a model call that answers are estimated from its text', () => {
  expect(whyAfter([SPAWNED, STARTED, WORKING, CALL], 'x'.repeat(42))).toMatchObject({
    kind: 'model',
    text: 'the model answers, 11 tokens so far',
  })
})

describe('the sentence about a hold', () => {
  const HOLD_CASES: Readonly<Record<(typeof HOLD_REASONS)[number], readonly [Partial<Hold>, object]>> = {
    user: [{}, { kind: 'hold:user', text: 'paused by the user', can: ['resume'] }],
    subtree: [{ root: ROOT }, { kind: 'hold:subtree', text: 'paused with root by the user', on: ROOT }],
    budget: [{ by: 'system' }, { kind: 'hold:budget', text: 'paused for a budget: evidence' }],
    'rate-limit': [
      { by: 'system', until: WALL + 600_000 },
      { kind: 'rate-limit', text: expect.stringMatching(/^rate limit until \d\d:23; a resume continues it$/), until: expect.any(String) },
    ],
    loop: [
      { by: 'system' },
      { kind: 'hold:loop', text: 'paused because it repeats the same calls: evidence', can: ['resume', 'send', 'stop'] },
    ],
    'context-full': [{ by: 'system' }, { kind: 'hold:context-full', text: 'its context is full' }],
    breaker: [{ by: 'system' }, { kind: 'hold:breaker', text: 'paused because its tools keep failing: evidence' }],
    'disk-full': [{ by: 'system' }, { kind: 'disk', text: 'the disk is full; it continues when there is room', can: ['doctor'] }],
    credentials: [{ by: 'system' }, { kind: 'credentials', text: 'waits for a key that works: evidence' }],
    supervisor: [{ by: 'system' }, { kind: 'hold:supervisor', text: 'its supervisor does not start it again: evidence' }],
    'daemon-shutdown': [{ by: 'system' }, { kind: 'hold:daemon-shutdown', text: 'the daemon was stopped while it worked' }],
    'daemon-crash': [{ by: 'system' }, { kind: 'hold:daemon-crash', text: 'the daemon was killed while it worked' }],
  }

  test.each(HOLD_REASONS)('with the reason %s has its cause, its start and what can be done', (reason) => {
    const [hold, expected] = HOLD_CASES[reason]
    expect(whyAfter([SPAWNED, STARTED, READY, held({ reason, ...hold }), note('evidence'), DRAINED])).toMatchObject({
      since: timeAfter(2),
      ...expected,
    })
  })

  test('a process that was paused with all below it does not name itself', () => {
    const facts = [SPAWNED, STARTED, READY, held({ reason: 'subtree', root: UUID }), DRAINED]
    expect(whyAfter(facts)).toEqual(expect.objectContaining({ kind: 'hold:subtree', text: 'paused by the user' }))
    expect(whyAfter(facts)).not.toHaveProperty('on', UUID)
  })

  test('a recorded budget is named once', () => {
    const facts = [SPAWNED, STARTED, READY, held({ reason: 'budget', by: 'system' }), note('budget: $1 of $1 are spent'), DRAINED]
    expect(whyAfter(facts)).toMatchObject({ text: 'paused for a budget: $1 of $1 are spent' })
  })

  test.each([
    ['of the process itself', UUID, 'suspend', { kind: 'hold:budget', text: 'budget: $0.9500 of $1 are spent', limit: 'budgetUsd' }],
    ['of another process', ROOT, 'suspend', { kind: 'hold:budget', text: 'the budget of root is used up', on: ROOT }],
    [
      'that open calls reserve',
      ROOT,
      'wait',
      { kind: 'budget-room', text: 'waits for room in the budget of root, which open calls reserve', on: ROOT },
    ],
  ] as const)('names a budget %s', (_, scope, action, expected) => {
    const reached: FactBody = { type: 'limit.reached', limit: 'budgetUsd', used: 0.95, of: 1, action, scope }
    expect(whyAfter([SPAWNED, STARTED, READY, held({ reason: 'budget', by: 'system' }), reached, DRAINED])).toMatchObject(expected)
  })

  test.each([
    ['of the process itself', 'budgetUsd', UUID, { text: 'paused for a budget: $0.9500 of $1 are spent', limit: 'budgetUsd' }],
    [
      'of a process above',
      'budgetUsd',
      ROOT,
      { text: 'paused for the budget of root: $0.9500 of $1 are spent', limit: 'budgetUsd', on: ROOT },
    ],
    ['of a process above, in tokens', 'budgetTokens', ROOT, { limit: 'budgetTokens', on: ROOT }],
    ['of the day', 'dailyUsd', UUID, { text: 'paused for the budget of the home: $0.9500 of $1 are spent today', limit: 'dailyUsd' }],
    ['of the month', 'monthlyUsd', UUID, { limit: 'monthlyUsd' }],
    ['of a process that the list does not have', 'budgetUsd', uuidOf(9), { text: /^paused for a budget: budget of [0-9a-f]{8}: / }],
  ] as const)('names a budget %s also after a restart of the daemon', (_, limit, scope, expected) => {
    const reached: FactBody = { type: 'limit.reached', limit, used: 0.95, of: 1, action: 'suspend', scope }
    const budget = held({ reason: 'budget', by: 'system' })
    const { process } = afterFacts([{ ...SPAWNED, parentUuid: ROOT }, STARTED, READY, budget, reached, DRAINED])
    const root = { ...process, uuid: ROOT, parentUuid: null, spec: specOf({ name: 'root' }) }
    const context = { row: (uuid: string) => (uuid === ROOT ? root : undefined) }
    const { kind, text, limit: known, on } = whyOf(process, context) ?? {}
    const { text: words, ...data } = { text: /./, ...expected }
    expect(kind).toBe('hold:budget')
    expect(text).toMatch(words)
    expect({ limit: known, on }).toEqual({ limit: undefined, on: undefined, ...data })
    expect(uuidsInWhy(process, context)).toEqual(scope === ROOT ? [ROOT] : [])
  })

  test('states that the process continues after a rate limit, if it wakes then', () => {
    const hold = held({ reason: 'rate-limit', until: WALL + 600_000, wake: true })
    expect(whyAfter([SPAWNED, STARTED, READY, hold, DRAINED])?.text).toMatch(/, then it continues$/)
  })

  test('is about missing credentials rather than a pause by the user, and counts the other hold', () => {
    const why = whyAfter([SPAWNED, STARTED, READY, held({ reason: 'user' }), held({ reason: 'credentials' }), DRAINED])
    expect(why).toMatchObject({ kind: 'credentials', text: 'waits for a key that works (and 1 more hold)' })
  })

  test('names a call that must end first', () => {
    const why = whyAfter([SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, held({ reason: 'user' })])
    expect(why).toMatchObject({ kind: 'drain', text: 'paused by the user; bash make must end first', can: ['resume'] })
  })
})

test('the open call has its input on one line of at most 120 characters', () => {
  const { process, tracker } = afterFacts([SPAWNED, STARTED, WORKING, CALL, toolCall('a', `echo \u202e${'x'.repeat(300)}\n\u0007`), TOOL])
  const doing = doingOf(process, tracker.of(UUID))
  expect(doing).toMatchObject({ step: 1, what: 'tool', name: 'bash', since: timeAfter(5) })
  expect(doing?.input).toMatch(/^echo x{114}…$/)
})

test('a call that has ended is forgotten', () => {
  const ended: FactBody = { type: 'tool.finished', step: 1, callId: 'a', name: 'bash', outcome: 'ok', content: '', durationMs: 1 }
  const { process, tracker } = afterFacts([SPAWNED, STARTED, WORKING, CALL, toolCall('a', 'make'), TOOL, ended])
  expect(doingOf(process, tracker.of(UUID))).toBeNull()
  expect(tracker.of(UUID)?.inputs.size).toBe(0)
})

describe('the author of a reported task', () => {
  const task = (fields: Partial<Parameters<typeof reportedTaskText>[0]>): Parameters<typeof reportedTaskText>[0] => ({
    id: 'lexer',
    state: 'awaiting_review',
    reviewer: null,
    ask: null,
    ...fields,
  })
  test.each([
    ['waits for a reviewer of lexer', task({})],
    ['waits for the review of lexer by worker-2', task({ state: 'in_review', reviewer: 'worker-2' })],
    ['waits until the user approves lexer', task({ state: 'waiting', ask: { id: 'lexer.1', for: 'gate' } })],
    ['waits until the user reviews lexer', task({ state: 'waiting', ask: { id: 'lexer.1', for: 'review' } })],
    ['waits for the merge of lexer', task({ state: 'approved' })],
    ['waits for the merge of lexer', task({ state: 'merging' })],
    ['has reported lexer, and waits for the crew', task({ state: 'queued' })],
  ])('%s', (text, reported) => {
    expect(reportedTaskText(reported)).toBe(text)
  })
})
