// The API view of a process in each state, and of its steps, made from facts only, as the daemon makes it.
import { expect, test } from 'vitest'
import { NO_CONTEXT, elapsedMs, processView, stepsOf } from '../../../../src/daemon/views/process-view.ts'
import type { ProcessView } from '../../../../src/api/views/process.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import type { ExitStatus, Hold, Process } from '../../../../src/kernel/model/process.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'

const UUID = uuidOf(1)
const START: readonly FactBody[] = [
  { type: 'process.spawned', pid: 7, spec: specOf({ name: 'writer' }), parentUuid: null, depth: 1, by: 'user' },
  { type: 'process.started', mono: 1_000, attached: true, containment: { kind: 'group', path: null, marker: 'm' } },
]
const HOLD: Hold = { reason: 'user', by: 'user', at: 1_700_000_002_000 }
const READY: FactBody = { type: 'process.ready', turn: 0 }
const HELD: FactBody = { type: 'process.held', hold: HOLD, mono: 3_000 }
const DRAINED: FactBody = { type: 'process.drained', inFlight: null }

function processExited(exit: Partial<ExitStatus> = {}): FactBody {
  return { type: 'process.exited', exit: { code: 0, reason: 'completed', cause: 'agent', ...exit }, mono: 4_000 }
}

function factsOf(bodies: readonly FactBody[]): StoredFact[] {
  return bodies.map((body, index) => ({
    cursor: index + 1,
    uuid: UUID,
    seq: index + 1,
    pid: 7,
    at: 1_700_000_000_000 + index * 1_000,
    body,
  }))
}

function processOf(bodies: readonly FactBody[]): Process {
  const process = factsOf(bodies).reduce<Process | undefined>((before, fact) => fold(before, fact), undefined)
  if (!process) throw new Error('no facts')
  return process
}

function viewOf(bodies: readonly FactBody[], mono = 5_000): ProcessView {
  const process = processOf(bodies)
  return processView(process, NO_CONTEXT, mono)
}

