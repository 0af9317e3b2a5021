// The guarantees of reeve for every real coding agent. No program is left after a normal end, a kill, a crash of the daemon or a kill
// of a frozen agent, and the session of the agent can be resumed. pauses.test.ts tests pauses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views/process.ts'
import { findProcessesWith } from '../support/living-processes.ts'
import { openAgentBench, pollUntil, type AgentBench } from './bench.ts'
import { addNewestVersions, KINDS } from './kinds.ts'
import { conversationRequests, RESULT, TASKS, USAGE, WRITTEN } from './model.ts'

const STEPS = 3

describe.each(addNewestVersions(KINDS))('$name', (kind) => {
  const { expected } = kind
  let bench: AgentBench
  beforeEach(async () => {
    bench = await openAgentBench(kind)
  })
  afterEach(async () => {
    await bench[Symbol.asyncDispose]()
  })

  /** Waits until the programs of the tool run. */
  const waitForPrograms = (): Promise<unknown> =>
    pollUntil(
      () => findProcessesWith(bench.token).filter(({ argv }) => argv[0] === 'sleep').length === 2 || null,
      'the tool has started its programs',
    )

  /** Resumes the agent with a second prompt, and expects that it knows the first one. */
  const expectResumed = async (uuid: string, sessionId: string | null): Promise<ProcessView> => {
    expect(sessionId).not.toBeNull()
    await bench.daemon.resume(uuid, { message: `${TASKS.again} please`, env: bench.env })
    const view = await bench.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'completed', lastText: 'asked 2 times', sessionId })
    return view
  }

  test('a completed task shows its steps, tools, tokens and result, and leaves no program', async () => {
    const { uuid } = await bench.start(`${TASKS.work} write a file`)
    const view = await bench.waitForEnd(uuid)
    await bench.waitUntilNothingIsLeft()
    expect(await bench.inspect(uuid)).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: RESULT, step: STEPS, turn: 1 })
    expect(readFileSync(join(bench.work, 'made.txt'), 'utf8')).toBe(WRITTEN)
    expect(view.usage).toMatchObject({
      toolCalls: 2,
      inputTokens: STEPS * USAGE.input,
      outputTokens: STEPS * USAGE.output,
      estimated: expected.isEstimated,
    })
    const { steps } = JSON.parse(await bench.reeve('steps', '--json', uuid)) as {
      steps: { tools: { name: string; outcome: string; result: string }[] }[]
    }
    const tools = steps.flatMap((step) => step.tools)
    expect(tools.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
    expect(JSON.stringify(conversationRequests(bench.model).at(-1)?.body)).toMatch(/started(?! > )/)
    expect(tools[1]?.result?.includes('started')).toBe(expected.reportsResults)
    for (const [index, name] of expected.tools.entries()) expect(tools[index]?.name).toMatch(name)
  })

  test('a kill in the middle of a turn leaves no program', async () => {
    const { uuid } = await bench.start(`${TASKS.hang} now`)
    await waitForPrograms()
    await bench.reeve('kill', uuid)
    expect(await bench.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    await bench.waitUntilNothingIsLeft()
  })

  test('kill -9 of the daemon leaves no program, and the session continues', async () => {
    const { uuid } = await bench.start(`${TASKS.hang} now`)
    await waitForPrograms()
    const sessionId = await pollUntil(async () => (await bench.daemon.view(uuid)).sessionId, 'its session is recorded')
    await bench.daemon.kill()
    await bench.daemon.waitUntilNothingIsLeft()
    await bench.waitUntilNothingIsLeft()
    await bench.daemon.start()
    await expectResumed(uuid, sessionId)
    await bench.waitUntilNothingIsLeft()
  })

  test('the session of an ended agent continues', async () => {
    const { uuid } = await bench.start(`${TASKS.work} first`)
    const { sessionId, usage } = await bench.waitForEnd(uuid)
    const second = await expectResumed(uuid, sessionId)
    expect(second.usage.inputTokens).toBe(usage.inputTokens + USAGE.input)
    await bench.daemon.resume(uuid, { message: `${TASKS.again} once more`, env: bench.env })
    expect(await bench.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'asked 3 times', sessionId })
    await bench.waitUntilNothingIsLeft()
  })

  test('a kill of an agent frozen in a model stream leaves no program', async () => {
    const { uuid } = await bench.start(`${TASKS.stall} now`)
    await pollUntil(() => conversationRequests(bench.model).length === 2 || null, 'the stream has begun')
    await bench.reeve('pause', '--now', uuid)
    await bench.waitUntilFrozen(uuid)
    expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended' })
    await bench.reeve('kill', uuid)
    expect(await bench.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    await bench.waitUntilNothingIsLeft()
  })
})
