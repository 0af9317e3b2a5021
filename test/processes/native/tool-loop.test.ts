// The tool loop of native agents: turns, steps, tools, the gate, and continuing after an end. Models are played scripts.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Agent } from '../../../src/drivers/port.ts'
import type { FactType } from '../../../src/kernel/model/facts.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'
import type { FakeKernel } from '../../support/kernel/fake-kernel.ts'

let harness: NativeHarness

/** Holds the process at the moment of a fact. */
function holdAt(kernel: FakeKernel, type: FactType): void {
  kernel.onFact = (body) => {
    if (body.type === type) kernel.hold()
  }
}

async function wakeAgent(kernel: FakeKernel, agent: Agent): Promise<void> {
  kernel.onFact = () => undefined
  kernel.release()
  await agent.unpause()
}

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

test('a turn asks the model, runs its tools, asks again, and ends with the last text', async () => {
  const { kernel, runTurn } = await harness.run({
    script: `
- text: writing
  tools: [{ name: write, input: { path: a/b.txt, content: hello } }]
- tools: [{ name: read, input: { path: a/b.txt } }]
- text: 'it says {{ lastResult }}'
`,
  })
  await runTurn('go')
  expect(await readFile(join(harness.dir, 'a/b.txt'), 'utf8')).toBe('hello')
  expect(kernel.facts.map(({ body }) => body.type)).toEqual([
    'process.queue',
    'process.incoming',
    'process.working',
    'model.started',
    'model.finished',
    'tool.started',
    'tool.finished',
    'model.started',
    'model.finished',
    'tool.started',
    'tool.finished',
    'model.started',
    'model.finished',
    'process.ready',
  ])
  expect(kernel.factsOf('model.started').map((each) => each.step)).toEqual([1, 2, 3])
  expect(kernel.factsOf('tool.started').map((each) => [each.callId, each.effect])).toEqual([
    ['call_1_0', 'idempotent'],
    ['call_2_0', 'read'],
  ])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ turn: 1, outcome: 'ok', result: 'it says hello' }])
})

test('the last tool result and the next model request share a commit, and so do the answer and the end of the turn', async () => {
  const { kernel, runTurn } = await harness.run({
    script: `
- tools: [{ name: ls, input: {} }, { name: ls, input: {} }]
- text: done
`,
  })
  await runTurn('go')
  const commits = kernel.records.map(({ report, commit }) => ({ type: report.type, commit }))
  const [, second] = commits.filter(({ type }) => type === 'tool.finished')
  expect(second?.commit).toBe(commits.findLast(({ type }) => type === 'model.started')?.commit)
  expect(commits.at(-1)).toMatchObject({ type: 'turn.ended', commit: commits.at(-2)?.commit })
  expect(new Set(commits.map(({ commit }) => commit)).size).toBe(6) // up, request, answer, first result, result and request, answer and end
})

test('reading calls run side by side; a call with an effect waits for those before it', async () => {
  const { kernel, agent, send } = await harness.run({
    script: `
- tools:
  - { name: read, input: { path: one.txt } }
  - { name: read, input: { path: one.txt } }
  - { name: bash, input: { command: 'cat one.txt > two.txt' } }
  - { name: read, input: { path: two.txt } }
`,
  })
  await writeFile(join(harness.dir, 'one.txt'), '1')
  holdAt(kernel, 'tool.started')
  await send('go')
  await kernel.waitFor(() => kernel.pauseWaitCount === 2, 'both reads wait for the end of the pause')
  await agent.pause(false)
  expect(kernel.factsOf('tool.finished')).toEqual([])
  await wakeAgent(kernel, agent)
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('tool.finished').map(({ outcome, content }) => [outcome, content])).toEqual([
    ['ok', '1'],
    ['ok', '1'],
    ['ok', '[exit code 0]'],
    ['ok', '1'],
  ])
  expect(kernel.pauseWaitCount).toBe(2)
})

test('an agent that is paused in a turn records the call in flight, begins nothing, and continues where it was', async () => {
  const { kernel, agent, send } = await harness.run({
    script: `
- tools: [{ name: bash, input: { command: 'echo a >> log; echo began; until [ -e go ]; do :; done' } }, { name: bash, input: { command: echo b >> log } }]
- text: done
`,
  })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.some((live) => live.text === 'began\n'), 'the first tool runs')
  kernel.hold()
  await agent.pause(false)
  await writeFile(join(harness.dir, 'go'), '')
  await kernel.waitFor(() => kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ callId: 'call_1_0', outcome: 'ok' }])
  expect(await readFile(join(harness.dir, 'log'), 'utf8')).toBe('a\n')
  await wakeAgent(kernel, agent)
  await kernel.waitForTurnEnd()
  expect(await readFile(join(harness.dir, 'log'), 'utf8')).toBe('a\nb\n')
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
})

