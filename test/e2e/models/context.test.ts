// Long sessions in a daemon. The model request of each step matches the journal, whether the journal is read whole or in the parts
// that compactions left, also after a kill -9. Users see a context that cannot be made smaller.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { Context, ContextMessage } from '../../../src/drivers/native/context/context.ts'
import { loadContext } from '../../../src/drivers/native/context/load-context.ts'
import { assistantText } from '../../../src/kernel/state/assistant-text.ts'
import { fold } from '../../../src/kernel/state/fold.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'
import type { Range } from '../../../src/kernel/model/context.ts'

/** Each result has about 250 tokens. */
const RESULT_BYTES = 1_000
const WINDOW = 20_000
/** One step in EFFECT_STEPS has an effect that must not happen twice. */
const EFFECT_STEPS = 4
const BODY = { model: 'local/m', intent: 'the task' }

type Json = Readonly<Record<string, unknown>>

let resources: AsyncDisposableStack
let server: ModelServer

beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

const messagesOf = ({ body }: ServedRequest): readonly Json[] => body['messages'] as readonly Json[]
const isSummary = (request: ServedRequest): boolean => String(messagesOf(request).at(-1)?.['content']).includes('Write a summary')

/** The number of the step that a request is for: one more than its last call, because each earlier step was answered with a call. */
function stepOf(request: ServedRequest): number {
  return (
    Math.max(
      0,
      ...JSON.stringify(request.body)
        .matchAll(/"t(\d+)"/g)
        .map(([, step]) => Number(step)),
    ) + 1
  )
}

function answerTo(request: ServedRequest, lastStep: number): ServedAnswer {
  const usage = { input: Math.ceil(JSON.stringify(request.body).length / 4), output: 20 }
  const step = stepOf(request)
  if (isSummary(request)) return { text: `In short, up to step ${step - 1}.`, usage }
  if (step > lastStep) return { text: 'done', usage }
  const call =
    step % EFFECT_STEPS === 0
      ? { name: 'bash', input: { command: `echo ${step} >> effects; cat big.txt` } }
      : { name: 'read', input: { path: 'big.txt' } }
  return { text: step % 3 === 0 ? `step ${step}` : '', tools: [{ id: `t${step}`, ...call }], usage }
}

async function writeConfigFor(answers: (request: ServedRequest) => ServedAnswer): Promise<string> {
  server = resources.use(await startModelServer(answers))
  return `providers:\n  - { name: local, kind: openai-compatible, baseURL: "${server.url}/v1", models: { m: { contextWindow: ${WINDOW} } } }\n`
}

const readEffects = (work: string): string[] => readFileSync(join(work, 'effects'), 'utf8').trim().split('\n')
const effectsUpTo = (lastStep: number): string[] =>
  Array.from({ length: lastStep / EFFECT_STEPS }, (_, index) => String((index + 1) * EFFECT_STEPS))

async function factsOf(dir: string, uuid: string): Promise<readonly StoredFact[]> {
  await using store = await openSqliteStore({ dir })
  const facts: StoredFact[] = []
  for (;;) {
    const page = await store.facts(uuid, facts.length, 1_000)
    if (page.length === 0) return facts
    facts.push(...page)
  }
}

/** Waits for the end of a process, however long it takes. */
async function waitForEnd({ client }: Pick<LocalDaemon, 'client'>, uuid: string): Promise<ProcessView> {
  for (;;) {
    const { process, timedOut } = await client.get<{ process: ProcessView; timedOut: boolean }>(
      `/v1/processes/${uuid}/wait`,
      { for: 'exited', timeoutMs: 10_000 },
      { extraMs: 60_000 },
    )
    if (!timedOut) return process
  }
}

/** Converts a context to the format of chat completions, without the code of the drivers. */
function toChat(messages: readonly ContextMessage[]): readonly Json[] {
  return messages.flatMap((message): Json[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.text }]
    if (message.role === 'tool') return message.results.map(({ callId, content }) => ({ role: 'tool', tool_call_id: callId, content }))
    const calls = message.parts.flatMap((part) =>
      part.type === 'tool-call'
        ? [{ id: part.callId, type: 'function', function: { name: part.name, arguments: JSON.stringify(part.input) } }]
        : [],
    )
    return [{ role: 'assistant', content: assistantText(message.parts) || null, ...(calls.length === 0 ? {} : { tool_calls: calls }) }]
  })
}

/**
 * Calls `each` at each model request with the contexts of the whole journal so far, of the row's parts and of the newest checkpoint's
 * parts.
 */
