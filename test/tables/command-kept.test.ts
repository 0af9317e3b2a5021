// What is kept of an incarnation that says too much: that its steps happened, and what they cost.
import { expect, test } from 'vitest'
import { Kept } from '../../src/drivers/command/kept.ts'
import type { Report } from '../../src/kernel/reports.ts'

const MIB = 1024 * 1024
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 1 }
const output: Report = { type: 'output', stream: 'stdout', text: 'x'.repeat(MIB) }
const answer: Report = {
  type: 'model.finished', step: 1, usage, finish: 'tool-calls', durationMs: 1, calls: [{ callId: 'c', name: 'run', effect: 'once' }],
  message: [{ type: 'text', text: 'x'.repeat(MIB) }, { type: 'tool-call', callId: 'c', name: 'run', input: { a: 1 } }],
}
const result: Report = { type: 'tool.finished', callId: 'c', outcome: 'ok', content: 'x'.repeat(MIB), durationMs: 1 }
const NOTE = { type: 'note', text: 'its output is more than 1 MiB: no more of it is kept' }

test.each([[output], [answer], [result]])('%#: what passes the limit is kept, with a note', (report) => {
  expect(new Kept(MIB).of(report)).toEqual([report, NOTE])
})

test('below the limit all is kept as it is', () => {
  const kept = new Kept(10 * MIB)
  for (const report of [output, answer, result]) expect(kept.of(report)).toEqual([report])
})

test('beyond it the words go, and what happened stays', () => {
  const kept = new Kept(MIB)
  kept.of(output)
  expect(kept.of(output)).toEqual([])
  expect(kept.of({ type: 'note', text: 'n' })).toEqual([])
  expect(kept.of(answer)).toEqual([{ ...answer, message: [{ type: 'tool-call', callId: 'c', name: 'run', input: null }] }])
  expect(kept.of(result)).toEqual([{ ...result, content: '(not kept)' }])
  for (const report of [{ type: 'usage', usage }, { type: 'exited', code: 0, osSignal: null }] as const) expect(kept.of(report)).toEqual([report])
})
