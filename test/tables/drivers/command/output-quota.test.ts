// What is recorded of an incarnation with too much output: its steps and their costs, without texts.
import { expect, test } from 'vitest'
import { OutputQuota } from '../../../../src/drivers/command/output-quota.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'

const MIB = 1024 * 1024
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 1 }
const output: Report = { type: 'output', stream: 'stdout', text: 'x'.repeat(MIB) }
const answer: Report = {
  type: 'model.finished',
  step: 1,
  usage,
  finish: 'tool-calls',
  durationMs: 1,
  calls: [{ callId: 'c', name: 'run', effect: 'once' }],
  message: [
    { type: 'text', text: 'x'.repeat(MIB) },
    { type: 'tool-call', callId: 'c', name: 'run', input: { a: 1 } },
  ],
}
const result: Report = { type: 'tool.finished', callId: 'c', outcome: 'ok', content: 'x'.repeat(MIB), durationMs: 1 }
const NOTE = { type: 'note', text: 'its output is more than 1 MiB: no more of it is kept' }

test.each([[output], [answer], [result]])('%#: the report that passes the limit is kept, with a note', (report) => {
  expect(new OutputQuota(MIB).allow(report)).toEqual([report, NOTE])
})

test('below the limit everything is kept', () => {
  const kept = new OutputQuota(10 * MIB)
  for (const report of [output, answer, result]) expect(kept.allow(report)).toEqual([report])
})

test('above the limit texts are dropped, and events stay', () => {
  const kept = new OutputQuota(MIB)
  kept.allow(output)
  expect(kept.allow(output)).toEqual([])
  expect(kept.allow({ type: 'note', text: 'n' })).toEqual([])
  expect(kept.allow(answer)).toEqual([{ ...answer, message: [{ type: 'tool-call', callId: 'c', name: 'run', input: null }] }])
  expect(kept.allow(result)).toEqual([{ ...result, content: '(not kept)' }])
  for (const report of [
    { type: 'usage', usage },
    { type: 'exited', code: 0, osSignal: null },
  ] as const)
    expect(kept.allow(report)).toEqual([report])
})
