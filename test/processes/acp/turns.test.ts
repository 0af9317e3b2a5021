// ACP agents: turns and their records, usage, interruptions, and ends that leave nothing behind.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness, AcpRun } from '../../support/agents/acp-harness.ts'
import { findProcessesWith, signalFound } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

let harness: AcpHarness

beforeEach(async () => {
  harness = await openAcpHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

const STEPS = new Set(['model.started', 'model.finished', 'tool.started', 'tool.finished'])

/** The steps as short texts, in order. */
function stepsOf({ kernel }: AcpRun): string[] {
  return kernel.facts
    .map(({ body }) => body)
    .flatMap((body) => {
      if (!STEPS.has(body.type)) return []
      switch (body.type) {
        case 'model.started':
          return [`step ${body.step}`]
        case 'model.finished':
          return body.message.map((part) =>
            part.type === 'tool-call' ? `call ${part.name} ${JSON.stringify(part.input)}` : `${part.type} ${part.text}`,
          )
        case 'tool.started':
          return [`started ${body.name}`]
        case 'tool.finished':
          return [`${body.outcome}: ${body.content}`]
        default:
          return []
      }
    })
}

describe('a turn', () => {
  test('becomes steps: text, thoughts, calls with their results, and the result of the turn', async () => {
    const run = await harness.start()
    expect(await run.runTurn('think hm\nsay let me \nsay look\ntool execute ls -l\nsay done')).toMatchObject({
      outcome: 'ok',
      result: 'done',
    })
    expect(stepsOf(run)).toEqual([
      'step 1',
      'reasoning hm',
      'text let me look',
      'call execute {"command":"ls -l"}',
      'started execute',
      'ok: so far\ndone: ls -l',
      'step 2',
      'text done',
    ])
    expect(run.kernel.reportsOf('model.finished').map(({ report }) => [report.step, report.finish])).toEqual([
      [1, 'tool-calls'],
      [2, 'stop'],
    ])
    expect(run.kernel.liveOutputs.filter(({ type }) => type === 'text' || type === 'reasoning')).toEqual([
      { type: 'reasoning', step: 1, text: 'hm' },
      { type: 'text', step: 1, text: 'let me ' },
      { type: 'text', step: 1, text: 'look' },
      { type: 'text', step: 2, text: 'done' },
    ])
  })

  test('ends a call without a result with its turn, and counts the next call as a step of its own', async () => {
    const run = await harness.start()
    const goFile = join(harness.dir, 'go')
    await run.waitUntilUp()
    await run.send(`open long\nwait ${goFile}\ntool execute ls`)
    await run.kernel.waitFor(() => run.kernel.factsOf('tool.started').length === 1, 'the call has begun while it runs')
    writeFileSync(goFile, '')
    await run.kernel.waitForTurnEnd()
    // The agent never reported the end of the first call: it is closed with the turn, and the next call is a separate step.
    expect(stepsOf(run)).toEqual([
      'step 1',
      'call execute {"command":"long"}',
      'started execute',
      'interrupted: ',
      'step 2',
      'call execute {"command":"ls"}',
      'started execute',
      'ok: so far\ndone: ls',
    ])
  })

  test('puts two calls of one message into one step, in any order of their results', async () => {
    const run = await harness.start()
    await run.runTurn('pair\nfails fetch x\nedit /tmp/f')
    expect(run.kernel.factsOf('model.finished').map(({ message }) => message.length)).toEqual([2, 1, 1])
    expect(run.kernel.factsOf('tool.finished').map(({ step, outcome, content }) => [step, outcome, content])).toEqual([
      [1, 'ok', 'seen'],
      [1, 'ok', 'seen'],
      [2, 'error', 'so far\ndone: x'],
      [3, 'ok', '--- /tmp/f\n+++ /tmp/f\n-old\n+new'],
    ])
  })

  test('puts updates during a running call into the next step, so that each step is whole before the next', async () => {
    const run = await harness.start()
    await run.runTurn('below')
    expect(stepsOf(run)).toEqual([
      'step 1',
      'call think {"prompt":"x"}',
      'started think',
      'ok: outer done',
      'step 2',
      'call read {"path":"y"}',
      'started read',
      'ok: inner done',
    ])
  })

  test("shows and keeps the output of the agent's own terminal", async () => {
    const run = await harness.start()
    await run.runTurn('print one two')
    expect(run.kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'ok', content: 'one\ntwo\n' }])
    expect(run.kernel.liveOutputs.map((live) => ('text' in live ? live.text : ''))).toEqual(['one\n', 'two\n'])
  })

  test('reports changed plans as notes', async () => {
    const run = await harness.start()
    await run.runTurn('plan a,b\nplan a,b\nplan a')
    expect(run.kernel.factsOf('process.note').map(({ text }) => text)).toEqual(['plan: [ ] a; [ ] b', 'plan: [ ] a'])
  })

  test('may reuse the id of an ended call for another call', async () => {
    const run = await harness.start({ agentOptions: ['same-ids'] })
    await run.runTurn('tool read a\ntool read b')
    expect(run.kernel.factsOf('tool.finished').map(({ step, callId, content }) => [step, callId, content])).toEqual([
      [1, 'call', 'so far\ndone: a'],
      [2, 'call', 'so far\ndone: b'],
    ])
  })

  test.each([
    ['stop max_tokens', { outcome: 'ok' }],
    ['stop refusal', { outcome: 'error', error: 'the model refused to continue' }],
    ['stop max_turn_requests', { outcome: 'error', error: 'the agent reached its own limit of model calls in a turn' }],
    ['stop cancelled', { outcome: 'interrupted' }],
    ['error', { outcome: 'error', error: 'Internal error: the provider is down' }],
  ])('ends by `%s`', async (act, expected) => {
    const run = await harness.start()
    expect(await run.runTurn(`say so\n${act}`)).toMatchObject(expected)
    expect(stepsOf(run)).toEqual(['step 1', 'text so'])
    expect(await run.runTurn('say again')).toMatchObject({ outcome: 'ok', result: 'again' })
  })
})