async function contextsAt(facts: readonly StoredFact[], each: (contexts: readonly Context[], fact: StoredFact) => void): Promise<void> {
  let process: Process | undefined
  let checkpoint: readonly Range[] | null = null
  for (const [index, { cursor: _, ...fact }] of facts.entries()) {
    const { body } = fact
    if (body.type === 'model.started' || body.type === 'compaction.started') {
      const history = (after: number, limit: number): Promise<readonly StoredFact[]> =>
        Promise.resolve(facts.slice(after, Math.min(after + limit, index)))
      const loadedContexts = await Promise.all(
        [null, process?.context?.ranges ?? null, checkpoint].map((ranges) => loadContext(history, ranges)),
      )
      each(
        loadedContexts.map(({ context }) => context),
        facts[index] as StoredFact,
      )
    }
    process = fold(process, fact)
    if (body.type === 'checkpoint.written') checkpoint = body.ranges
  }
}

const STEP_COUNT = deep(120, 400)

test(
  `in ${STEP_COUNT} steps with compactions, the request of each step is the one that any resume would send`,
  { timeout: 240_000 },
  async () => {
    const LAST_STEP = STEP_COUNT
    const daemon = resources.use(await LocalDaemon.start({ config: await writeConfigFor((request) => answerTo(request, LAST_STEP)) }))
    writeFileSync(join(daemon.work, 'big.txt'), 'x'.repeat(RESULT_BYTES))
    const { uuid } = await daemon.spawn(BODY)
    expect(await waitForEnd(daemon, uuid)).toMatchObject({
      status: 'completed',
      lastText: 'done',
      step: LAST_STEP + 1,
      usage: { toolCalls: LAST_STEP, contextWindow: WINDOW },
    })
    expect(readEffects(daemon.work)).toEqual(effectsUpTo(LAST_STEP))
    await daemon.stop()
    expect(daemon.errors).toEqual([])

    const facts = await factsOf(daemon.paths.state, uuid)
    expect(facts.filter(({ body }) => body.type === 'context.compacted').length).toBeGreaterThanOrEqual(3)
    expect(facts.filter(({ body }) => body.type === 'model.failed' || body.type === 'compaction.failed')).toEqual([])
    const requests = [...server.requests]
    await contextsAt(facts, (contexts, { body }) => {
      const request = requests.shift()
      if (request === undefined) throw new Error(`no request was sent for ${body.type}`)
      expect(isSummary(request)).toBe(body.type === 'compaction.started')
      const sentMessages = messagesOf(request)
        .filter(({ role }) => role !== 'system')
        .slice(0, isSummary(request) ? -1 : undefined)
      for (const { messages } of contexts) expect(toChat(messages)).toEqual(sentMessages)
      const [wholeContext, ...parts] = contexts
      for (const part of parts)
        expect([part.messages, part.step, part.bytes, part.ranges]).toEqual([
          wholeContext?.messages,
          wholeContext?.step,
          wholeContext?.bytes,
          wholeContext?.ranges,
        ])
    })
    expect(requests).toEqual([])
  },
)

test('after a kill -9 in a step or in a summary, the next request equals the interrupted one', { timeout: 240_000 }, async () => {
  const lastStep = 100
  const hangingRequests = new Map<string, ServedRequest>()
  const repeated: [ServedRequest, ServedRequest][] = []
  /** Steps whose first request hangs; the first two summaries hang as well. */
  const cutSteps = new Set([1, 60, 99])
  const config = await writeConfigFor((request) => {
    const name = `${isSummary(request) ? 'summary' : 'step'} ${stepOf(request)}`
    const first = hangingRequests.get(name)
    if (first !== undefined) repeated.push([first, request])
    else if (
      isSummary(request) ? [...hangingRequests.keys()].filter((key) => key.startsWith('summary')).length < 2 : cutSteps.has(stepOf(request))
    ) {
      hangingRequests.set(name, request)
      return { hangAfterBytes: 0 }
    }
    return answerTo(request, lastStep)
  })
  const home = resources.use(await DaemonHome.create())
  mkdirSync(home.path, { mode: 0o700 })
  writeFileSync(home.paths.configFile, config)
  writeFileSync(join(home.work, 'big.txt'), 'x'.repeat(RESULT_BYTES))
  await home.start()
  const { uuid } = await home.spawn(BODY)
  for (let kills = 1; kills <= cutSteps.size + 2; kills += 1) {
    await expect.poll(() => hangingRequests.size, { timeout: 100_000, interval: 50, message: `call ${kills} hangs` }).toBe(kills)
    await home.kill()
    await home.start()
    await home.resume(uuid)
  }
  expect(await waitForEnd(home, uuid)).toMatchObject({
    status: 'completed',
    lastText: 'done',
    step: lastStep + 1,
    usage: { toolCalls: lastStep },
  })
  expect(repeated).toHaveLength(cutSteps.size + 2)
  for (const [before, after] of repeated) expect(after.body).toEqual(before.body)
  expect(readEffects(home.work)).toEqual(effectsUpTo(lastStep))
  expect((await home.stop()).code).toBe(0)
  const facts = await factsOf(home.paths.state, uuid)
  expect(facts.filter(({ body }) => body.type === 'context.compacted').length).toBeGreaterThanOrEqual(2)
  await home.waitUntilNothingIsLeft()
})