test.each<[string, readonly FactBody[], object]>([
  ['created', START.slice(0, 1), { state: 'created', status: 'pending', activity: null, startedAt: null, elapsedMs: 0, containment: null }],
  ['starting', START, { state: 'running', status: 'starting', activity: 'starting', elapsedMs: 4_000, containment: 'group' }],
  ['ready', [...START, READY], { status: 'ready', activity: 'ready', pausedAt: null, note: null }],
  [
    'paused and draining',
    [...START, HELD],
    {
      status: 'suspended',
      pausedAt: expect.stringMatching(/^20/),
      elapsedMs: 2_000,
      note: 'paused: by user (draining)',
      holds: [{ reason: 'user', by: 'user', at: expect.stringMatching(/^20.*[+-]\d\d:\d\d$/) }],
    },
  ],
  [
    'paused by an agent',
    [...START, READY, { type: 'process.held', hold: { ...HOLD, by: 'agent:0199c0de-0000-7000-8000-000000000007' }, mono: 3_000 }, DRAINED],
    { status: 'suspended', note: 'paused: by another process' },
  ],
  ['paused and drained', [...START, READY, HELD, DRAINED], { status: 'suspended', elapsedMs: 2_000, note: 'paused: by user' }],
  [
    'resumed',
    [...START, HELD, { type: 'process.released', holds: [HOLD], by: 'user', mono: 4_500 }],
    { status: 'starting', pausedAt: null, elapsedMs: 2_500, holds: [] },
  ],
  [
    'stopping in spite of a pause',
    [
      ...START,
      HELD,
      {
        type: 'process.stopping',
        stopping: { signal: 'SIGTERM', by: 'user', at: 1, graceMs: 300, exit: { code: 143, reason: 'x', cause: 'person' } },
      },
    ],
    { status: 'stopping', stopping: { signal: 'SIGTERM', by: 'user', at: expect.any(String) } },
  ],
  [
    'a zombie',
    [...START, processExited()],
    { state: 'zombie', status: 'zombie', exit: { code: 0, reason: 'completed' }, elapsedMs: 3_000 },
  ],
  [
    'completed',
    [...START, processExited(), { type: 'process.reaped' }],
    { state: 'dead', status: 'completed', exitedAt: expect.stringMatching(/^20/), activity: null, stopping: null, note: null },
  ],
  [
    'killed while it was paused',
    [
      ...START,
      HELD,
      processExited({ code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM', cause: 'person' }),
      { type: 'process.reaped' },
    ],
    { status: 'stopped', pausedAt: null, holds: [], elapsedMs: 2_000, note: 'ended while it was suspended' },
  ],
  [
    'failed, with its reason',
    [...START, { type: 'process.note', text: 'first' }, processExited({ code: 3, reason: 'exit code 3' }), { type: 'process.reaped' }],
    { status: 'failed', note: 'exit code 3' },
  ],
  [
    'ended by another process',
    [...START, processExited({ code: 143, reason: `SIGTERM from agent:${uuidOf(9)}`, signal: 'SIGTERM', cause: 'parent' })],
    { note: 'SIGTERM from another process' },
  ],
  [
    'completed, with its last note',
    [...START, { type: 'process.note', text: 'all well' }, processExited(), { type: 'process.reaped' }],
    { status: 'completed', note: 'all well' },
  ],
  ...(
    [
      ['the budget', 'budgetUsd', 0.504, 0.6],
      ['the steps', 'maxSteps', 8, 10],
      ['the context', 'context', 90, 100],
    ] as const
  ).map(([what, limit, used, of]): [string, readonly FactBody[], object] => [
    `completed, and had used most of ${what}`,
    [...START, { type: 'limit.warned', limit, used, of }, processExited(), { type: 'process.reaped' }],
    { status: 'completed', note: null },
  ]),
  [
    'ended by a limit',
    [
      ...START,
      { type: 'limit.warned', limit: 'budgetUsd', used: 0.504, of: 0.6 },
      processExited({ code: 2, reason: 'budget_exceeded', cause: 'limit' }),
      { type: 'process.reaped' },
    ],
    { note: 'budget_exceeded' },
  ],
  [
    'interrupted',
    [...START, processExited({ code: 1, reason: 'interrupted', cause: 'daemon' }), { type: 'process.reaped' }],
    { status: 'interrupted' },
  ],
])('the view of a process that is %s', (_name, bodies, expected) => {
  expect(viewOf(bodies)).toMatchObject(expected)
})

test('a budget shows its current usage, not its usage at the refusal of a call', () => {
  const spec = specOf({ limits: { budgetTokens: 100 } })
  const process = processOf([
    { type: 'process.spawned', pid: 7, spec, parentUuid: null, depth: 1, by: 'user' },
    ...START.slice(1),
    READY,
    { type: 'limit.reached', limit: 'budgetTokens', used: 80, of: 100, action: 'suspend', scope: UUID },
    { type: 'process.held', hold: { reason: 'budget', by: 'system', at: 1 }, mono: 3_000 },
    DRAINED,
  ])
  const noteAfterUsage = (inputTokens: number): string | null =>
    processView({ ...process, usage: { ...process.usage, inputTokens } }, NO_CONTEXT, 5_000).note
  expect(noteAfterUsage(110)).toBe('paused: budget (budget: 110 of 100 tokens are used)')
  // No limit blocks the process now, so only the recorded note is shown.
  expect(noteAfterUsage(0)).toBe('paused: budget (budget: 80 of 100 tokens are used)')
})

test('only the requested fields are shown, also those of the usage', () => {
  const process = processOf(START)
  expect(processView(process, NO_CONTEXT, 5_000, ['pid', 'usage.costUsd', 'usage.unpriced', 'usage.inputTokens'])).toEqual({
    pid: 7,
    usage: { costUsd: 0, unpriced: false, inputTokens: 0 },
  })
})

test('the view has neither the cause of the end, nor the environment, nor the role prompt', () => {
  const text = JSON.stringify(viewOf([...START, processExited(), { type: 'process.reaped' }]))
  for (const word of ['cause', 'C.UTF-8', 'You write tests.']) expect(text).not.toContain(word)
})

test('no time is negative after the clock was set back', () => {
  expect(elapsedMs(processOf(START).clock, 500)).toBe(0)
})

test('only the documented fields of an exit are shown', () => {
  const { exit } = viewOf([...START, processExited({ code: 1, reason: '401', error: '401', status: 401, resumeAt: 9 })])
  expect(exit).toEqual({ code: 1, reason: '401', error: '401' })
})

const CALLS: readonly FactBody[] = [
  { type: 'model.started', step: 1, attempt: 1, model: 'a/b' },
  { type: 'model.failed', step: 1, attempt: 1, error: 'cut', status: null, retryInMs: 5 },
  { type: 'model.started', step: 1, attempt: 2, model: 'a/b' },
  {
    type: 'model.finished',
    step: 1,
    finish: 'tool-calls',
    durationMs: 9,
    usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, costUsd: 0.5 },
    message: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I ' },
      { type: 'text', text: 'look' },
      { type: 'tool-call', callId: 'x', name: 'read', input: { path: 'a' } },
      { type: 'tool-call', callId: 'y', name: 'bash', input: {} },
    ],
  },
]
const FIRST_END: FactBody = {
  type: 'tool.finished',
  step: 1,
  callId: 'y',
  name: 'bash',
  outcome: 'ok',
  exitCode: 3,
  content: 'no',
  durationMs: 2,
}
const SECOND_END: FactBody = { type: 'tool.finished', step: 1, callId: 'x', name: 'read', outcome: 'ok', content: 'yes', durationMs: 1 }