describe('usage', () => {
  test('reports the increase of total costs; tokens come with the turn', async () => {
    const run = await harness.start({ agentOptions: ['tokens'] })
    await run.runTurn('usage 1000 200000 0.25\nusage 1500 200000 0.5')
    await run.runTurn('usage 1500 200000 0')
    expect(
      run.kernel
        .reportsOf('usage')
        .map(({ report: { usage, contextTokens, window } }) => [
          usage.costUsd,
          usage.inputTokens,
          usage.cacheReadTokens,
          contextTokens,
          window,
        ]),
    ).toEqual([
      [0.25, 0, 0, 1000, 200_000],
      [0.5, 0, 0, 1500, 200_000],
      [0, 100, 50, undefined, undefined],
      [0, 100, 50, undefined, undefined],
      [0, 0, 0, 1500, 200_000],
    ])
  })

  test('reports the fill of the context after a large change, and at the end of a turn', async () => {
    const run = await harness.start()
    await run.runTurn(
      `${Array.from({ length: 10 }, (_, index) => `usage ${index + 1} 1000 0`).join('\n')}\nusage 500 1000 0\nusage 501 1000 0`,
    )
    expect(run.kernel.reportsOf('usage').map(({ report }) => report.contextTokens)).toEqual([500, 501])
  })

  test('of an agent that reports only its last call is counted for each call of the turn, and marked as estimated', async () => {
    const run = await harness.start({ agentOptions: ['tokens', 'name=OpenCode'] })
    await run.runTurn('say x\ntool execute ls\nsay y')
    await run.runTurn('say z')
    expect(run.kernel.reportsOf('usage').map(({ report: { usage } }) => [usage.inputTokens, usage.estimated])).toEqual([
      [200, true],
      [100, undefined],
    ])
  })

  test('of a turn with a subagent is marked, because the usage of the subagent is not reported', async () => {
    const run = await harness.start({ agentOptions: ['tokens'] })
    await run.runTurn('tool think Task\nsay y')
    await run.runTurn('tool execute ls\nsay z')
    expect(run.kernel.reportsOf('usage').map(({ report: { usage } }) => usage.estimated)).toEqual([true, undefined])
  })

  test.each([
    ['tokens', 100],
    ['quota', 7],
  ])('without reported costs has an unknown price (%s)', async (agentOptions, inputTokens) => {
    const run = await harness.start({ agentOptions: [agentOptions] })
    await run.runTurn('say x')
    expect(run.kernel.reportsOf('usage').map(({ report }) => report.usage)).toMatchObject([{ costUsd: null, inputTokens }])
  })
})

