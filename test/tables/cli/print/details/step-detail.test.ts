// One step with all its details, as text.
import { expect, test } from 'vitest'
import { stepDetailLines } from '../../../../../src/cli/print/details/step-detail.ts'
import type { StepDetailView } from '../../../../../src/api/views/steps.ts'

const out = { paint: (_: string, text: string): string => text }
const timeAt = (seconds: number): string => `2026-01-01T00:00:${String(seconds).padStart(2, '0')}.000Z`

const STEP: StepDetailView = {
  step: 12,
  startedAt: timeAt(0),
  finishedAt: timeAt(41),
  model: 'm',
  attempts: 2,
  text: 'I keep it.\u001b[31m',
  reasoning: 'The state\nwas lost.',
  tools: [
    {
      callId: 'a',
      name: 'bash',
      input: { command: 'npm test' },
      effect: 'once',
      startedAt: timeAt(2),
      outcome: 'ok',
      exitCode: 1,
      result: '41 passed\n1 failed\n',
      durationMs: 38_100,
      truncated: ['result'],
      images: [{ mediaType: 'image/png', bytes: 70 }],
    },
    {
      callId: 'b',
      name: 'write',
      input: null,
      effect: null,
      startedAt: null,
      outcome: null,
      exitCode: null,
      result: null,
      durationMs: null,
      unbegun: true,
      truncated: ['input'],
      images: [],
    },
  ],
  inputTokens: 3_000,
  outputTokens: 512,
  cacheReadTokens: 38_000,
  cacheWriteTokens: 0,
  costUsd: 0.05,
  notes: [],
  modelMs: 2_000,
  firstTokenMs: 640,
  toolMs: 38_100,
  humanMs: 900,
  heldMs: 0,
  calls: [
    { at: timeAt(0), model: 'm', error: 'busy', status: 529, retryInMs: 10 },
    { at: timeAt(1), model: 'm', error: null, status: null, retryInMs: null },
  ],
  messages: [{ id: 'm1', from: 'user', text: 'no regex', at: timeAt(0), truncated: true }],
  asks: [
    { id: 'q', text: 'Run it?', at: timeAt(2), answeredAt: timeAt(3), by: 'user', answer: 'allow', withdrawn: false },
    { id: 'r', text: 'And this?', at: timeAt(4), answeredAt: null, by: null, answer: null, withdrawn: true },
  ],
  holds: [{ reason: 'budget', by: 'system', at: timeAt(5), releasedAt: null, releasedBy: null }],
  contextTokens: 41_000,
  compaction: { before: 182_000, after: 24_000, summary: 'short' },
  files: { commit: 'c', changed: true },
  checkpoint: true,
}

test('the text of a step has all its details; without details it has two lines', () => {
  expect(stepDetailLines(STEP, out).join('\n')).toMatchInlineSnapshot(`
    "step 12 | m | 2026-01-01T00:00:00.000Z | 41.0s
      model 2.0s (first token 640ms) | tools 38.1s | user 900ms | 3.0k in, 512 out, 38.0k cache read | $0.0500 | context 41.0k | files changed | checkpoint
      attempt failed: busy (529)
    message from user (cut)
      no regex
    reasoning
      The state
      was lost.
    text
      I keep it.
    bash: exit 1 38.1s (once)
      {
       "command": "npm test"
      }
      41 passed
      1 failed
      (cut at 65,536 characters)
      (image image/png, 70 bytes)
    write: not begun
      (the input is longer than 65,536 characters)
    asked Run it?: allow by user after 1.0s
    asked And this?: withdrawn
    held budget by system: not released in this step
    compacted 182k to 24.0k tokens"
  `)
  const bare: StepDetailView = {
    ...STEP,
    finishedAt: null,
    text: null,
    reasoning: null,
    tools: [],
    costUsd: null,
    humanMs: 0,
    toolMs: 0,
    calls: [],
    messages: [],
    asks: [],
    holds: [],
    contextTokens: null,
    compaction: null,
    files: null,
    firstTokenMs: null,
    checkpoint: false,
  }
  expect(stepDetailLines(bare, out).join('\n')).toMatchInlineSnapshot(`
    "step 12 | m | 2026-01-01T00:00:00.000Z | not finished
      model 2.0s | 3.0k in, 512 out, 38.0k cache read"
  `)
})
