// Streams that break at any byte, in each of the four formats (at every byte in the large size). A call either fails as cut, with the
// text so far, or gives the whole answer. No call gives a partial answer or a wrong tool call.
import { describe, expect, test } from 'vitest'
import { CallFailed } from '../../../src/drivers/native/models/model.ts'
import type { ModelAnswer } from '../../../src/drivers/native/models/model.ts'
import { deep } from '../../support/deep.ts'
import { bodyOf, startModelServer } from '../../support/models/model-server.ts'
import type { ServedAnswer } from '../../support/models/model-server.ts'
import { callModel, createWireModel, WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import { SEED } from '../../support/seed.ts'
import type { WireFormat } from '../../support/models/wire-formats.ts'

const SAMPLE: ServedAnswer = {
  thinking: { text: 'I think ünd', signature: 'sig-1' },
  text: 'Two ⏸ files',
  tools: [
    { id: 'id_1', name: 'read', input: { path: 'a/ä.txt' } },
    { id: 'id_2', name: 'ls', input: {} },
  ],
  usage: { input: 20, output: 9, cacheRead: 30 },
}
const WHOLE = [
  { type: 'reasoning', text: 'I think ünd' },
  { type: 'text', text: 'Two ⏸ files' },
  { type: 'tool-call', callId: 'id_1', name: 'read', input: { path: 'a/ä.txt' } },
  { type: 'tool-call', callId: 'id_2', name: 'ls', input: {} },
]
/** The number of concurrent calls. */
const AT_ONCE = 24

/** One length in EVERY is tried; the last END_BYTES bytes are tried one by one. */
const EVERY = deep(31, 1)
const END_BYTES = 100
/** The first length, which differs in each run. */
const FIRST = SEED % EVERY

type Outcome = ModelAnswer | CallFailed
interface CutCall {
  /** the number of bytes before the cut */
  readonly at: number
  readonly outcome: Outcome
}

/** One call for each length, all to one server. */
async function cutAtEveryByte(format: WireFormat, key: 'cutAfterBytes' | 'endAfterBytes'): Promise<readonly CutCall[]> {
  const length = bodyOf(SAMPLE, format.path).length
  const lengths = Array.from({ length: length + 1 }, (_, byteCount) => byteCount).filter(
    (byteCount) => byteCount % EVERY === FIRST || byteCount > length - END_BYTES,
  )
  await using server = await startModelServer(({ body }) => ({ ...SAMPLE, [key]: Number(/cut-(\d+)/.exec(JSON.stringify(body))?.[1]) }))
  const model = await createWireModel(format, server.url)
  const cuts: CutCall[] = []
  const remainingLengths = [...lengths]
  const runCaller = async (): Promise<void> => {
    for (let byteCount = remainingLengths.shift(); byteCount !== undefined; byteCount = remainingLengths.shift()) {
      const outcome = await callModel(model, { text: `cut-${byteCount}` }).catch((error: unknown) => {
        if (error instanceof CallFailed) return error
        throw error
      })
      cuts.push({ at: byteCount, outcome })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runCaller))
  expect(server.requests).toHaveLength(lengths.length)
  return cuts.toSorted((one, other) => one.at - other.at)
}

function checkCut(failure: CallFailed): void {
  expect(failure).toMatchObject({ kind: 'cut', retryable: true, status: null })
  expect('Two ⏸ files'.startsWith(failure.partial)).toBe(true)
  if (failure.usage !== undefined) expect(failure.usage.inputTokens + failure.usage.cacheReadTokens).toBeGreaterThan(0)
}

function checkWhole({ message, finish, usage }: ModelAnswer): void {
  expect(message).toMatchObject(WHOLE)
  expect(message).toHaveLength(WHOLE.length)
  expect(finish).toBe('tool-calls')
  if (usage.estimated === undefined)
    expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 9, cacheReadTokens: 30, cacheWriteTokens: 0 })
}

describe.each(WIRE_FORMATS)(`$kind, from ${FIRST} in steps of ${EVERY}`, (format) => {
  test('a connection that breaks at any byte fails the call with the text so far, or gives the whole answer', async () => {
    const outcomes = (await cutAtEveryByte(format, 'cutAfterBytes')).map(({ outcome }) => outcome)
    for (const outcome of outcomes) {
      if (outcome instanceof CallFailed) checkCut(outcome)
      else checkWhole(outcome)
    }
    const partials = outcomes.flatMap((outcome) => (outcome instanceof CallFailed ? [outcome.partial] : []))
    expect(partials).toContain('Two ⏸ files')
    expect(
      partials.every((partial, index) => index === 0 || partial.length >= (partials[index - 1]?.length ?? 0)),
      'a longer stream never gives less',
    ).toBe(true)
  }, 300_000)

  test('a stream that ends regularly at any byte fails the call with the text so far, or gives the whole answer', async () => {
    const cuts = await cutAtEveryByte(format, 'endAfterBytes')
    const firstWhole = cuts.find(({ outcome }) => !(outcome instanceof CallFailed))?.at ?? Number.NaN
    expect(firstWhole).toBeGreaterThan(bodyOf(SAMPLE, format.path).length / 2)
    cuts.forEach(({ at, outcome }) => {
      if (outcome instanceof CallFailed) checkCut(outcome)
      else checkWhole(outcome)
      expect(outcome instanceof CallFailed, `after ${at} bytes`).toBe(at < firstWhole)
    })
    expect(cuts.at(-1)?.outcome).toMatchObject({ usage: { inputTokens: 20, outputTokens: 9 } })
  }, 300_000)
})
