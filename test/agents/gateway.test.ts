// Real coding agents that call their models through the gateway. The metered usage equals the usage that the model server sent, also after
// refused and cut calls. No tool of an agent sees a key. A budget and a pause hold the agent at its next call.
// docs/reference/external-agents.md lists the limits of each agent.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import { openAgentHarness, pollUntil, type AgentHarness } from './harness.ts'
import { addNewestVersions, GATEWAY_KINDS, KEY } from './kinds.ts'
import { conversationRequests, RESULT, TASKS, type Fault, type SentAnswer, type ServedUsage, type ModelSettings } from './model.ts'

const USAGE: ServedUsage = { input: 100, output: 7, cacheRead: 40 }
/** More than any agent's estimate for its first request. */
const BUDGET_TOKENS = 200_000

describe.each(addNewestVersions(GATEWAY_KINDS))('$name', (kind) => {
  let harness: AgentHarness
  afterEach(async () => {
    await harness?.[Symbol.asyncDispose]()
  })

  const openHarness = async (served: Pick<ModelSettings, 'usage' | 'fault'> = { usage: USAGE }): Promise<void> => {
    harness = await openAgentHarness(kind, served)
  }

  const readFinishedCalls = async (uuid: string): Promise<readonly EventView[]> =>
    (await harness.daemon.readEvents()).filter((event) => event.uuid === uuid && event['fact'] === 'call.finished')

  /** Compares the usage of complete answers exactly; the totals of the view also include estimates. */
  const expectMetered = async (uuid: string, view: ProcessView): Promise<void> => {
    const wholeAnswers = harness.model.sent.filter(({ outcome }) => outcome === 'whole')
    const reportedUsages = (await readFinishedCalls(uuid)).map((event) => event['usage'] as ProcessView['usage'] & { estimated?: true })
    const exactUsages = reportedUsages.filter(({ estimated }) => !estimated)
    expect(sum(exactUsages.map(bucketsOf))).toEqual(sum(wholeAnswers.map(({ usage }) => usage)))
    expect(sum([view.usage].map(bucketsOf))).toEqual(sum(reportedUsages.map(bucketsOf)))
    const { total } = JSON.parse(await harness.reeve('usage', '--json')) as { total: ProcessView['usage'] }
    expect(bucketsOf(total)).toEqual(bucketsOf(view.usage))
  }

  test("the metered usage equals the model server's after refusals, a cut stream and a resume, and the tools see no key", async () => {
    const faults: readonly Fault[] = [{ status: 429 }, { status: 500 }, ...(kind.retriesCutStream ? ['cut' as const] : [])]
    await openHarness({ usage: USAGE, fault: (request) => faults[request] ?? null })
    const { uuid } = await harness.start(`${TASKS.env} now`)
    const view = await harness.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'completed', gateway: { on: true } })
    if (kind.hasKnownOutput) expect(view.lastText).toBe(RESULT)
    await expectMetered(uuid, view)
    const cutCalls = (await readFinishedCalls(uuid)).filter((event) => (event['usage'] as { estimated?: true }).estimated)
    expect(cutCalls.length).toBe(kind.retriesCutStream ? 1 : 0)
    for (const event of cutCalls)
      expect(event['usage']).toMatchObject({ outputTokens: expect.toSatisfy((tokens: number) => tokens > 0 && tokens < 100) })
    const env = readFileSync(join(harness.work, 'env.txt'), 'utf8')
    expect(env).toContain(`REEVE_UUID=${uuid}`)
    expect(env).not.toContain(KEY)
    expect(env).not.toContain(harness.model.url)
    expect(keysIn(harness.model.requests.map(({ headers }) => headers))).toEqual([KEY])
    await harness.waitUntilNothingIsLeft()
    if (!kind.hasKnownOutput) return
    const answersBefore = harness.model.sent.length
    await harness.daemon.resume(uuid, { message: `${TASKS.again} please`, env: harness.env })
    const resumedView = await harness.waitForEnd(uuid)
    expect(resumedView).toMatchObject({ status: 'completed', lastText: 'asked 2 times' })
    expect(harness.model.sent.length).toBeGreaterThan(answersBefore)
    await expectMetered(uuid, resumedView)
    await harness.waitUntilNothingIsLeft()
  })

  test('a used-up budget holds the agent before its next call, and a larger one lets it continue', async () => {
    const budget = kind.isPriced ? { budgetUsd: 0.5 } : { budgetTokens: BUDGET_TOKENS }
    await openHarness({ usage: { ...USAGE, input: BUDGET_TOKENS } })
    const { uuid } = await harness.start(`${TASKS.work} write a file`, { limits: budget })
    const suspended = await pollUntil(async () => {
      const view = await harness.daemon.view(uuid)
      return view.status === 'suspended' ? view : null
    }, 'its budget holds it')
    expect(suspended.holds.map(({ reason }) => reason)).toEqual(['budget'])
    expect(suspended.note).toMatch(
      kind.isPriced ? /^paused: budget .*\$\d\.\d+ of \$0\.5 are spent/ : /^paused: budget .*\d+ of \d+ tokens are used/,
    )
    // A request outside the task, such as for a title, may have used up the budget before.
    expect(conversationRequests(harness.model).length).toBeLessThanOrEqual(1)
    await harness.reeve('resume', '-d', ...(kind.isPriced ? ['--budget-usd', '+50'] : ['--budget-tokens', '+1000000']), uuid)
    const view = await harness.waitForEnd(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      limits: kind.isPriced ? { budgetUsd: 50.5 } : { budgetTokens: BUDGET_TOKENS + 1_000_000 },
    })
    if (kind.hasKnownOutput) expect(view.lastText).toBe(RESULT)
    await expectMetered(uuid, view)
    await harness.waitUntilNothingIsLeft()
  })

  // Every pause freezes a command at once, so a command is never drained.
  test.skipIf(kind.isCommand)('a pause in the middle of a turn holds the agent at its next call, and the turn continues', async () => {
    await openHarness()
    const { uuid } = await harness.start(`${TASKS.gate} now`)
    await pollUntil(() => existsSync(join(harness.work, 'waits')) || null, 'it is in its tool')
    const requestsBefore = conversationRequests(harness.model).length
    await harness.reeve('pause', uuid)
    harness.releaseAnswerAndTool()
    await harness.waitUntilFrozen(uuid)
    expect(await harness.inspect(uuid)).toMatchObject({ status: 'suspended' })
    expect(conversationRequests(harness.model).length).toBe(requestsBefore)
    await harness.reeve('resume', '-d', uuid)
    const view = await harness.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'completed', lastText: RESULT })
    await expectMetered(uuid, view)
    await harness.waitUntilNothingIsLeft()
  })
})

function bucketsOf({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Pick<ProcessView['usage'], 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>): SentAnswer['usage'] {
  return { input: inputTokens + cacheWriteTokens, output: outputTokens, cacheRead: cacheReadTokens }
}

function sum(all: readonly ServedUsage[]): ServedUsage {
  return all.reduce(
    (one, other) => ({ input: one.input + other.input, output: one.output + other.output, cacheRead: one.cacheRead + other.cacheRead }),
    { input: 0, output: 0, cacheRead: 0 },
  )
}

/** The headers by which the provider identifies the client. */
function keysIn(all: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const keys = all
    .flatMap((headers) => [headers['x-api-key'], headers['x-goog-api-key'], headers['authorization']])
    .filter((value) => value !== undefined)
  return [...new Set(keys.map((value) => String(value).replace(/^Bearer /, '')))]
}
