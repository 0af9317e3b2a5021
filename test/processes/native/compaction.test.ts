// Compaction in the tool loop: by reeve's count of tokens, after a provider's refusal, repeated, given up, paused, interrupted.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SUMMARY_HEADING } from '../../../src/drivers/native/context/context.ts'
import { loadContext } from '../../../src/drivers/native/context/load-context.ts'
import type { FactBody, FactType } from '../../../src/kernel/model/facts.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer, ServedAnswer, ServedRequest } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run } from '../../support/models/native-harness.ts'

const BYTES = 800
/** The tools alone take more than a quarter of the window. */
const WINDOW = 3_000
const READ_BIG_FILE = { tools: [{ name: 'read', input: { path: 'big.txt' } }] }

let harness: NativeHarness
let server: ModelServer | null = null

beforeEach(async () => {
  harness = await openNativeHarness()
  await writeFile(join(harness.dir, 'big.txt'), 'x'.repeat(BYTES))
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  server = null
})

function readSteps(count: number): object[] {
  return Array.from({ length: count }, () => READ_BIG_FILE)
}

function startPlayed(window: number | undefined, steps: readonly object[]): Promise<Run> {
  return harness.run({ script: JSON.stringify(window === undefined ? steps : { context_window: window, steps }) })
}

const factTypes = (run: Run, wanted: readonly FactType[]): string[] =>
  run.kernel.facts.flatMap(({ body }) => (wanted.includes(body.type) ? [body.type] : []))
const readTexts = (run: Run): Promise<string[]> =>
  loadContext(run.kernel.history, null).then(({ context }) =>
    context.messages.map((message) => (message.role === 'user' ? message.text : message.role)),
  )
const waitUntilHeld = (run: Run, times = 1): Promise<void> =>
  run.kernel.waitFor(() => run.kernel.factsOf('process.held').length >= times, 'it is held')
const waitForFact = <T extends FactType>(run: Run, type: T): Promise<void> =>
  run.kernel.waitFor(() => run.kernel.factsOf(type).length > 0, type)

describe("a compaction by reeve's count of tokens", () => {
  test('is repeated in a long turn; each step is taken once, and the newest messages stay', async () => {
    const run = await startPlayed(WINDOW, [...readSteps(30), { text: 'done' }])
    await run.runTurn('the task')
    const { kernel } = run
    const compacted = kernel.factsOf('context.compacted')
    expect(compacted.length).toBeGreaterThanOrEqual(3)
    for (const { before, after, summary, step } of compacted) {
      expect(before).toBeGreaterThan(0.85 * WINDOW)
      expect(after).toBeLessThan(0.7 * WINDOW)
      expect(summary).toMatch(new RegExp(`^Up to step ${step} there were \\d+ messages`))
    }
    expect(kernel.factsOf('model.failed')).toEqual([])
    expect(kernel.factsOf('tool.finished')).toHaveLength(30)
    expect(kernel.factsOf('model.finished').map(({ step }) => step)).toEqual(Array.from({ length: 31 }, (_, index) => index + 1))
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
    expect(kernel.reportsOf('up')[0]?.report.window).toBe(WINDOW)
    const [first, second, ...rest] = await readTexts(run)
    expect([first, second?.split('\n')[0]]).toEqual(['the task', SUMMARY_HEADING])
    expect(rest.slice(0, 2)).toEqual(['assistant', 'tool'])
  })

  test("does not show its summary as the agent's output", async () => {
    const run = await startPlayed(WINDOW, [...readSteps(12).map((step) => ({ ...step, summary: 'SECRET' })), { text: 'done' }])
    await run.runTurn('go')
    expect(run.kernel.factsOf('context.compacted').at(-1)?.summary).toBe('SECRET')
    expect(JSON.stringify(run.kernel.liveOutputs)).not.toContain('SECRET')
  })

  test('never happens without a known window', async () => {
    const run = await startPlayed(undefined, [...readSteps(20), { text: 'done' }])
    await run.runTurn('go')
    expect(factTypes(run, ['compaction.started', 'context.compacted'])).toEqual([])
  })

  test('gives a process that is resumed after it the same context as one that was not interrupted', async () => {
    const steps = [...readSteps(12), { text: 'one' }, { text: 'two' }]
    const wholeRun = await startPlayed(WINDOW, steps)
    await wholeRun.runTurn('first')
    await wholeRun.runTurn('second')
    const factCount = wholeRun.kernel.facts.findIndex(({ body }) => body.type === 'model.finished' && body.step === 12)
    expect(wholeRun.kernel.facts.slice(0, factCount).some(({ body }) => body.type === 'context.compacted')).toBe(true)
    const resumedRun = await harness.run({ spec: { model: 'script:1.yaml' }, earlierFacts: wholeRun.kernel.facts.slice(0, factCount) })
    await resumedRun.agent.proceed(resumedRun.kernel.turn)
    await resumedRun.kernel.waitForTurnEnd()
    await resumedRun.runTurn('second')
    expect(await readTexts(resumedRun)).toEqual(await readTexts(wholeRun))
  })
})

