// A whole run in each of the four formats: two concurrent calls, and a stream that breaks within the second answer and
// is repeated. No tool runs twice, each token is counted once, and the cost follows.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bodyOf, startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer, ServedAnswer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'
import { WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import type { WireFormat } from '../../support/models/wire-formats.ts'

let harness: NativeHarness
let server: ModelServer

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** USD per million tokens: input, output, read from the cache. */
const PRICES: Readonly<Record<WireFormat['kind'], readonly [input: number, output: number, read: number]>> = {
  anthropic: [3, 15, 0.3],
  openai: [1.25, 10, 0.125],
  'openai-compatible': [2.5, 10, 1.25],
  google: [1.25, 10, 0.125],
}

const FIRST: ServedAnswer = {
  thinking: { text: 'both at once', signature: 'sig-1' },
  tools: [
    { id: 'c1', name: 'bash', input: { command: 'echo ran >> log' } },
    { id: 'c2', name: 'read', input: { path: 'a.txt' } },
  ],
  usage: { input: 1_000, output: 100 },
}
const SECOND: ServedAnswer = {
  text: 'This is the second answer.',
  tools: [{ id: 'c3', name: 'bash', input: { command: 'echo again >> log' } }],
  usage: { input: 200, output: 60, cacheRead: 1_000, reasoning: 20 },
}
const THIRD: ServedAnswer = { text: 'done', usage: { input: 100, output: 10, cacheRead: 1_200 } }

test.each(WIRE_FORMATS)('$kind: a run repeats no tool after a cut stream, and counts each token once', async (format) => {
  await writeFile(join(harness.dir, 'a.txt'), 'the content')
  const halfLength = Math.floor(bodyOf(SECOND, format.path).length / 2)
  server = await startModelServer([FIRST, { ...SECOND, cutAfterBytes: halfLength }, SECOND, THIRD])
  const providers = [{ name: format.provider, kind: format.kind, baseURL: `${server.url}${format.basePath}`, apiKeyEnv: null }]
  const native = { providers, retry: { attempts: 3, baseMs: 1, capMs: 2 } }
  const { kernel, runTurn } = await harness.run({ spec: { model: `${format.provider}/${format.name}`, system: 'be brief' }, native })
  await runTurn('go')

  expect(kernel.factsOf('model.started').map(({ step, attempt }) => [step, attempt])).toEqual([
    [1, 1],
    [2, 1],
    [2, 2],
    [3, 1],
  ])
  expect(kernel.factsOf('tool.started').map(({ callId }) => callId)).toEqual(['c1', 'c2', 'c3'])
  expect(await readFile(join(harness.dir, 'log'), 'utf8')).toBe('ran\nagain\n')
  expect(kernel.factsOf('model.failed')).toMatchObject([{ step: 2, attempt: 1, status: null, usage: { estimated: true } }])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])

  const requestTexts = server.requests.map(({ body }) => JSON.stringify(body))
  expect(requestTexts[2]).toBe(requestTexts[1]) // the same request, to the byte: the provider's cache needs that
  expect(requestTexts[1]?.indexOf('"c1"')).toBeLessThan(requestTexts[1]?.indexOf('"c2"') ?? 0)
  expect(requestTexts[3]).toContain('the content')

  const [input, output, cacheRead] = PRICES[format.kind]
  const countedTokens = [
    [1_000, 100, 0],
    [200, 60, 1_000],
    [100, 10, 1_200],
  ]
  expect(
    kernel
      .factsOf('model.finished')
      .map(({ usage }) => [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens]),
  ).toEqual(countedTokens.map((row) => [...row, 0]))
  kernel.factsOf('model.finished').forEach(({ usage }, index) => {
    const [tokensIn = 0, tokensOut = 0, tokensRead = 0] = countedTokens[index] ?? []
    expect(usage.costUsd).toBeCloseTo((tokensIn * input + tokensOut * output + tokensRead * cacheRead) / 1e6, 9)
    expect(usage.estimated).toBeUndefined()
  })
})