describe('for the user', () => {
  let daemon: LocalDaemon

  async function writeScript(changes: object = {}, window = 3_000): Promise<string> {
    // Each call has another limit, because equal calls would count as a loop.
    const readFile = (limit: number): object => ({ tools: [{ name: 'read', input: { path: 'big.txt', limit } }], ...changes })
    const file = join(daemon.work, 'long.yaml')
    writeFileSync(
      file,
      JSON.stringify({
        context_window: window,
        steps: [...Array.from({ length: 12 }, (_, index) => readFile(index + 1)), { text: 'done' }],
      }),
    )
    return `script:${file}`
  }

  async function start(): Promise<void> {
    daemon = resources.use(await LocalDaemon.start())
    writeFileSync(join(daemon.work, 'big.txt'), 'x'.repeat(RESULT_BYTES))
  }

  test('a process that cannot be compacted is suspended, also after a restart; a resume tries again and continues', async () => {
    await start()
    const { uuid } = await daemon.spawn({ model: await writeScript({ summary_error: { message: 'bad key', status: 401 } }) })
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({ holds: [{ reason: 'context-full', by: 'system' }], note: expect.stringContaining('context is full') })
    const { seq } = await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.held')
    await daemon.resume(uuid)
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.held' && event.seq > seq)
    await daemon.waitForStatus(uuid, 'suspended')
    expect((await daemon.readFactTypes(uuid)).filter((fact) => fact === 'compaction.failed')).toHaveLength(2)
    await daemon.restart()
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'context-full' }] })
    await writeScript()
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'done', usage: { toolCalls: 12 } })
    expect(await daemon.readFactTypes(uuid)).toContain('context.compacted')
    expect(daemon.errors).toEqual([])
  })

  test('the cost of the summary counts towards the budget', async () => {
    await start()
    const free = await daemon.spawn({ model: await writeScript() })
    const { usage } = await daemon.waitForEnd(free.uuid)
    const { steps } = await daemon.client.get<{ steps: { inputTokens: number; outputTokens: number }[] }>(
      `/v1/processes/${free.uuid}/steps`,
    )
    const stepTokens = steps.reduce((sum, step) => sum + step.inputTokens + step.outputTokens, 0)
    expect(usage.inputTokens + usage.outputTokens).toBeGreaterThan(stepTokens)
    const { uuid } = await daemon.spawn({ model: await writeScript(), limits: { budgetTokens: stepTokens } })
    expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ holds: [{ reason: 'budget' }] })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('the use of the window is exact, and 80 % of it gives a warning', async () => {
    await start()
    const file = join(daemon.work, 'warned.yaml')
    const listCall = { tools: [{ name: 'ls', input: {} }] }
    writeFileSync(
      file,
      JSON.stringify({
        context_window: 100_000,
        steps: [
          { ...listCall, usage: { input: 60_000, output: 5 } },
          { ...listCall, usage: { input: 81_200, output: 4 } },
          { ...listCall, usage: { input: 82_000, output: 4 } },
          { text: 'done', usage: { input: 50_000, output: 7 } },
        ],
      }),
    )
    const { uuid } = await daemon.spawn({ model: `script:${file}` })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'completed',
      usage: { contextTokens: 50_007, contextWindow: 100_000 },
      note: null,
    })
    const warned = (await daemon.readHistory(uuid)).filter((event) => event['fact'] === 'limit.warned')
    expect(warned).toMatchObject([{ limit: 'context', used: 81_204, of: 100_000 }])
  })

  test('the warning comes before the compaction, also when the room for an answer fills the window', async () => {
    const config = (await writeConfigFor((request) => answerTo(request, 100))).replace(
      `${WINDOW} }`,
      `${WINDOW}, maxOutputTokens: ${WINDOW} }`,
    )
    daemon = resources.use(await LocalDaemon.start({ config }))
    writeFileSync(join(daemon.work, 'big.txt'), 'x'.repeat(RESULT_BYTES))
    const { uuid } = await daemon.spawn(BODY)
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'context.compacted')
    const facts = (await daemon.readHistory(uuid)).map(({ fact }) => fact)
    expect(facts.indexOf('compaction.started')).toBeGreaterThan(0)
    expect(facts.slice(0, facts.indexOf('compaction.started'))).toContain('limit.warned')
  })
})
