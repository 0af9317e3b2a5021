// An incarnation whose output exceeds the limit: its steps and their costs are recorded, its texts are dropped.
import { expect, test } from 'vitest'
import { RecordedOutputLimit } from '../../../../src/drivers/command/recorded-output-limit.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'

const MIB = 1024 * 1024
const USAGE = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 1 }
const OUTPUT: Report = { type: 'output', stream: 'stdout', text: 'x'.repeat(MIB) }
const ANSWER: Report = {
  type: 'model.finished',
  step: 1,
  usage: USAGE,
  finish: 'tool-calls',
  durationMs: 1,
  calls: [{ callId: 'c', name: 'run', effect: 'once' }],
  message: [
    { type: 'text', text: 'x'.repeat(MIB) },
    { type: 'tool-call', callId: 'c', name: 'run', input: { a: 1 } },
  ],
}
const RESULT: Report = { type: 'tool.finished', callId: 'c', outcome: 'ok', content: 'x'.repeat(MIB), durationMs: 1 }
const NOTE = { type: 'note', text: 'its output is more than 1 MiB: no more of it is kept' }

test.each([OUTPUT, ANSWER, RESULT])('the report that exceeds the limit is kept, with a note: $type', (report) => {
  expect(new RecordedOutputLimit(MIB).allow(report)).toEqual([report, NOTE])
})

test('below the limit everything is kept', () => {
  const outputLimit = new RecordedOutputLimit(10 * MIB)
  for (const report of [OUTPUT, ANSWER, RESULT]) expect(outputLimit.allow(report)).toEqual([report])
})

test('above the limit texts are dropped, and reports of steps, costs and the exit stay', () => {
  const outputLimit = new RecordedOutputLimit(MIB)
  outputLimit.allow(OUTPUT)
  expect(outputLimit.allow(OUTPUT)).toEqual([])
  expect(outputLimit.allow({ type: 'note', text: 'n' })).toEqual([])
  expect(outputLimit.allow(ANSWER)).toEqual([{ ...ANSWER, message: [{ type: 'tool-call', callId: 'c', name: 'run', input: null }] }])
  expect(outputLimit.allow(RESULT)).toEqual([{ ...RESULT, content: '(not kept)' }])
  for (const report of [
    { type: 'usage', usage: USAGE },
    { type: 'exited', code: 0, osSignal: null },
  ] as const)
    expect(outputLimit.allow(report)).toEqual([report])
})