test('a model request that is answered "held" is repeated after the hold', async () => {
  const { kernel, runTurn } = await harness.run({ script: '- text: done' })
  kernel.hold()
  const turnEnded = runTurn('go')
  await kernel.waitFor(() => kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
  expect(kernel.factsOf('model.started')).toEqual([])
  kernel.release()
  await turnEnded
  expect(kernel.factsOf('model.started')).toHaveLength(1)
})

test('a hold that comes with the last tool result stops the next model request', async () => {
  const { kernel, runTurn } = await harness.run({
    script: `
- tools: [{ name: ls, input: {} }]
- text: done
`,
  })
  holdAt(kernel, 'tool.finished')
  const turnEnded = runTurn('go')
  await kernel.waitFor(() => kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
  expect(kernel.reportsOf('model.started').map(({ ack }) => ack)).toEqual(['go', 'held'])
  kernel.release()
  await turnEnded
  expect(kernel.factsOf('tool.finished')).toHaveLength(1)
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
})

test('a model request that is answered "stop" ends the loop silently', async () => {
  const { kernel, agent, send } = await harness.run({ script: '- tools: [{ name: ls, input: {} }]\n- text: never' })
  kernel.onModelStarted = (step) => (step === 2 ? 'stop' : 'go')
  await send('go')
  await kernel.waitFor(() => kernel.reportsOf('model.started').length === 2, 'it asks for the second step')
  await agent.stop({ signal: 'SIGTERM', graceMs: 0 })
  expect(kernel.reportsOf('turn.ended')).toEqual([])
  expect(kernel.reportsOf('exited')).toMatchObject([{ report: { code: null, osSignal: null } }])
  expect(kernel.factsOf('model.finished')).toHaveLength(1)
})

test('a tool that was interrupted by a crash is not run again; the model is informed, and decides', async () => {
  const script = `
- tools: [{ name: bash, input: { command: echo x >> log } }, { name: read, input: { path: log } }, { name: write, input: { path: w, content: w } }]
- text: '{{ lastResult }}'
`
  const first = await harness.run({ script })
  await first.runTurn('go')
  const crashed = first.kernel.facts.slice(
    0,
    first.kernel.facts.findIndex(({ body }) => body.type === 'tool.finished'),
  )
  const second = await harness.run({ script, earlierFacts: crashed })
  await second.agent.proceed(second.kernel.turn)
  await second.kernel.waitForTurnEnd()
  expect(await readFile(join(harness.dir, 'log'), 'utf8')).toBe('x\n')
  expect(second.kernel.factsOf('tool.finished').map(({ name, outcome }) => [name, outcome])).toEqual([
    ['bash', 'interrupted'],
    ['read', 'ok'],
    ['write', 'ok'],
  ])
  expect(second.kernel.factsOf('model.started').map((each) => each.step)).toEqual([1, 2])
  expect(second.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'wrote 1 bytes to w' }])
})

test('a turn whose answer was complete when the daemon died only gets its end', async () => {
  const first = await harness.run({ script: '- text: all done' })
  await first.runTurn('go')
  const crashed = first.kernel.facts.filter(({ body }) => body.type !== 'process.ready')
  const second = await harness.run({ script: '- text: all done\n- text: again', earlierFacts: crashed })
  await second.agent.proceed(second.kernel.turn)
  await second.kernel.waitForTurnEnd()
  expect(second.kernel.factsOf('model.started')).toHaveLength(1)
  expect(second.kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'all done' }])
})

test('a model call that was open when the daemon died is repeated with the same step', async () => {
  const first = await harness.run({ script: '- tools: [{ name: ls, input: {} }]\n- text: two\n' })
  await first.runTurn('go')
  const crashed = first.kernel.facts.slice(0, first.kernel.facts.findLastIndex(({ body }) => body.type === 'model.started') + 1)
  const second = await harness.run({ script: '- tools: [{ name: ls, input: {} }]\n- text: two\n', earlierFacts: crashed })
  await second.agent.proceed(second.kernel.turn)
  await second.kernel.waitForTurnEnd()
  expect(second.kernel.factsOf('model.started').map((each) => each.step)).toEqual([1, 2, 2])
  expect(second.kernel.factsOf('process.ready')).toMatchObject([{ result: 'two' }])
})

test('turns run one after another, and a message for the open turn is answered in it', async () => {
  const { kernel, agent, send, runTurn } = await harness.run({
    script: `
- tools: [{ name: bash, input: { command: 'until [ -e go ]; do :; done' } }]
- text: one
- text: two
`,
  })
  await send('go')
  await kernel.waitFor(() => kernel.factsOf('tool.started').length > 0, 'the tool runs')
  await agent.deliver({ id: 'late', from: 'system', text: 'wrap up', turn: 1 })
  await writeFile(join(harness.dir, 'go'), '')
  await kernel.waitForTurnEnd(1)
  await runTurn('and now')
  expect(kernel.factsOf('process.ready').map(({ turn: id, result }) => [id, result])).toEqual([
    [1, 'one'],
    [2, 'two'],
  ])
})

test('denied and unknown tools are answered, not run', async () => {
  const { kernel, runTurn } = await harness.run({
    script:
      '- tools: [{ name: bash, input: { command: touch x } }, { name: fly, input: {} }, { name: ls, input: { path: 3 } }]\n- text: ok',
    spec: { tools: ['Bash', 'LS'], deny: ['bash'] },
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished').map(({ name, outcome, content }) => [name, outcome, content.split('\n')[0]])).toEqual([
    ['bash', 'denied', 'the tool "bash" is denied to this agent'],
    ['fly', 'error', 'there is no tool "fly"; the available tools are: ls'],
    ['ls', 'error', expect.stringContaining('invalid input')],
  ])
  await expect(readFile(join(harness.dir, 'x'))).rejects.toThrow('ENOENT')
})
