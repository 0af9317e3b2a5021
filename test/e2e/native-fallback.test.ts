// A model that cannot answer is followed by the next one, for the rest of the turn: which failures do that, what is said,
// in which order, and what an incarnation after a crash goes on with. Real HTTP calls to a local provider.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { modelServer } from '../support/model-server.ts'
import type { ModelServer, ServedAnswer } from '../support/model-server.ts'
import { nativeBench } from '../support/native-bench.ts'
import type { NativeBench, Run, RunOptions } from '../support/native-bench.ts'

const FIRST = 'first/big'
const SECOND = 'second/small'
const THIRD = 'third/tiny'

const OVERLOADED: ServedAnswer = { status: 529, error: { type: 'overloaded_error', message: 'Overloaded' } }
const REFUSED_KEY: ServedAnswer = { status: 401, error: { type: 'authentication_error', message: 'bad key' } }

let bench: NativeBench
let server: ModelServer

beforeEach(async () => { bench = await nativeBench() })
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Two attempts for each model; the first speaks Anthropic's format, the others OpenAI's. */
async function served(answers: readonly ServedAnswer[], options: RunOptions = {}): Promise<Run> {
  server = await modelServer(answers)
  const baseURL = `${server.url}/v1`
  const providers = [
    { name: 'first', kind: 'anthropic' as const, baseURL, apiKeyEnv: 'FIRST_KEY' },
    { name: 'second', kind: 'openai-compatible' as const, baseURL, apiKeyEnv: 'SECOND_KEY' },
    { name: 'third', kind: 'openai-compatible' as const, baseURL, apiKeyEnv: null, models: { tiny: { contextWindow: 200 } } },
  ]
  return bench.run({
    credentials: { FIRST_KEY: 'key-1', SECOND_KEY: 'key-2' },
    native: { providers, retry: { attempts: 2, baseMs: 1, capMs: 1 } },
    ...options,
    spec: { model: FIRST, fallback: [SECOND], ...options.spec },
  })
}

function asked(): readonly unknown[] {
  return server.requests.map(({ body }) => body['model'])
}

const notes = ({ kernel }: Run): readonly string[] => kernel.of('process.note').map(({ text }) => text)

test('when the attempts are used up the next model goes on; the attempts count on, and a note says so', async () => {
  const run = await served([OVERLOADED, OVERLOADED, { text: 'from the second' }])
  await run.turn('go')
  expect(run.kernel.of('model.started').map(({ step, attempt, model }) => [step, attempt, model])).toEqual([[1, 1, FIRST], [1, 2, FIRST], [1, 3, SECOND]])
  expect(run.kernel.of('model.failed').map(({ attempt, status, retryInMs }) => [attempt, status, retryInMs])).toEqual([[1, 529, expect.any(Number)], [2, 529, 0]])
  expect(notes(run)).toEqual([`${FIRST} failed (first: 529 Overloaded): ${SECOND} goes on`])
  expect(run.kernel.of('process.ready')).toMatchObject([{ outcome: 'ok', result: 'from the second' }])
  // What failed for good and what was made of it are there together or not at all.
  const [said, note] = [run.kernel.reports('model.failed').at(-1), run.kernel.reports('note')[0]]
  expect(said?.commit).toBe(note?.commit)
})

/** Failures after which the same model is not asked again. */
const AT_ONCE: readonly (readonly [words: string, answer: ServedAnswer])[] = [
  ['a key that is refused', REFUSED_KEY],
  ['no money', { status: 402, error: { type: 'billing_error', message: 'pay first' } }],
  ['no permission', { status: 403, error: { type: 'permission_error', message: 'not you' } }],
  ['no such model', { status: 404, error: { type: 'not_found_error', message: 'model: big' } }],
  ['a wait of ten minutes', { ...OVERLOADED, status: 429, headers: { 'retry-after': '600' } }],
]

test.each(AT_ONCE)('after %s', async (_, answer) => {
  const run = await served([answer, { text: 'from the second' }])
  await run.turn('go')
  expect(asked()[0]).toBe('big')
  expect(run.kernel.of('model.started').map(({ model }) => model).filter((model) => model === SECOND)).toEqual([SECOND])
})

test('a context that is too long is not shorter for another model', async () => {
  const run = await served([{ status: 400, error: { type: 'invalid_request_error', message: 'prompt is too long: 200001 tokens > 200000 maximum' } }])
  await run.send('go')
  await run.kernel.until(() => run.kernel.of('process.held').length > 0, 'it is held')
  expect(run.kernel.of('process.held')).toMatchObject([{ hold: { reason: 'context-full' } }])
  expect(asked()).toEqual(['big'])
})

