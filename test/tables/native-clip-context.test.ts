// Contexts with their long texts cut: what is cut, what stays as it is, and what is left to be counted.
import { describe, expect, test } from 'vitest'
import { CLIP_LEVELS, clipContext } from '../../src/drivers/native/clip-context.ts'
import type { ContextMessage } from '../../src/drivers/native/context.ts'
import type { Messages } from '../../src/drivers/native/model.ts'

const LONG = `begin${'x'.repeat(20_000)}end`
const MESSAGES: readonly ContextMessage[] = [
  { role: 'user', text: LONG },
  { role: 'assistant', parts: [
    { type: 'reasoning', text: LONG, meta: { signature: 's' } },
    { type: 'text', text: LONG, meta: { id: 1 } },
    { type: 'tool-call', callId: 'c', name: 'write', input: { path: 'a', content: LONG, list: [LONG, 7, null] }, meta: { id: 2 } },
  ] },
  { role: 'tool', results: [{ callId: 'c', name: 'write', outcome: 'ok', content: LONG, images: [{ mediaType: 'image/png', data: LONG }] }] },
]
const CONTEXT: Messages = { messages: MESSAGES, lastResult: LONG, estimateTokens: (overheadBytes) => 30_000 + overheadBytes / 4 }

const cut = (level: number): readonly ContextMessage[] => clipContext(CONTEXT, level).messages

describe('level by level', () => {
  test('the first level is the context itself, and there is one after the last', () => {
    expect(clipContext(CONTEXT, 0)).toBe(CONTEXT)
    expect(clipContext(CONTEXT, CLIP_LEVELS.length)).toBe(CONTEXT)
  })

  test.each([1, 2, 3])('level %i keeps the beginning and the end, and says what is left out', (level) => {
    const chars = CLIP_LEVELS[level] ?? 0
    const [user, assistant, tool] = cut(level)
    const said = user?.role === 'user' ? user.text : ''
    expect(said).toMatch(/^beginx+\n\[… \d+ characters left out …\]\nx+end$/)
    expect(said.length).toBeLessThan(4 * chars + 60)
    const content = tool?.role === 'tool' ? tool.results[0]?.content ?? '' : ''
    expect(content).toMatch(/^beginx+\n\[… \d+ characters left out …\]\nx+end\n\[1 image\(s\) left out\]$/)
    expect(content.length).toBeLessThan(chars + 90)
    expect(tool).not.toHaveProperty('results.0.images')
    const [reasoning, text, call] = assistant?.role === 'assistant' ? assistant.parts : []
    expect(reasoning).toEqual(MESSAGES[1]?.role === 'assistant' ? MESSAGES[1].parts[0] : null)
    expect(text).toMatchObject({ meta: { id: 1 } })
    expect(call).toMatchObject({ callId: 'c', name: 'write', meta: { id: 2 }, input: { path: 'a', list: [expect.any(String), 7, null] } })
    expect(JSON.stringify(call).length).toBeLessThan(2 * chars + 250)
  })

  test('what is short stays as it is', () => {
    const short: Messages = { ...CONTEXT, messages: [{ role: 'user', text: 'short' }, { role: 'assistant', parts: [{ type: 'text', text: 'é' }] }] }
    expect(clipContext(short, 3).messages).toEqual(short.messages)
  })

  test('tokens go down with the texts, and those of the prompt around them stay', () => {
    const estimates = CLIP_LEVELS.map((_, level) => clipContext(CONTEXT, level).estimateTokens(400))
    expect(estimates.toSorted((a, b) => b - a)).toEqual(estimates)
    expect(new Set(estimates).size).toBe(CLIP_LEVELS.length)
    expect(estimates.at(-1)).toBeGreaterThan(100)
    const empty: Messages = { messages: [], lastResult: '', estimateTokens: (overheadBytes) => overheadBytes / 4 }
    expect(clipContext(empty, 1).estimateTokens(400)).toBe(100)
  })
})
