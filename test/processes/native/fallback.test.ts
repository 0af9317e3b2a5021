// A model that cannot answer is followed by the next one, for the rest of the turn. Covers the failures that cause this, the notes,
// their order, and the model of an incarnation after a crash. Real HTTP calls to a local provider.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer, ServedAnswer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run, RunOptions } from '../../support/models/native-harness.ts'

const FIRST = 'first/big'
const SECOND = 'second/small'
const THIRD = 'third/tiny'

const OVERLOADED: ServedAnswer = { status: 529, error: { type: 'overloaded_error', message: 'Overloaded' } }
const REFUSED_KEY: ServedAnswer = { status: 401, error: { type: 'authentication_error', message: 'bad key' } }

let harness: NativeHarness
let server: ModelServer

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Two attempts for each model; the first speaks Anthropic's format, the others OpenAI's. */
async function startServed(answers: readonly ServedAnswer[], options: RunOptions = {}): Promise<Run> {
  server = await startModelServer(answers)
  const baseURL = `${server.url}/v1`
  const providers = [
    { name: 'first', kind: 'anthropic' as const, baseURL, apiKeyEnv: 'FIRST_KEY' },
    { name: 'second', kind: 'openai-compatible' as const, baseURL, apiKeyEnv: 'SECOND_KEY' },
    { name: 'third', kind: 'openai-compatible' as const, baseURL, apiKeyEnv: null, models: { tiny: { contextWindow: 200 } } },
  ]
  return harness.run({
    credentials: { FIRST_KEY: 'key-1', SECOND_KEY: 'key-2' },
    native: { providers, retry: { attempts: 2, baseMs: 1, capMs: 1 } },
    ...options,
    spec: { model: FIRST, fallback: [SECOND], ...options.spec },
  })
}

function readAskedModels(): readonly unknown[] {
  return server.requests.map(({ body }) => body['model'])
}

const notesOf = ({ kernel }: Run): readonly string[] => kernel.factsOf('process.note').map(({ text }) => text)

test('after the last attempt the next model continues with the next attempt number, and a note reports it', async () => {
  const run = await startServed([OVERLOADED, OVERLOADED, { text: 'from the second' }])
  await run.runTurn('go')
  expect(run.kernel.factsOf('model.started').map(({ step, attempt, model }) => [step, attempt, model])).toEqual([
    [1, 1, FIRST],
    [1, 2, FIRST],
    [1, 3, SECOND],
  ])
  expect(run.kernel.factsOf('model.failed').map(({ attempt, status, retryInMs }) => [attempt, status, retryInMs])).toEqual([
    [1, 529, expect.any(Number)],
    [2, 529, 0],
  ])
  expect(notesOf(run)).toEqual([`${FIRST} failed (first: 529 Overloaded): ${SECOND} takes over`])
  expect(run.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'from the second' }])
  // The final failure and its note are durable together or not at all.
  const [failure, note] = [run.kernel.reportsOf('model.failed').at(-1), run.kernel.reportsOf('note')[0]]
  expect(failure?.commit).toBe(note?.commit)
})

/** Failures after which the same model is not asked again. */
const AT_ONCE: readonly (readonly [words: string, answer: ServedAnswer])[] = [
  ['a refused key', REFUSED_KEY],
  ['an account without money', { status: 402, error: { type: 'billing_error', message: 'pay first' } }],
  ['a missing permission', { status: 403, error: { type: 'permission_error', message: 'not you' } }],
  ['an unknown model', { status: 404, error: { type: 'not_found_error', message: 'model: big' } }],
  ['a wait of ten minutes', { ...OVERLOADED, status: 429, headers: { 'retry-after': '600' } }],
]

test.each(AT_ONCE)('the next model is asked at once after %s', async (_, answer) => {
  const run = await startServed([answer, { text: 'from the second' }])
  await run.runTurn('go')
  expect(readAskedModels()[0]).toBe('big')
  expect(
    run.kernel
      .factsOf('model.started')
      .map(({ model }) => model)
      .filter((model) => model === SECOND),
  ).toEqual([SECOND])
})

test('a context that is too long is not sent to another model', async () => {
  const run = await startServed([
    { status: 400, error: { type: 'invalid_request_error', message: 'prompt is too long: 200001 tokens > 200000 maximum' } },
  ])
  await run.send('go')
  await run.kernel.waitFor(() => run.kernel.factsOf('process.held').length > 0, 'it is held')
  expect(run.kernel.factsOf('process.held')).toMatchObject([{ hold: { reason: 'context-full' } }])
  expect(readAskedModels()).toEqual(['big'])
})

