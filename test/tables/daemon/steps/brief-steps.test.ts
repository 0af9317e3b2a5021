// The short rows of steps, fact by fact: to which time each moment belongs, the flags, the tools and the usage.
import { expect, test } from 'vitest'
import { STEP_FLAGS } from '../../../../src/api/step-flags.ts'
import { BriefSteps, type BriefStep } from '../../../../src/daemon/steps/brief-steps.ts'
import type { AssistantPart, BodyOf, FactBody } from '../../../../src/kernel/model/facts.ts'
import type { Hold } from '../../../../src/kernel/model/process.ts'

const USAGE = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 30, cacheWriteTokens: 5, costUsd: 0.5 }
const HOLD: Hold = { reason: 'user', by: 'user', at: 0 }

const started = (step: number, attempt = 1): FactBody => ({ type: 'model.started', step, attempt, model: 'm' })
const finished = (step: number, changes: Partial<BodyOf<'model.finished'>> = {}): FactBody => ({
  type: 'model.finished',
  step,
  message: [{ type: 'text', text: 'hello' }],
  usage: USAGE,
  finish: 'stop',
  durationMs: 5,
  ...changes,
})
const call = (callId: string, name = 'bash'): AssistantPart => ({ type: 'tool-call', callId, name, input: {} })
const toolStarted = (callId: string, effect: 'read' | 'once' = 'read'): FactBody => ({
  type: 'tool.started',
  step: 1,
  callId,
  name: 'bash',
  effect,
})
const toolFinished = (callId: string, changes: Partial<BodyOf<'tool.finished'>> = {}): FactBody => ({
  type: 'tool.finished',
  step: 1,
  callId,
  name: 'bash',
  outcome: 'ok',
  content: '',
  durationMs: 1,
  ...changes,
})

/** Returns the rows after these facts, each with its time. */
function rowsOf(...facts: readonly (readonly [at: number, body: FactBody])[]): readonly BriefStep[] {
  const brief = new BriefSteps()
  for (const [at, body] of facts) brief.apply(body, at)
  return brief.rows
}

const flagsOf = ({ flags }: BriefStep): string[] => Object.entries(STEP_FLAGS).flatMap(([name, bit]) => ((flags & bit) === 0 ? [] : [name]))

test('a step without tools has its model time, its usage and its text', () => {
  const [row] = rowsOf([100, started(1)], [110, finished(1, { durationMs: 30, message: [{ type: 'text', text: ' a\n\tb\u001b[31m ' }] })])
  expect(row).toEqual({
    step: 1,
    at: 80,
    modelMs: 30,
    toolMs: 0,
    humanMs: 0,
    heldMs: 0,
    in: 45,
    cached: 30,
    out: 2,
    usd: 0.5,
    ctx: 47,
    flags: 0,
    tools: [],
    text: 'a b',
  })
})

test('time belongs to the user while a question is open, to a hold when nothing runs, and otherwise to the tools', () => {
  const asks: FactBody = { type: 'process.waiting', question: 'May I?' }
  const [row] = rowsOf(
    [0, started(1)],
    [10, finished(1, { durationMs: 10, message: [call('a')] })],
    [10, toolStarted('a', 'once')],
    [20, asks],
    [50, { type: 'process.answered', id: '', option: 'yes', text: null, by: 'user' }],
    [60, { type: 'process.held', hold: HOLD, mono: 0 }],
    [65, { type: 'process.frozen', inFlight: 'bash' }],
    [165, { type: 'process.released', holds: [HOLD], by: 'user', mono: 0 }],
    [170, toolFinished('a', { exitCode: 3 })],
    [400, { type: 'usage.reported', usage: { ...USAGE, costUsd: null }, contextTokens: 99 }],
  )
  expect(row).toMatchObject({ modelMs: 10, toolMs: 30, humanMs: 30, heldMs: 100, tools: ['bash!'], in: 90, usd: 0.5, ctx: 99 })
  expect(flagsOf(row as BriefStep)).toEqual(['failed', 'writes', 'asked', 'held'])
})

test('time belongs to the user again after an answer was taken back', () => {
  const [row] = rowsOf(
    [0, started(1)],
    [10, finished(1, { durationMs: 10, message: [call('a')] })],
    [10, toolStarted('a')],
    [20, { type: 'process.waiting', question: 'May I?' }],
    [50, { type: 'process.answered', id: '', option: 'yes', text: null, by: 'user', delivery: { at: 5_050, dueMono: 5_050 } }],
    [60, { type: 'process.unanswered', id: '', by: 'user' }],
    [90, { type: 'process.answered', id: '', option: 'no', text: null, by: 'user' }],
    [100, toolFinished('a')],
  )
  expect(row).toMatchObject({ humanMs: 60, toolMs: 30 })
})

test('no time is counted between two incarnations; a call without a result keeps the step open', () => {
  const [row] = rowsOf(
    [0, started(1)],
    [5, { type: 'model.failed', step: 1, attempt: 1, error: 'busy', status: 529, retryInMs: 5 }],
    [10, started(1, 2)],
    [20, finished(1, { durationMs: 10, message: [call('a'), call('b', 'read')] })],
    [20, toolStarted('a')],
    [30, { type: 'process.exited', exit: { code: 1, reason: 'interrupted', cause: 'daemon' }, mono: 0 }],
    [1_000, { type: 'process.started', mono: 0, attached: true, containment: null }],
    [1_010, toolFinished('a', { outcome: 'interrupted' })],
  )
  expect(row).toMatchObject({ modelMs: 15, toolMs: 20, tools: ['bash!', 'read?'] })
  expect(flagsOf(row as BriefStep)).toEqual(['open', 'failed', 'retried'])
})

test('records, checkpoints and compactions belong to their step, also when the next one has begun', () => {
  const record = (step: number, commit: string): FactBody => ({ type: 'files.recorded', step, commit, head: 'h', left: [] })
  const compacted: FactBody = {
    type: 'context.compacted',
    step: 2,
    summary: '',
    ranges: [],
    before: 9,
    after: 1,
    usage: USAGE,
    durationMs: 1,
  }
  const rows = rowsOf(
    [0, record(0, 'a')],
    [0, started(1)],
    [1, finished(1)],
    [2, started(2)],
    [3, record(1, 'b')],
    [4, finished(2)],
    [5, record(2, 'b')],
    [6, { type: 'checkpoint.written', step: 2, ranges: [], turn: 1, openCalls: [] }],
    [7, compacted],
  )
  expect(rows.map(flagsOf)).toEqual([['files'], ['compacted', 'checkpoint']])
})
