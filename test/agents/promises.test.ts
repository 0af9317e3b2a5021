// reeve's guarantees for every coding agent: a task with a file and programs that stay, a normal end, a kill. Others are the death of
// the daemon, a kill while it is frozen, the resume of the session. Each leaves 0 programs. Pauses with a resume: pauses.test.ts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views/process.ts'
import { findLivingWith } from '../support/agents/living.ts'
import { openBench, poll, type Bench } from './bench.ts'
import { andNewest, KINDS } from './kinds.ts'
import { conversations, RESULT, TASKS, USAGE, WRITTEN } from './model.ts'

const STEPS = 3

describe.each(andNewest(KINDS))('$name', (kind) => {
  const { expected } = kind
  let bench: Bench
  beforeEach(async () => {
    bench = await openBench(kind)
  })
  afterEach(async () => {
    await bench[Symbol.asyncDispose]()
  })

  /** Waits until the programs of the tool run. */
  const started = (): Promise<unknown> =>
    poll(
      () => findLivingWith(bench.token).filter(({ argv }) => argv[0] === 'sleep').length === 2 || null,
      'the tool has started its programs',
    )

  /** Resumed with a second prompt, the agent knows the first one. */
  const goesOn = async (uuid: string, sessionId: string | null): Promise<ProcessView> => {
    expect(sessionId).not.toBeNull()
    await bench.daemon.resume(uuid, { message: `${TASKS.again} please`, env: bench.env })
    const view = await bench.ended(uuid)
    expect(view).toMatchObject({ status: 'completed', lastText: 'asked 2 times', sessionId })
    return view
  }

  test('a task: steps, tools, tokens and result are shown, and a normal end leaves nothing', async () => {
    const { uuid } = await bench.start(`${TASKS.work} write a file`)
    const view = await bench.ended(uuid)
    await bench.nothingLeft()
    expect(await bench.inspect(uuid)).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: RESULT, step: STEPS, turn: 1 })
    expect(readFileSync(join(bench.work, 'made.txt'), 'utf8')).toBe(WRITTEN)
    expect(view.usage).toMatchObject({
      toolCalls: 2,
      inputTokens: STEPS * USAGE.input,
      outputTokens: STEPS * USAGE.output,
      estimated: expected.isEstimated,
    })
    const { steps } = JSON.parse(await bench.cli('steps', '--json', uuid)) as {
      steps: { tools: { name: string; outcome: string; result: string }[] }[]
    }
    const tools = steps.flatMap((step) => step.tools)
    expect(tools.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
    expect(JSON.stringify(conversations(bench.model).at(-1)?.body)).toMatch(/started(?! > )/)
    expect(tools[1]?.result?.includes('started')).toBe(expected.tellsResults)
    for (const [index, name] of expected.tools.entries()) expect(tools[index]?.name).toMatch(name)
  })

  test('a kill in mid-turn leaves nothing', async () => {
    const { uuid } = await bench.start(`${TASKS.hang} now`)
    await started()
    await bench.cli('kill', uuid)
    expect(await bench.ended(uuid)).toMatchObject({ status: 'stopped' })
    await bench.nothingLeft()
  })

  test('kill -9 of the daemon leaves nothing, and the session continues', async () => {
    const { uuid } = await bench.start(`${TASKS.hang} now`)
    await started()
    const sessionId = await poll(async () => (await bench.daemon.view(uuid)).sessionId, 'its session is recorded')
    await bench.daemon.kill()
    await bench.daemon.nothingLeft()
    await bench.nothingLeft()
    await bench.daemon.start()
    await goesOn(uuid, sessionId)
    await bench.nothingLeft()
  })

  test('the session of an ended agent continues', async () => {
    const { uuid } = await bench.start(`${TASKS.work} first`)
    const { sessionId, usage } = await bench.ended(uuid)
    const second = await goesOn(uuid, sessionId)
    expect(second.usage.inputTokens).toBe(usage.inputTokens + USAGE.input)
    await bench.daemon.resume(uuid, { message: `${TASKS.again} once more`, env: bench.env })
    expect(await bench.ended(uuid)).toMatchObject({ status: 'completed', lastText: 'asked 3 times', sessionId })
    await bench.nothingLeft()
  })

  test('a kill while it is frozen in a stream of the model', async () => {
    const { uuid } = await bench.start(`${TASKS.stall} now`)
    await poll(() => conversations(bench.model).length === 2 || null, 'the stream has begun')
    await bench.cli('pause', '--now', uuid)
    await bench.frozen(uuid)
    expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended' })
    await bench.cli('kill', uuid)
    expect(await bench.ended(uuid)).toMatchObject({ status: 'stopped' })
    await bench.nothingLeft()
  })
})