test('the fallback stays for the rest of the turn, and the next turn begins with the first model', async () => {
  const run = await startServed([REFUSED_KEY, { tools: [{ name: 'ls', input: {} }] }, { text: 'one' }, { text: 'two' }])
  await run.runTurn('go')
  await run.runTurn('again')
  expect(readAskedModels()).toEqual(['big', 'small', 'small', 'big'])
  expect(run.kernel.factsOf('process.ready').map(({ result }) => result)).toEqual(['one', 'two'])
  expect(run.kernel.factsOf('tool.finished')).toHaveLength(1)
})

test('when all models have failed, the error names each of them', async () => {
  const run = await startServed([REFUSED_KEY, OVERLOADED, OVERLOADED])
  await run.runTurn('go')
  const error = `no model could answer: ${FIRST} (first: 401 bad key); ${SECOND} (second: 529 Overloaded)`
  expect(run.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error }])
  expect(run.kernel.factsOf('model.failed').map(({ retryInMs }) => retryInMs === null)).toEqual([false, false, true])
  expect(readAskedModels()).toEqual(['big', 'small', 'small'])
})

describe('a fallback that cannot be used is skipped', () => {
  test('without its key, with a note at the start and again when it is needed', async () => {
    const run = await startServed([REFUSED_KEY, { text: 'third' }], {
      credentials: { FIRST_KEY: 'key-1' },
      spec: { fallback: [SECOND, THIRD] },
    })
    await run.kernel.waitFor(() => notesOf(run).length === 1, 'the missing key is reported')
    expect(notesOf(run)).toEqual([`fallback ${SECOND} cannot be used: SECOND_KEY is not set`])
    await run.runTurn('go')
    expect(notesOf(run)[1]).toMatch(new RegExp(`^${FIRST} failed .*; ${THIRD} takes over$`))
    expect(notesOf(run)[1]).toContain(`${SECOND} is skipped: `)
    expect(readAskedModels()).toEqual(['big', 'tiny'])
  })

  test('when its provider is no longer configured', async () => {
    const run = await startServed([REFUSED_KEY], { spec: { fallback: ['gone/x'] } })
    await run.runTurn('go')
    expect(run.kernel.factsOf('process.ready')[0]?.error).toMatch(/gone\/x is skipped: .*"gone"/)
    expect(readAskedModels()).toEqual(['big'])
  })
})

test('a fallback whose context window is too small for the conversation is skipped', async () => {
  const run = await startServed([{ text: 'so far', usage: { input: 600, output: 5 } }, REFUSED_KEY], { spec: { fallback: [THIRD] } })
  await run.runTurn('go')
  await run.runTurn('more')
  expect(run.kernel.factsOf('process.ready').at(-1)?.error).toMatch(
    /third\/tiny is skipped: its context window has 200 tokens, and the context about \d+$/,
  )
  expect(readAskedModels()).toEqual(['big', 'big'])
})

test('an interruption does not change the model', async () => {
  const run = await startServed([{ text: 'never all of it', hangAfterBytes: 300 }, { text: 'no' }])
  await run.send('go')
  await server.waitForRequests(1)
  await run.agent.interrupt()
  await run.kernel.waitForTurnEnd()
  expect(run.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
  expect(readAskedModels()).toEqual(['big'])
})

describe('an incarnation after a crash', () => {
  const readFactsAtCrash = async (isAt: (run: Run) => boolean, answers: readonly ServedAnswer[]): Promise<Run['kernel']['facts']> => {
    const run = await startServed(answers)
    const facts = new Promise<Run['kernel']['facts']>((resolve) => {
      run.kernel.onFact = () => {
        if (isAt(run)) resolve([...run.kernel.facts])
      }
    })
    await run.runTurn('go')
    await server[Symbol.asyncDispose]()
    return facts
  }

  test('continues with the model of its turn', async () => {
    const tool = { tools: [{ id: 'id_1', name: 'ls', input: {} }] }
    const earlierFacts = await readFactsAtCrash(
      ({ kernel }) => kernel.factsOf('tool.finished').length === 1,
      [REFUSED_KEY, tool, { text: 'lost' }],
    )
    const { kernel, agent } = await startServed([{ text: 'found' }, { text: 'next' }], { earlierFacts })
    await agent.proceed(kernel.turn)
    await kernel.waitForTurnEnd()
    await agent.deliver({ id: 'm2', from: 'user', text: 'more', turn: kernel.beginTurn('m2', 'more') })
    await kernel.waitForTurnEnd()
    expect(readAskedModels()).toEqual(['small', 'big'])
  })

  test('begins with the first model again if all models had failed', async () => {
    const factsAfterFailure = await readFactsAtCrash(
      ({ kernel }) => kernel.factsOf('model.failed').at(-1)?.retryInMs === null,
      [REFUSED_KEY, REFUSED_KEY],
    )
    const { kernel, agent } = await startServed([{ text: 'well again' }], { earlierFacts: factsAfterFailure })
    await agent.proceed(kernel.turn)
    await kernel.waitForTurnEnd()
    expect(readAskedModels()).toEqual(['big'])
  })
})
