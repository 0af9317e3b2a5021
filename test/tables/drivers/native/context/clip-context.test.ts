// Contexts with shortened texts: which parts are shortened, which stay unchanged, and the token estimate.
import { describe, expect, test } from 'vitest'
import { CLIP_LEVELS, clipContext } from '../../../../../src/drivers/native/context/clip-context.ts'
import type { ContextMessage } from '../../../../../src/drivers/native/context/context.ts'
import type { ModelContext } from '../../../../../src/drivers/native/models/model.ts'

const LONG = `begin${'x'.repeat(20_000)}end`
const MESSAGES: readonly ContextMessage[] = [
  { role: 'user', text: LONG },
  {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: LONG, meta: { signature: 's' } },
      { type: 'text', text: LONG, meta: { id: 1 } },
      { type: 'tool-call', callId: 'c', name: 'write', input: { path: 'a', content: LONG, list: [LONG, 7, null] }, meta: { id: 2 } },
    ],
  },
  {
    role: 'tool',
    results: [{ callId: 'c', name: 'write', outcome: 'ok', content: LONG, images: [{ mediaType: 'image/png', data: LONG }] }],
  },
]
const CONTEXT: ModelContext = { messages: MESSAGES, lastResult: LONG, estimateTokens: (overheadBytes) => 30_000 + overheadBytes / 4 }

const clipAt = (level: number): readonly ContextMessage[] => clipContext(CONTEXT, level).messages

describe('a shortened context', () => {
  test('is the context itself at the first level and at an unknown level', () => {
    expect(clipContext(CONTEXT, 0)).toBe(CONTEXT)
    expect(clipContext(CONTEXT, CLIP_LEVELS.length)).toBe(CONTEXT)
  })

  test.each([1, 2, 3])('keeps at level %i the beginning and the end of a text, and states the omitted part', (level) => {
    const chars = CLIP_LEVELS[level] ?? 0
    const [user, assistant, tool] = clipAt(level)
    const userText = user?.role === 'user' ? user.text : ''
    expect(userText).toMatch(/^beginx+\n\[… \d+ characters omitted …\]\nx+end$/)
    expect(userText.length).toBeLessThan(4 * chars + 60)
    const content = tool?.role === 'tool' ? (tool.results[0]?.content ?? '') : ''
    expect(content).toMatch(/^beginx+\n\[… \d+ characters omitted …\]\nx+end\n\[1 image\(s\) omitted\]$/)
    expect(content.length).toBeLessThan(chars + 90)
    expect(tool).not.toHaveProperty('results.0.images')
    const [reasoning, text, call] = assistant?.role === 'assistant' ? assistant.parts : []
    expect(reasoning).toEqual(MESSAGES[1]?.role === 'assistant' ? MESSAGES[1].parts[0] : null)
    expect(text).toMatchObject({ meta: { id: 1 } })
    expect(call).toMatchObject({ callId: 'c', name: 'write', meta: { id: 2 }, input: { path: 'a', list: [expect.any(String), 7, null] } })
    expect(JSON.stringify(call).length).toBeLessThan(2 * chars + 250)
  })

  test('keeps short texts unchanged', () => {
    const shortContext: ModelContext = {
      ...CONTEXT,
      messages: [
        { role: 'user', text: 'short' },
        { role: 'assistant', parts: [{ type: 'text', text: 'é' }] },
      ],
    }
    expect(clipContext(shortContext, 3).messages).toEqual(shortContext.messages)
  })

  test('has an estimate that falls with the length of the texts, and always includes the overhead', () => {
    const estimates = CLIP_LEVELS.map((_, level) => clipContext(CONTEXT, level).estimateTokens(400))
    expect(estimates.toSorted((a, b) => b - a)).toEqual(estimates)
    expect(new Set(estimates).size).toBe(CLIP_LEVELS.length)
    expect(estimates.at(-1)).toBeGreaterThan(100)
    const emptyContext: ModelContext = { messages: [], lastResult: '', estimateTokens: (overheadBytes) => overheadBytes / 4 }
    expect(clipContext(emptyContext, 1).estimateTokens(400)).toBe(100)
  })
})