describe('an interruption', () => {
  test('ends the turn, and the next turn works', async () => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('say working\nslow')
    await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
    await run.agent.interrupt()
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.reportsOf('turn.ended').at(-1)?.report).toMatchObject({ outcome: 'interrupted' })
    expect(stepsOf(run)).toEqual(['step 1', 'text working'])
    expect(await run.runTurn('say next')).toMatchObject({ outcome: 'ok', result: 'next' })
  })

  test('of an agent that ignores it gives up the turn', async () => {
    const run = await harness.start({ cancelMs: 50 })
    await run.waitUntilUp()
    await run.send('say working\nhang')
    await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
    await run.agent.interrupt()
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.reportsOf('turn.ended').at(-1)?.report).toMatchObject({ outcome: 'interrupted' })
    expect(run.kernel.factsOf('process.note').at(-1)?.text).toContain('did not end its turn in time')
  })
})

describe('an end', () => {
  test('by a stop in a turn cancels it, closes the session and the input, and leaves nothing', async () => {
    const run = await harness.start({ agentOptions: ['close'] })
    await run.waitUntilUp()
    await run.send(`start-child ${harness.token}\nsay working\nslow`)
    await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 10_000 })
    expect(await run.waitForExit()).toEqual({ type: 'exited', code: 0, osSignal: null })
    expect(run.readLogLines().slice(-3)).toEqual(['cancel', 'close', 'end of input'])
    expect(run.kernel.reportsOf('turn.ended')).toMatchObject([{ report: { outcome: 'interrupted' } }])
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('by a stop that cannot close the session is noted, and ends the agent all the same', async () => {
    const run = await harness.start({ agentOptions: ['close', 'unclosable'] })
    await run.waitUntilUp()
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 10_000 })
    expect(await run.waitForExit()).toEqual({ type: 'exited', code: 0, osSignal: null })
    expect(run.readLogLines().slice(-2)).toEqual(['close', 'end of input'])
    expect(run.kernel.reportsOf('note').map(({ report }) => report.text)).toContainEqual(
      expect.stringMatching(/^its session was not closed: .*the session is locked/),
    )
  })

  test.each<['SIGTERM' | 'SIGKILL', number]>([
    ['SIGTERM', 400],
    ['SIGKILL', 0],
  ])('by %s ends a deaf agent that ignores the end of its input and has left a child', async (signal, graceMs) => {
    const run = await harness.start({ agentOptions: ['deaf', 'no-eof'] })
    await run.waitUntilUp()
    await run.send(`start-child ${harness.token}\nsay working\nhang`)
    await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
    await run.agent.stop({ signal, graceMs })
    expect(await run.waitForExit()).toMatchObject({ osSignal: 'SIGKILL' })
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('after its work: a disposal lets the agent exit by itself, and ends the programs that it left', async () => {
    const run = await harness.start({ agentOptions: ['close'] })
    await run.runTurn(`start-child ${harness.token}`)
    run.kernel.cancel()
    await run.agent[Symbol.asyncDispose]()
    expect(run.readLogLines().slice(-2)).toEqual(['close', 'end of input'])
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test.each([
    ['crash 3', 'the agent ended during its turn: exit code 3: it broke: no more ink', 3],
    ['crash 0', 'the agent ended during its turn: exit code 0: it broke: no more ink', 0],
    ['close-output', 'the agent ended during its turn: it has closed its output', null],
  ])('in its turn by `%s` is reported, with its last output', async (act, error, code) => {
    // In a namespace, `nsenter` outside holds the output too, so reeve does not notice there that the program closes it.
    const run = await harness.start(act === 'close-output' ? { kind: 'group' } : {})
    await run.waitUntilUp()
    await run.send(`start-child ${harness.token}\nsay half\n${act}`)
    expect(await run.waitForExit()).toMatchObject({ error, code })
    expect(stepsOf(run)).toEqual(['step 1', 'text half'])
    expect(run.kernel.reportsOf('output').map(({ report }) => report.text)).toEqual(
      act.startsWith('crash') ? ['it broke: no more ink\n'] : [],
    )
    await run.agent[Symbol.asyncDispose]()
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('in a turn withdraws all open questions to the user', async () => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('ask execute rm x')
    await run.waitForAsk()
    for (const program of findProcessesWith(harness.token)) if (program.argv[0] === process.execPath) signalFound(program, 'SIGKILL')
    expect(await run.waitForExit()).toMatchObject({ osSignal: 'SIGKILL', error: 'the agent ended during its turn: ended by SIGKILL' })
    await waitUntil(() => run.kernel.reportsOf('unasked').length === 1, 'the question is withdrawn')
  })
})