test('a step counts its attempts, marks calls that have not begun, and is finished when the last of its calls is', () => {
  const [open] = stepsOf(factsOf([...CALLS, FIRST_END]), new Set())
  expect(open).toMatchObject({
    step: 1,
    attempts: 2,
    model: 'a/b',
    text: 'I look',
    finishedAt: null,
    inputTokens: 10,
    outputTokens: 2,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    costUsd: 0.5,
    tools: [
      { callId: 'x', outcome: null, exitCode: null, result: null, durationMs: null },
      { callId: 'y', name: 'bash', outcome: 'ok', exitCode: 3, result: 'no', durationMs: 2 },
    ],
  })
  const [whole] = stepsOf(factsOf([...CALLS, FIRST_END, SECOND_END]), new Set())
  expect(whole?.finishedAt).toMatch(/^20/)
  const unbegun = (facts: FactBody[]): boolean[] | undefined =>
    stepsOf(factsOf(facts), new Set(['x']))[0]?.tools.map((tool) => tool.unbegun === true)
  expect(unbegun([...CALLS, FIRST_END])).toEqual([true, false])
  expect(unbegun([...CALLS, FIRST_END, SECOND_END]), 'a call with an outcome has begun').toEqual([false, false])
})

test('a step with an open call has no text and no cost yet; facts of unknown steps are skipped', () => {
  expect(stepsOf(factsOf([...CALLS.slice(0, 1)]), new Set())).toMatchObject([
    { step: 1, attempts: 1, text: null, costUsd: null, finishedAt: null, tools: [] },
  ])
  expect(stepsOf(factsOf([FIRST_END]), new Set())).toEqual([])
})

test('a step shows compactions after it, and the type of an image in a result without text', () => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
  const [step] = stepsOf(
    factsOf([
      ...CALLS,
      FIRST_END,
      { ...SECOND_END, content: '', images: [{ mediaType: 'image/png', data: 'AAAA' }] },
      { type: 'compaction.started', step: 1, attempt: 1, model: 'a/b' },
      { type: 'compaction.failed', step: 1, attempt: 1, error: 'overloaded', status: 529, retryInMs: 5 },
      { type: 'context.compacted', step: 1, summary: 'so far', ranges: [[1, 2]], before: 180_000, after: 20_000, usage, durationMs: 9 },
    ]),
    new Set(),
  )
  expect(step).toMatchObject({
    tools: [{ result: '[image/png]' }, { result: 'no' }],
    notes: ['the context could not be compacted: overloaded', 'context compacted: 180,000 -> 20,000 tokens'],
  })
})