const WORDINGS: readonly (readonly [name: string, model: string, error: NonNullable<ServedAnswer['error']>])[] = [
  ['Anthropic', 'anthropic/claude-test', { type: 'invalid_request_error', message: 'prompt is too long: 200251 tokens > 200000 maximum' }],
  [
    'OpenAI',
    'openai-chat/test',
    {
      type: 'context_length_exceeded',
      message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130871 tokens.",
    },
  ],
]

describe.each(WORDINGS)('after %s has refused the request as too long', (_, model, error) => {
  const tooLong: ServedAnswer = { status: 400, error }
  const tool = (id: string): ServedAnswer => ({ tools: [{ id, name: 'read', input: { path: 'big.txt' } }] })

  async function startServed(answers: readonly ServedAnswer[] | ((request: ServedRequest) => ServedAnswer)): Promise<Run> {
    server = await startModelServer(answers)
    const credentials = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: server.url, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${server.url}/v1` }
    return harness.run({ credentials, spec: { model, system: 'be brief' } })
  }

  const requestBodies = (): string[] => server?.requests.map(({ body }) => JSON.stringify(body)) ?? []

  test('the same step continues with the summary, and no tool runs twice', async () => {
    const run = await startServed([
      tool('t0'),
      tool('t1'),
      tool('t2'),
      tooLong,
      { text: 'IN SHORT', usage: { input: 70, output: 7 } },
      tool('t3'),
      { text: 'done' },
    ])
    await run.runTurn('the task')
    const { kernel } = run
    expect(
      factTypes(run, [
        'model.started',
        'model.failed',
        'model.finished',
        'tool.finished',
        'compaction.started',
        'context.compacted',
        'process.ready',
      ]),
    ).toEqual([
      'model.started',
      'model.finished',
      'tool.finished',
      'model.started',
      'model.finished',
      'tool.finished',
      'model.started',
      'model.finished',
      'tool.finished',
      'model.started',
      'model.failed',
      'compaction.started',
      'context.compacted',
      'model.started',
      'model.finished',
      'tool.finished',
      'model.started',
      'model.finished',
      'process.ready',
    ])
    expect(kernel.factsOf('model.started').map(({ step, attempt }) => [step, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [4, 2],
      [5, 1],
    ])
    expect(kernel.factsOf('model.failed')).toMatchObject([{ step: 4, status: 400, retryInMs: 0 }])
    expect(kernel.factsOf('context.compacted')).toMatchObject([
      { step: 3, summary: 'IN SHORT', usage: { inputTokens: 70, outputTokens: 7 } },
    ])
    const [, , , , summing, requestAfter] = requestBodies()
    expect(summing).toContain('Write a summary')
    expect(summing).toContain('t1')
    expect(requestAfter).toContain('IN SHORT')
    expect(requestAfter).toContain('the task')
    expect(requestAfter).not.toContain('t1')
    expect(requestAfter).toContain('t2')
    expect(requestAfter).not.toContain('Write a summary')
  })

  test('results are cut in the summary request where that is too long as well', async () => {
    const run = await startServed([...['t0', 't1', 't2'].map(tool), tooLong, tooLong, tooLong, { text: 'IN SHORT' }, { text: 'done' }])
    await run.runTurn('the task')
    const [, , , , first, second, third] = requestBodies()
    expect(run.kernel.factsOf('compaction.failed').map(({ status, retryInMs, attempt }) => [status, retryInMs, attempt])).toEqual([
      [400, 0, 1],
      [400, 0, 2],
    ])
    expect(first).toContain('x'.repeat(BYTES))
    expect(second).toContain('x'.repeat(BYTES))
    expect(third).not.toContain('x'.repeat(BYTES))
    expect(third).toContain('characters omitted')
    expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
  })

  test('temporary failures are tried again', async () => {
    const run = await startServed([
      ...['t0', 't1', 't2'].map(tool),
      tooLong,
      { status: 529, error: { type: 'overloaded_error', message: 'busy' } },
      { text: 'IN SHORT' },
      { text: 'done' },
    ])
    await run.runTurn('go')
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([{ step: 3, attempt: 1, status: 529, retryInMs: expect.any(Number) }])
    expect(run.kernel.factsOf('compaction.started').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
  })

  test("a second refusal in a row: the process is held, and the model is asked once more after the user's resume", async () => {
    const run = await startServed([...['t0', 't1', 't2'].map(tool), tooLong, { text: 'IN SHORT' }, tooLong, tooLong, { text: 'done' }])
    await run.send('go')
    await waitUntilHeld(run)
    expect(factTypes(run, ['compaction.started', 'context.compacted'])).toEqual(['compaction.started', 'context.compacted'])
    run.kernel.release()
    await waitUntilHeld(run, 2)
    run.kernel.release()
    await run.kernel.waitForTurnEnd()
    expect(factTypes(run, ['compaction.started', 'context.compacted'])).toEqual(['compaction.started', 'context.compacted'])
    expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
    expect(server?.requests).toHaveLength(8)
  })

  test("nothing can be left out: the process is held, and the model is asked unchanged after the user's resume", async () => {
    const run = await startServed([tooLong, tooLong, { text: 'done' }])
    await run.send('go')
    await waitUntilHeld(run)
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([{ error: 'there is nothing in the context to summarize' }])
    run.kernel.release()
    await waitUntilHeld(run, 2)
    run.kernel.release()
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
    expect(server?.requests).toHaveLength(3)
  })
})

test('a fallback gives the summary when the first model cannot, and continues', async () => {
  const tool = (id: string): ServedAnswer => ({ tools: [{ id, name: 'read', input: { path: 'big.txt' } }] })
  const tooLong: ServedAnswer = {
    status: 400,
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
  }
  server = await startModelServer([
    ...['t0', 't1', 't2'].map(tool),
    tooLong,
    { status: 401, error: { type: 'authentication_error', message: 'bad key' } },
    { text: 'IN SHORT' },
    { text: 'done' },
  ])
  const providers = ['first', 'second'].map((name) => ({
    name,
    kind: 'openai-compatible' as const,
    baseURL: `${server?.url}/v1`,
    apiKeyEnv: null,
  }))
  const run = await harness.run({ spec: { model: 'first/big', fallback: ['second/small'] }, native: { providers } })
  await run.runTurn('go')
  expect(server.requests.map(({ body }) => body['model'])).toEqual(['big', 'big', 'big', 'big', 'big', 'small', 'small'])
  expect(run.kernel.factsOf('compaction.failed')).toMatchObject([{ status: 401, retryInMs: 0 }])
  expect(run.kernel.factsOf('process.note').map(({ text }) => text)).toEqual([
    'first/big could not summarize the context: second/small takes over',
  ])
  expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
})

describe('an impossible summary', () => {
  const GIVEN_UP: readonly (readonly [words: string, item: object, error: string])[] = [
    ['a permanent error', { summary_error: { message: 'bad key', status: 401 } }, 'bad key'],
    ['an empty summary', { summary: ' \n' }, 'the model gave no summary'],
    ['a summary that fills the window', { summary: 'y'.repeat(8_000) }, 'with the summary the context would still take'],
  ]
  test.each(GIVEN_UP)('because of %s holds the process, and a resume tries again', async (_, item, error) => {
    const run = await startPlayed(WINDOW, [...readSteps(12).map((step) => ({ ...step, ...item })), { text: 'done', ...item }])
    await run.send('go')
    await waitUntilHeld(run)
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([{ error: expect.stringContaining(error), retryInMs: null }])
    expect(run.kernel.factsOf('context.compacted')).toEqual([])
    await run.kernel.waitFor(() => run.kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
    run.kernel.release()
    await waitUntilHeld(run, 2)
    expect(run.kernel.factsOf('compaction.started').map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  test('is followed by a later attempt that succeeds, and the work continues', async () => {
    const steps = readSteps(12).map((step) => ({ ...step, summary_error: { message: 'busy', status: 503 }, summary: 'in short' }))
    const run = await harness.run({
      script: JSON.stringify({ context_window: WINDOW, steps: [...steps, { text: 'done' }] }),
      native: { retry: { attempts: 1, baseMs: 1, capMs: 1 } },
    })
    await run.send('go')
    await waitUntilHeld(run)
    // The script fails each first attempt, and after a resume by the user attempts begin at 1. So the file gets another script.
    await writeFile(join(harness.dir, '1.yaml'), JSON.stringify({ context_window: WINDOW, steps: [...readSteps(12), { text: 'done' }] }))
    const secondRun = await harness.run({
      spec: { model: 'script:1.yaml' },
      earlierFacts: run.kernel.facts.filter(({ body }) => body.type !== 'process.held'),
    })
    await secondRun.agent.proceed(secondRun.kernel.turn)
    await secondRun.kernel.waitForTurnEnd()
    expect(secondRun.kernel.factsOf('context.compacted').length).toBeGreaterThan(0)
    expect(secondRun.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
    expect(secondRun.kernel.factsOf('tool.finished')).toHaveLength(12)
  })

  test('is also one that shortens the context, but leaves no room in it: the process is held', async () => {
    await writeFile(join(harness.dir, 'huge.txt'), 'x'.repeat(8 * BYTES))
    const run = await startPlayed(WINDOW, [
      ...readSteps(5),
      { tools: [{ name: 'read', input: { path: 'huge.txt' } }] },
      { summary: 'y'.repeat(9 * BYTES), text: 'done' },
    ])
    await run.send('go')
    await waitUntilHeld(run)
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([
      { step: 6, error: expect.stringMatching(/^with the summary the context would still take \d+ tokens/), retryInMs: null },
    ])
    expect(run.kernel.factsOf('context.compacted')).toEqual([])
  })

  test('is also that of a single message that is too long: the process is held', async () => {
    const run = await startPlayed(100, [{ text: 'never' }])
    await run.send('x'.repeat(1_000))
    await waitUntilHeld(run)
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([
      { error: 'there is nothing in the context to summarize', retryInMs: null },
    ])
    expect(run.kernel.factsOf('model.finished')).toEqual([])
  })
})

describe('while a summary is made', () => {
  const slowSummary = { summary_delay_ms: 60_000 }
  const scriptWithSlowSummary = (): object => ({
    context_window: WINDOW,
    steps: [...readSteps(12).map((step) => ({ ...step, ...slowSummary })), { text: 'done', ...slowSummary }],
  })

  test('an interruption ends the turn, holds nothing, and the next turn compacts', async () => {
    const run = await harness.run({ script: JSON.stringify(scriptWithSlowSummary()) })
    await run.send('go')
    await waitForFact(run, 'compaction.started')
    await run.agent.interrupt()
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.factsOf('compaction.failed')).toMatchObject([{ error: 'interrupted', retryInMs: 0 }])
    expect(run.kernel.factsOf('process.held')).toEqual([])
    expect(run.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
    await run.send('again')
    await run.kernel.waitFor(() => run.kernel.factsOf('compaction.started').length === 2, 'it is tried again')
  })

  test('the end of the incarnation leaves nothing, and the next one asks again', async () => {
    const run = await harness.run({ script: JSON.stringify(scriptWithSlowSummary()) })
    await run.send('go')
    await waitForFact(run, 'compaction.started')
    run.kernel.cancel()
    await run.agent[Symbol.asyncDispose]()
    expect(factTypes(run, ['compaction.failed', 'context.compacted'])).toEqual([])
    await writeFile(join(harness.dir, '1.yaml'), JSON.stringify({ context_window: WINDOW, steps: [...readSteps(12), { text: 'done' }] }))
    const next = await harness.run({ spec: { model: 'script:1.yaml' }, earlierFacts: run.kernel.facts })
    await next.agent.proceed(next.kernel.turn)
    await next.kernel.waitForTurnEnd()
    expect(next.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
    expect(next.kernel.factsOf('tool.finished')).toHaveLength(12)
  })
})

test('a pause lets the summary finish, and holds before the next call', async () => {
  let summaryAsked: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    summaryAsked = resolve
  })
  const run = await startPlayed(WINDOW, [...readSteps(12).map((step) => ({ ...step, summary_delay_ms: 50 })), { text: 'done' }])
  run.kernel.onFact = (body) => {
    if (body.type !== 'compaction.started') return
    run.kernel.hold()
    summaryAsked()
  }
  await run.send('go')
  await isAsked
  await run.agent.pause(false)
  await run.kernel.waitFor(() => run.kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
  expect(run.kernel.factsOf('context.compacted')).toHaveLength(1)
  expect(run.kernel.facts.at(-1)?.body.type).toBe('context.compacted')
  run.kernel.onFact = () => undefined
  await run.agent.unpause()
  run.kernel.release()
  await run.kernel.waitForTurnEnd()
  expect(run.kernel.factsOf('process.ready')).toMatchObject([{ result: 'done' }])
})

test('a context that differs from the journal ends the incarnation', async () => {
  const run = await startPlayed(WINDOW, [...readSteps(12), { text: 'done' }])
  run.kernel.onFact = (body) => {
    if (body.type !== 'tool.finished' || body.step !== 2) return
    const index = run.kernel.facts.length - 1
    const other: FactBody = { ...body, content: 'something else' }
    run.kernel.facts.splice(index, 1, { ...run.kernel.facts[index], body: other } as (typeof run.kernel.facts)[number])
  }
  await run.send('go')
  await run.kernel.waitFor(() => run.kernel.reportsOf('exited').length > 0, 'it has ended')
  expect(run.kernel.reportsOf('exited')[0]?.report.error).toBe('the context differs from the journal: message 4')
  expect(factTypes(run, ['compaction.started'])).toEqual([])
})
