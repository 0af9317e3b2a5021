// Streams that break at every byte, in each of the four formats: a call either fails as cut, with the text that had come
// in, or gives the whole answer. Never a half one, never a wrong tool call.
import { describe, expect, test } from 'vitest'
import { CallFailed } from '../../src/drivers/native/model.ts'
import type { Answer } from '../../src/drivers/native/model.ts'
import { bodyOf, modelServer } from '../support/model-server.ts'
import type { ServedAnswer } from '../support/model-server.ts'
import { askModel, wireModel, WIRES } from '../support/wire.ts'
import type { WireFormat } from '../support/wire.ts'

const SAMPLE: ServedAnswer = {
  thinking: { text: 'I think ünd', signature: 'sig-1' },
  text: 'Two ⏸ files',
  tools: [{ id: 'id_1', name: 'read', input: { path: 'a/ä.txt' } }, { id: 'id_2', name: 'ls', input: {} }],
  usage: { input: 20, output: 9, cacheRead: 30 },
}
const WHOLE = [
  { type: 'reasoning', text: 'I think ünd' },
  { type: 'text', text: 'Two ⏸ files' },
  { type: 'tool-call', callId: 'id_1', name: 'read', input: { path: 'a/ä.txt' } },
  { type: 'tool-call', callId: 'id_2', name: 'ls', input: {} },
]
/** Calls at the same time. */
const AT_ONCE = 24

type Outcome = Answer | CallFailed

/** One call for each length, all to one server. */
async function cutEverywhere(format: WireFormat, key: 'cutAfterBytes' | 'endAfterBytes'): Promise<readonly Outcome[]> {
  const length = bodyOf(SAMPLE, format.path).length
  await using server = await modelServer(({ body }) => ({ ...SAMPLE, [key]: Number(/cut-(\d+)/.exec(JSON.stringify(body))?.[1]) }))
  const model = await wireModel(format, server.url)
  const outcomes: Outcome[] = []
  let next = 0
  const caller = async (): Promise<void> => {
    for (let at = next++; at <= length; at = next++) {
      outcomes[at] = await askModel(model, { text: `cut-${at}` }).catch((error: unknown) => {
        if (error instanceof CallFailed) return error
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  expect(server.requests).toHaveLength(length + 1)
  return outcomes
}

function checkCut(failure: CallFailed): void {
  expect(failure).toMatchObject({ kind: 'cut', retryable: true, status: null })
  expect('Two ⏸ files'.startsWith(failure.partial)).toBe(true)
  if (failure.usage !== undefined) expect(failure.usage.inputTokens + failure.usage.cacheReadTokens).toBeGreaterThan(0)
}

function checkWhole({ message, finish, usage }: Answer): void {
  expect(message).toMatchObject(WHOLE)
  expect(message).toHaveLength(WHOLE.length)
  expect(finish).toBe('tool-calls')
  if (usage.estimated === undefined) expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 9, cacheReadTokens: 30, cacheWriteTokens: 0 })
}

describe.each(WIRES)('$kind', (format) => {
  test('a connection that breaks at any byte', async () => {
    const outcomes = await cutEverywhere(format, 'cutAfterBytes')
    for (const outcome of outcomes) {
      if (outcome instanceof CallFailed) checkCut(outcome)
      else checkWhole(outcome)
    }
    const partials = outcomes.flatMap((outcome) => (outcome instanceof CallFailed ? [outcome.partial] : []))
    expect(partials).toContain('Two ⏸ files')
    expect(partials.every((partial, index) => index === 0 || partial.length >= (partials[index - 1]?.length ?? 0)), 'what came in is never less than before').toBe(true)
  }, 300_000)

  test('a stream that ends in an orderly way at any byte', async () => {
    const outcomes = await cutEverywhere(format, 'endAfterBytes')
    const firstWhole = outcomes.findIndex((outcome) => !(outcome instanceof CallFailed))
    expect(firstWhole).toBeGreaterThan(bodyOf(SAMPLE, format.path).length / 2)
    outcomes.forEach((outcome, at) => {
      if (outcome instanceof CallFailed) checkCut(outcome)
      else checkWhole(outcome)
      expect(outcome instanceof CallFailed, `after ${at} bytes`).toBe(at < firstWhole)
    })
    expect(outcomes.at(-1)).toMatchObject({ usage: { inputTokens: 20, outputTokens: 9 } })
  }, 300_000)
})
