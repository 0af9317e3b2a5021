// A budget of a subtree of real processes: children call their model at the same time under their parent's budget. The
// daemon is killed meanwhile, and the budget is raised while the processes are suspended. The model is a server on this machine.
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { ModelServer, ServedAnswer } from '../../support/models/model-server.ts'

const BUDGET = 90_000
const INPUT = 2_000
const OUTPUT = 900
/** More than the served input, so that no estimate is too low. */
const INTENT = `look around ${'x'.repeat(4 * INPUT)}`

let resources: AsyncDisposableStack
beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

const isHeld = ({ holds }: ProcessView): boolean => holds.some(({ reason }) => reason === 'budget')
const tokensOf = ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}): number => inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens

/** The model never finishes: each answer calls `glob` with another pattern. */
function answerWithGlobCall(hang: () => boolean): (request: unknown) => ServedAnswer {
  let count = 0
  return () => {
    count += 1
    const answer = {
      tools: [{ id: `call_${count}`, name: 'glob', input: { pattern: `*.${count}` } }],
      usage: { input: INPUT, output: OUTPUT },
    }
    return hang() ? { ...answer, hangAfterBytes: 100 } : answer
  }
}

async function startHomeWith(server: ModelServer): Promise<DaemonHome> {
  const home = resources.use(await DaemonHome.create())
  mkdirSync(home.path, { mode: 0o700 })
  writeFileSync(
    home.paths.configFile,
    `providers: [{ name: anthropic, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`,
  )
  await home.start()
  return home
}

test("concurrent children stay within their parent's budget, through kill -9, resumes and a raise", { timeout: 180_000 }, async () => {
  let hangs = false
  const server = resources.use(await startModelServer(answerWithGlobCall(() => hangs)))
  const home = await startHomeWith(server)
  const env = testEnv(home.work, { MODEL_API_KEY: 'key-for-tests' })
  const model = 'anthropic/claude-sonnet-4-5'
  const parent = await home.spawn({ model, env, intent: '', interactive: true, limits: { budgetTokens: BUDGET } })
  const spawn = (): Promise<ProcessView> => home.spawn({ model, env, intent: INTENT, parent: parent.uuid })
  const children = await Promise.all([spawn(), spawn(), spawn(), spawn()])
  await server.waitForRequests(6)

  // Calls whose end is never seen.
  hangs = true
  const requestsBefore = server.requests.length
  await server.waitForRequests(requestsBefore + 2)
  await home.kill()
  hangs = false
  await home.start()
  const interruptedViews = await Promise.all(children.map(({ uuid }) => home.view(uuid)))
  expect(interruptedViews.filter(({ usage }) => usage.estimated).length).toBeGreaterThan(0)
  const tokensBefore = tokensOf((await home.view(parent.uuid)).subtreeUsage)
  expect(tokensBefore).toBe(interruptedViews.reduce((sum, { usage }) => sum + tokensOf(usage), 0))
  expect(tokensBefore).toBeLessThanOrEqual(BUDGET)

  await home.resume(parent.uuid, { env })
  for (const { uuid } of interruptedViews.filter(({ state }) => state === 'dead')) await home.resume(uuid, { env })
  const waitUntilAllHeld = async (): Promise<ProcessView[]> => Promise.all(children.map(({ uuid }) => home.waitForView(uuid, isHeld)))
  await waitUntilAllHeld()
  const spentUsage = (await home.waitForView(parent.uuid, isHeld)).subtreeUsage
  expect(tokensOf(spentUsage)).toBeLessThanOrEqual(BUDGET)
  expect(tokensOf(spentUsage)).toBeGreaterThan(BUDGET - 20_000)
  expect(spentUsage).toMatchObject({ openCalls: 0, reservedTokens: 0, estimated: true })
  // The last answers had smaller limits than the first ones.
  const maxTokens = server.requests.map(({ body }) => Number(body['max_tokens']))
  expect(Math.max(...maxTokens)).toBe(16_384)
  expect(Math.min(...maxTokens)).toBeLessThan(16_384)
  expect(Math.min(...maxTokens)).toBeGreaterThanOrEqual(1_000)

  const calls = server.requests.length
  const raised = await home.resume(parent.uuid, { raise: { budgetTokens: 30_000 } })
  expect(isHeld(raised)).toBe(false)
  await server.waitForRequests(calls + 2)
  await waitUntilAllHeld()
  const viewAfter = await home.waitForView(parent.uuid, isHeld)
  expect(tokensOf(viewAfter.subtreeUsage)).toBeLessThanOrEqual(BUDGET + 30_000)
  expect(viewAfter.limitUse).toEqual([
    {
      limit: 'budgetTokens',
      used: tokensOf(viewAfter.subtreeUsage),
      of: BUDGET + 30_000,
      action: 'suspend',
      scope: null,
      source: 'process',
    },
  ])
  expect((await home.view(children[0]?.uuid ?? '')).limitUse).toMatchObject([{ limit: 'budgetTokens', scope: parent.uuid }])
  expect((await home.stop()).code).toBe(0)
  await home.waitUntilNothingIsLeft()
})
