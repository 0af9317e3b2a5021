// The notes of a replay about the differences between two processes.
import { describe, expect, test } from 'vitest'
import type { ContextMessage, ToolResult } from '../../../../../src/drivers/native/context/context.ts'
import { inputDifferences, inputSinceAnswer, textDifference, toolDifference } from '../../../../../src/drivers/native/replay/replay-diff.ts'
import { ReplayProgress } from '../../../../../src/drivers/native/replay/replay.ts'

const LONG = 'x'.repeat(100)

test.each([
  ['same', 'same', null],
  [null, null, null],
  ['', null, "line 1: '' instead of nothing"],
  [null, 'be brief', "line 1: nothing instead of 'be brief'"],
  ['a\nb\nc', 'a\nB\nC', "line 2: 'b' instead of 'B'"],
  ['a\nb', 'a', "line 2: 'b' instead of nothing"],
  ['a', 'a\n', "line 2: nothing instead of ''"],
  [`${LONG}one`, `${LONG}two`, `line 1: '…${'x'.repeat(20)}one' instead of '…${'x'.repeat(20)}two'`],
  [`a${LONG}`, `b${LONG}`, `line 1: 'a${'x'.repeat(79)}…' instead of 'b${'x'.repeat(79)}…'`],
])('the texts %j and %j have the difference %j', (actual, recorded, note) => {
  expect(textDifference(actual, recorded)).toBe(note)
})

test.each([
  [['read', 'bash'], ['bash', 'read'], null],
  [['read'], ['read', 'bash', 'write'], 'the offered tools differ: without bash, write'],
  [['read', 'mcp__a__b'], ['read'], 'the offered tools differ: with mcp__a__b'],
  [['ls'], ['glob'], 'the offered tools differ: without glob; with ls'],
])('the tools %j and %j have the difference %j', (actual, recorded, note) => {
  expect(toolDifference(actual, recorded)).toBe(note)
})

const makeResult = (content: string, changes: Partial<ToolResult> = {}): ToolResult => ({
  callId: 'c',
  name: 'bash',
  outcome: 'ok',
  content,
  ...changes,
})
const makeMessages = (...texts: string[]): ContextMessage[] => texts.map((text) => ({ role: 'user', text }))

describe('before a step', () => {
  test('only the input after the last answer counts', () => {
    const context: ContextMessage[] = [
      ...makeMessages('first'),
      { role: 'assistant', parts: [] },
      { role: 'tool', results: [makeResult('out')] },
      ...makeMessages('second'),
    ]
    expect(inputSinceAnswer(context)).toMatchObject({ messages: ['second'], results: [{ callId: 'c', content: 'out', images: 0 }] })
    expect(inputSinceAnswer(makeMessages('a', 'b')).messages).toEqual(['a', 'b'])
  })

  test('a result is noted with the step of its call, a message with the step that includes it', () => {
    const actual = inputSinceAnswer([{ role: 'tool', results: [makeResult('1 passed\n2 passed')] }, ...makeMessages('go', 'on')])
    const recorded = inputSinceAnswer([{ role: 'tool', results: [makeResult('1 passed\n3 passed')] }, ...makeMessages('Go')])
    expect(inputDifferences(5, actual, recorded)).toEqual([
      "step 4: the result of `bash` differs: line 2: '2 passed' instead of '3 passed'",
      "step 5: the message differs: line 1: 'go' instead of 'Go'",
      "step 5: an unrecorded message: 'on'",
    ])
    expect(inputDifferences(5, recorded, actual).at(-1)).toBe("step 5: a recorded message is missing: 'on'")
  })

  test('a different outcome is noted before a different text, and images count', () => {
    const image = { mediaType: 'image/png', data: '' }
    const inputOf = (toolResult: ToolResult): ReturnType<typeof inputSinceAnswer> =>
      inputSinceAnswer([{ role: 'tool', results: [toolResult] }])
    expect(inputDifferences(2, inputOf(makeResult('no', { outcome: 'denied' })), inputOf(makeResult('yes')))).toEqual([
      'step 1: the result of `bash` differs: denied instead of ok',
    ])
    expect(inputDifferences(2, inputOf(makeResult('')), inputOf(makeResult('', { images: [image] })))).toEqual([
      'step 1: the result of `bash` differs: 0 images instead of 1',
    ])
    expect(inputDifferences(2, inputOf(makeResult('same')), inputOf(makeResult('same')))).toEqual([])
    expect(inputDifferences(2, inputOf(makeResult('same')), inputOf(makeResult('same', { callId: 'other' })))).toEqual([])
  })
})

test('a replay reads the differences of earlier incarnations, and no other note that names the replay', () => {
  const progress = new ReplayProgress('replay:0198c1a2')
  for (const text of [
    'replay: step 1: an unrecorded message',
    'replay:0198c1a2 failed (busy): script:b.yaml takes over',
    'budget: 9 of 9 tokens are used',
  ])
    progress.observe({ type: 'process.note', text })
  expect([...progress.notes]).toEqual(['step 1: an unrecorded message'])
})
