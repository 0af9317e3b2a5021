// The guarantees of reeve for every real coding agent. No program is left after a normal end, a kill, a crash of the daemon or a kill
// of a frozen agent, and the session of the agent can be resumed. pauses.test.ts tests pauses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views/process.ts'
import { findProcessesWith } from '../support/living-processes.ts'
import { openAgentHarness, pollUntil, type AgentHarness } from './harness.ts'
import { addNewestVersions, KINDS } from './kinds.ts'
import { conversationRequests, RESULT, TASKS, USAGE, WRITTEN } from './model.ts'

const STEPS = 3

describe.each(addNewestVersions(KINDS))('$name', (kind) => {
  const { expected } = kind
  let harness: AgentHarness
  beforeEach(async () => {
    harness = await openAgentHarness(kind)
  })
  afterEach(async () => {
    await harness[Symbol.asyncDispose]()
  })

  /** Waits until the programs of the tool run. */
  const waitForPrograms = (): Promise<unknown> =>
    pollUntil(
      () => findProcessesWith(harness.token).filter(({ argv }) => argv[0] === 'sleep').length === 2 || null,
      'the tool has started its programs',
    )

  /** Resumes the agent with a second prompt, and expects that it knows the first one. */
  const expectResumed = async (uuid: string, sessionId: string | null): Promise<ProcessView> => {
    expect(sessionId).not.toBeNull()
    await harness.daemon.resume(uuid, { message: `${TASKS.again} please`, env: harness.env })
    const view = await harness.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'completed', lastText: 'asked 2 times', sessionId })
    return view
  }

  test('a completed task shows its steps, tools, tokens and result, and leaves no program', async () => {
    const { uuid } = await harness.start(`${TASKS.work} write a file`)
    const view = await harness.waitForEnd(uuid)
    await harness.waitUntilNothingIsLeft()
    expect(await harness.inspect(uuid)).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: RESULT, step: STEPS, turn: 1 })
    expect(readFileSync(join(harness.work, 'made.txt'), 'utf8')).toBe(WRITTEN)
    expect(view.usage).toMatchObject({
      toolCalls: 2,
      inputTokens: STEPS * USAGE.input,
      outputTokens: STEPS * USAGE.output,
      estimated: expected.isEstimated,
    })
    const { steps } = JSON.parse(await harness.reeve('steps', '--json', uuid)) as {
      steps: { tools: { name: string; outcome: string; result: string }[] }[]
    }
    const tools = steps.flatMap((step) => step.tools)
    expect(tools.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
    expect(JSON.stringify(conversationRequests(harness.model).at(-1)?.body)).toMatch(/started(?! > )/)
    expect(tools[1]?.result?.includes('started')).toBe(expected.reportsResults)
    for (const [index, name] of expected.tools.entries()) expect(tools[index]?.name).toMatch(name)
  })

  test('a kill in the middle of a turn leaves no program', async () => {
    const { uuid } = await harness.start(`${TASKS.hang} now`)
    await waitForPrograms()
    await harness.reeve('kill', uuid)
    expect(await harness.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    await harness.waitUntilNothingIsLeft()
  })

  test('kill -9 of the daemon leaves no program, and the session continues', async () => {
    const { uuid } = await harness.start(`${TASKS.hang} now`)
    await waitForPrograms()
    const sessionId = await pollUntil(async () => (await harness.daemon.view(uuid)).sessionId, 'its session is recorded')
    await harness.daemon.kill()
    await harness.daemon.waitUntilNothingIsLeft()
    await harness.waitUntilNothingIsLeft()
    await harness.daemon.start()
    await expectResumed(uuid, sessionId)
    await harness.waitUntilNothingIsLeft()
  })

  test('the session of an ended agent continues', async () => {
    const { uuid } = await harness.start(`${TASKS.work} first`)
    const { sessionId, usage } = await harness.waitForEnd(uuid)
    const second = await expectResumed(uuid, sessionId)
    expect(second.usage.inputTokens).toBe(usage.inputTokens + USAGE.input)
    await harness.daemon.resume(uuid, { message: `${TASKS.again} once more`, env: harness.env })
    expect(await harness.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'asked 3 times', sessionId })
    await harness.waitUntilNothingIsLeft()
  })

  test('a kill of an agent frozen in a model stream leaves no program', async () => {
    const { uuid } = await harness.start(`${TASKS.stall} now`)
    await pollUntil(() => conversationRequests(harness.model).length === 2 || null, 'the stream has begun')
    await harness.reeve('pause', '--now', uuid)
    await harness.waitUntilFrozen(uuid)
    expect(await harness.inspect(uuid)).toMatchObject({ status: 'suspended' })
    await harness.reeve('kill', uuid)
    expect(await harness.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    await harness.waitUntilNothingIsLeft()
  })
})
