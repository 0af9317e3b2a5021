// Soft and immediate pauses of real coding agents, during a model stream and during a tool call. All agents are paused at the same
// time for 5 s, or with REEVE_LONG=1 for 330 s, which is longer than any timeout of an agent. The tests print the observed behaviour.
// docs/reference/external-agents.md lists the limits of each agent.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAgentHarness, pollUntil, type AgentHarness } from './harness.ts'
import { KINDS, type TestedKind } from './kinds.ts'
import { conversationRequests, RESULT, TASKS } from './model.ts'

const PAUSE_MS = process.env['REEVE_LONG'] === '1' ? 330_000 : 5_000
/** The number of concurrent starts: each takes a core for some seconds. */
const CONCURRENCY = availableParallelism()
/** The time in ms for one agent to begin, to be paused, and to continue to its end. */
const CASE_MS = 180_000

interface PauseCase {
  readonly kind: TestedKind
  readonly work: 'a stream' | 'a tool'
  readonly mode: 'softly' | 'at once'
}

/** A paused agent, with the number of its model requests and its elapsed time at the pause. */
interface PausedAgent {
  readonly harness: AgentHarness
  readonly uuid: string
  readonly requestCount: number
  readonly elapsedMs: number
}

const CASES: readonly PauseCase[] = KINDS.flatMap((kind) =>
  (['a stream', 'a tool'] as const).flatMap((work) => (['softly', 'at once'] as const).map((mode) => ({ kind, work, mode }))),
)

/** Pauses the agent in the middle of its turn. Its stream or tool ends before the freeze (a soft pause by ACP) or during it. */
async function pause({ kind, work, mode }: PauseCase, harness: AgentHarness): Promise<PausedAgent> {
  const { uuid } = await harness.start(`${work === 'a tool' ? TASKS.gate : TASKS.pace} now`)
  const toolStartedFile = join(harness.work, 'waits')
  await pollUntil(
    () => (work === 'a tool' ? existsSync(toolStartedFile) : conversationRequests(harness.model).length > 0) || null,
    `${kind.name} is in ${work}`,
  )
  await harness.reeve('pause', ...(mode === 'softly' ? [] : ['--now']), uuid)
  const isDrained = mode === 'softly' && !kind.isCommand
  if (isDrained) harness.releaseAnswerAndTool()
  const facts = await harness.waitUntilFrozen(uuid)
  expect(facts.includes('process.drained')).toBe(isDrained)
  if (!isDrained) harness.releaseAnswerAndTool()
  // The message is kept until the process continues.
  if (!kind.isCommand) await harness.reeve('send', uuid, `${TASKS.again} please`)
  const { status, elapsedMs, lastText } = await harness.inspect(uuid)
  expect(status).toBe('suspended')
  if (isDrained) expect(lastText).toBe(RESULT)
  return { harness, uuid, elapsedMs, requestCount: conversationRequests(harness.model).length }
}

/** Checks that the agent did nothing during the pause, and lets it continue to its end. */
async function checkAndResume({ kind, work, mode }: PauseCase, { harness, uuid, requestCount, elapsedMs }: PausedAgent): Promise<void> {
  expect(await harness.inspect(uuid)).toMatchObject({ status: 'suspended', elapsedMs })
  expect(conversationRequests(harness.model).length).toBe(requestCount)
  await harness.reeve('resume', '-d', uuid)
  const view = await harness.waitForEnd(uuid)
  const { steps } = JSON.parse(await harness.reeve('steps', '--json', uuid)) as {
    steps: { tools: { outcome: string; result: string }[] }[]
  }
  const tools = steps.flatMap((step) => step.tools.map(({ outcome, result }) => `${outcome} ${JSON.stringify(result?.slice(0, 80))}`))
  console.log(
    `${kind.name}, in ${work}, ${mode}: ${view.status}, ${JSON.stringify(view.lastText)}, ${conversationRequests(harness.model).length - requestCount} model calls after the pause${tools.length > 0 ? `, tool: ${tools.join(', ')}` : ''}`,
  )
  expect(view).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: kind.isCommand ? RESULT : 'asked 2 times' })
  await harness.waitUntilNothingIsLeft()
}

describe(`paused for ${PAUSE_MS / 1_000} s`, () => {
  const harnesses: AgentHarness[] = []
  const paused = new Map<PauseCase, PromiseSettledResult<PausedAgent>>()

  beforeAll(
    async () => {
      const queue = [...CASES]
      const worker = async (): Promise<void> => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const harness = await openAgentHarness(next.kind)
          harnesses.push(harness)
          const [result] = await Promise.allSettled([pause(next, harness)])
          paused.set(next, result)
        }
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, worker))
      await delay(PAUSE_MS)
    },
    PAUSE_MS + CASES.length * CASE_MS,
  )

  afterAll(async () => {
    for (const harness of harnesses) await harness[Symbol.asyncDispose]()
  }, CASE_MS)

  test.each(CASES)(
    '$kind.name, paused $mode in $work, continues after the resume',
    async (pauseCase) => {
      const result = paused.get(pauseCase)
      if (result?.status !== 'fulfilled') throw result?.reason ?? new Error('it was not begun')
      await checkAndResume(pauseCase, result.value)
    },
    CASE_MS,
  )
})