test('it stays with the fallback for the rest of the turn, and the next turn begins with the first', async () => {
  const run = await served([REFUSED_KEY, { tools: [{ name: 'ls', input: {} }] }, { text: 'one' }, { text: 'two' }])
  await run.turn('go')
  await run.turn('again')
  expect(asked()).toEqual(['big', 'small', 'small', 'big'])
  expect(run.kernel.of('process.ready').map(({ result }) => result)).toEqual(['one', 'two'])
  expect(run.kernel.of('tool.finished')).toHaveLength(1)
})

test('when all have failed, the error names each of them', async () => {
  const run = await served([REFUSED_KEY, OVERLOADED, OVERLOADED])
  await run.turn('go')
  const error = `no model could answer: ${FIRST} (first: 401 bad key); ${SECOND} (second: 529 Overloaded)`
  expect(run.kernel.of('process.ready')).toMatchObject([{ outcome: 'error', error }])
  expect(run.kernel.of('model.failed').map(({ retryInMs }) => retryInMs === null)).toEqual([false, false, true])
  expect(asked()).toEqual(['big', 'small', 'small'])
})

describe('a fallback that cannot be used is passed by', () => {
  test('without its key: said at the start, and again where it was needed', async () => {
    const run = await served([REFUSED_KEY, { text: 'third' }], { credentials: { FIRST_KEY: 'key-1' }, spec: { fallback: [SECOND, THIRD] } })
    await run.kernel.until(() => notes(run).length === 1, 'the missing key is told')
    expect(notes(run)).toEqual([`fallback ${SECOND} cannot be used: SECOND_KEY is not set`])
    await run.turn('go')
    expect(notes(run)[1]).toMatch(new RegExp(`^${FIRST} failed .*; ${THIRD} goes on$`))
    expect(notes(run)[1]).toContain(`${SECOND} is passed by: `)
    expect(asked()).toEqual(['big', 'tiny'])
  })

  test('of a provider that is not configured any more', async () => {
    const run = await served([REFUSED_KEY], { spec: { fallback: ['gone/x'] } })
    await run.turn('go')
    expect(run.kernel.of('process.ready')[0]?.error).toMatch(/gone\/x is passed by: .*"gone"/)
    expect(asked()).toEqual(['big'])
  })
})

test('a fallback whose context is too small for what there is already is passed by', async () => {
  const run = await served([{ text: 'so far', usage: { input: 600, output: 5 } }, REFUSED_KEY], { spec: { fallback: [THIRD] } })
  await run.turn('go')
  await run.turn('more')
  expect(run.kernel.of('process.ready').at(-1)?.error).toMatch(/third\/tiny is passed by: its context holds 200 tokens, and there are about \d+$/)
  expect(asked()).toEqual(['big', 'big'])
})

test('an interruption hands nothing over', async () => {
  const run = await served([{ text: 'never all of it', hangAfterBytes: 300 }, { text: 'no' }])
  await run.send('go')
  await server.received(1)
  await run.agent.interrupt()
  await run.kernel.ended()
  expect(run.kernel.of('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
  expect(asked()).toEqual(['big'])
})

describe('an incarnation after a crash', () => {
  const crashed = async (isAt: (run: Run) => boolean, answers: readonly ServedAnswer[]): Promise<Run['kernel']['facts']> => {
    const run = await served(answers)
    const facts = new Promise<Run['kernel']['facts']>((resolve) => {
      run.kernel.onFact = () => { if (isAt(run)) resolve([...run.kernel.facts]) }
    })
    await run.turn('go')
    await server[Symbol.asyncDispose]()
    return facts
  }

  test('goes on with the model that its turn had come to', async () => {
    const tool = { tools: [{ id: 'id_1', name: 'ls', input: {} }] }
    const after = await crashed(({ kernel }) => kernel.of('tool.finished').length === 1, [REFUSED_KEY, tool, { text: 'lost' }])
    const { kernel, agent } = await served([{ text: 'found' }, { text: 'next' }], { after })
    await agent.proceed(kernel.turn)
    await kernel.ended()
    await agent.deliver({ id: 'm2', from: 'user', text: 'more', turn: kernel.beginTurn('m2', 'more') })
    await kernel.ended()
    expect(asked()).toEqual(['small', 'big'])
  })

  test('begins with the first again when all had failed, and in a new turn', async () => {
    const after = await crashed(({ kernel }) => kernel.of('model.failed').at(-1)?.retryInMs === null, [REFUSED_KEY, REFUSED_KEY])
    const { kernel, agent } = await served([{ text: 'well again' }], { after })
    await agent.proceed(kernel.turn)
    await kernel.ended()
    expect(asked()).toEqual(['big'])
  })
})
