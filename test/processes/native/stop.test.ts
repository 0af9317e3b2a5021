// Ends of a native agent's work: interruptions, stops, kills and freezing, with real programs of the tool `bash`.
import { execFile as execFileCallback } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run } from '../../support/models/native-harness.ts'

const execFile = promisify(execFileCallback)

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

/** Occupies all of Node's threads for files until its disposal: each waits for the writer of a FIFO. */
async function occupyFileThreads(dir: string): Promise<Disposable> {
  const fifos = Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) }, (_, index) => join(dir, `fifo-${index}`))
  await execFile('mkfifo', fifos)
  const openedFifos = fifos.map((fifo) => open(fifo, 'r'))
  const writers: number[] = []
  return {
    [Symbol.dispose]: () => {
      if (writers.length > 0) return
      for (const fifo of fifos) writers.push(openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK))
      Promise.all(openedFifos)
        .then((handles) => handles.map((handle) => handle.close()))
        .catch(() => undefined)
        .finally(() => writers.forEach((fd) => closeSync(fd)))
    },
  }
}

/** A turn whose first call sleeps for ever, with a daemonised child and two waiting calls. */
async function runSleepingAgent(): Promise<Run> {
  const run = await harness.run({
    script: `
- tools:
  - { name: bash, input: { command: 'setsid sleep ${harness.token} & echo began; sleep ${harness.token}' } }
  - { name: bash, input: { command: touch never } }
  - { name: read, input: { path: never } }
- text: after
`,
  })
  await run.send('go')
  await run.kernel.waitFor(() => run.kernel.liveOutputs.some((live) => live.text.includes('began')), 'the program runs')
  await waitUntil(() => findSleepersWith(harness.token).length === 2, 'both sleep')
  return run
}

test('an interruption ends the program, answers each open call and the turn; the next turn continues', async () => {
  const { kernel, agent, runTurn } = await runSleepingAgent()
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('tool.finished').map(({ callId, outcome }) => [callId, outcome])).toEqual([
    ['call_1_0', 'interrupted'],
    ['call_1_1', 'error'],
    ['call_1_2', 'error'],
  ])
  expect(kernel.factsOf('tool.finished').map(({ content }) => content)).toEqual([
    'interrupted; it may or may not have happened\n\nthe command was ended by an interruption\nbegan\n',
    'not run: the turn was interrupted before this call began',
    'not run: the turn was interrupted before this call began',
  ])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
  await waitUntil(() => findSleepersWith(harness.token).length === 1, 'the foreground program is gone')
  await runTurn('and now')
  expect(kernel.factsOf('process.ready')[1]).toMatchObject({ outcome: 'ok', result: 'after' })
})

test('a stop ends all programs, leaves open calls open, and reports the exit once', async () => {
  const { kernel, agent } = await runSleepingAgent()
  await Promise.all([agent.stop({ signal: 'SIGTERM', graceMs: 200 }), agent.stop({ signal: 'SIGKILL', graceMs: 0 })])
  expect(findSleepersWith(harness.token)).toEqual([])
  expect(kernel.reportsOf('exited')).toHaveLength(1)
  expect(kernel.factsOf('tool.finished')).toEqual([])
  expect(kernel.reportsOf('turn.ended')).toEqual([])
  await expect(readFile(join(harness.dir, 'never'))).rejects.toThrow('ENOENT')
})

test('a stop gives the program its grace period', async () => {
  const { kernel, agent, send } = await harness.run({
    script: `
- tools: [{ name: bash, input: { command: 'trap "echo bye > bye; exit 0" TERM; echo began; while :; do sleep 0.01; done' } }]
`,
  })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.length > 0, 'the program runs')
  await agent.stop({ signal: 'SIGTERM', graceMs: 20_000 })
  expect(await readFile(join(harness.dir, 'bye'), 'utf8')).toBe('bye\n')
})

test('an agent that is stopped before the acknowledgement of its start runs nothing', async () => {
  const { agent } = await harness.run({ script: '- tools: [{ name: bash, input: { command: touch never } }]', acknowledgesNothing: true })
  const stopDone = agent.stop({ signal: 'SIGTERM', graceMs: 0 })
  await agent.deliver({ id: 'late', from: 'user', text: 'go', turn: 1 })
  await agent[Symbol.asyncDispose]()
  await expect(readFile(join(harness.dir, 'never'))).rejects.toThrow('ENOENT')
  // The stop itself resolves with the acknowledgement, which never comes here.
  expect(await Promise.race([stopDone.then(() => 'stopped'), nextTurn('not stopped')])).toBe('not stopped')
})

test('a disposal ends all programs, without a report', async () => {
  const { kernel, agent } = await runSleepingAgent()
  const countBefore = kernel.records.length
  kernel.cancel()
  await agent[Symbol.asyncDispose]()
  expect(findSleepersWith(harness.token)).toEqual([])
  expect(kernel.records).toHaveLength(countBefore)
})

test('a started write is over when its agent has been disposed of', async () => {
  const { kernel, agent, send } = await harness.run({ script: '- tools: [{ name: write, input: { path: a.txt, content: whole } }]' })
  using disk = await occupyFileThreads(harness.dir)
  await send('go')
  // A file is written in a thread, which the agent waits for with a port.
  const hasThread = (): boolean => process.getActiveResourcesInfo().includes('MessagePort')
  await kernel.waitFor(() => kernel.factsOf('tool.started').length > 0, 'it begins')
  await waitUntil(hasThread, 'the thread has begun')
  kernel.cancel()
  const disposal = agent[Symbol.asyncDispose]()
  expect(await Promise.race([disposal, nextTurn('it writes')])).toBe('it writes')
  disk[Symbol.dispose]()
  await disposal
  expect(await readFile(join(harness.dir, 'a.txt'), 'utf8')).toBe('whole')
})

test('the end of the incarnation cuts a model call at once and keeps the partial text', async () => {
  await using server = await startModelServer([{ text: 'this much and then nothing', hangAfterBytes: 800 }])
  const credentials = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: server.url }
  const { kernel, agent, send } = await harness.run({ spec: { model: 'anthropic/claude-sonnet-4-5' }, credentials })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.length > 0, 'text comes in')
  kernel.cancel()
  await Promise.all([agent[Symbol.asyncDispose](), server.requests[0]?.closed])
  await kernel.waitFor(() => kernel.factsOf('model.failed').length > 0, 'the call is closed')
  expect(kernel.factsOf('model.failed')).toMatchObject([
    { error: 'interrupted', retryInMs: null, partial: kernel.liveOutputs.map((live) => live.text).join('') },
  ])
  expect(kernel.reportsOf('exited')).toEqual([])
})

test('an interruption at the gate answers the waiting calls', async () => {
  const { kernel, agent, send } = await harness.run({ script: '- tools: [{ name: ls, input: {} }]\n- text: never' })
  kernel.onFact = (body) => {
    if (body.type === 'tool.started') kernel.hold()
  }
  await send('go')
  await kernel.waitFor(() => kernel.pauseWaitCount > 0, 'it waits for the end of the pause')
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'error', content: expect.stringContaining('not run') }])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
})

test('an interruption during the wait for a retry ends the turn', async () => {
  const { kernel, agent, send } = await harness.run({
    script: '- { text: late, error: { message: busy, status: 529 } }',
    native: { retry: { attempts: 8, baseMs: 1e9, capMs: 1e9 } },
  })
  await send('go')
  await kernel.waitFor(() => kernel.factsOf('model.failed').length > 0, 'the first attempt failed')
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('model.started')).toHaveLength(1)
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
})

test('an interruption when nothing runs changes nothing', async () => {
  const { kernel, agent, runTurn } = await harness.run({ script: '- text: one\n- text: two' })
  await runTurn('go')
  await agent.interrupt()
  await runTurn('again')
  expect(kernel.factsOf('process.ready').map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
})

test('the program of a frozen agent does not run, and the work in flight is named', async () => {
  const { kernel, agent, send } = await harness.run({
    script: `
- tools: [{ name: bash, input: { command: 'echo began; until [ -e go ]; do sleep 0.01; done; touch went' } }]
- text: done
`,
  })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.length > 0, 'the program runs')
  kernel.hold()
  await agent.pause(true)
  expect(kernel.reportsOf('frozen')).toMatchObject([{ report: { inFlight: expect.stringContaining('bash {"command":"echo began') } }])
  await writeFile(join(harness.dir, 'go'), '')
  await execFile('sleep', ['0.2']) // a running program makes progress in this time
  await expect(readFile(join(harness.dir, 'went'))).rejects.toThrow('ENOENT')
  kernel.release()
  await agent.unpause()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'ok', content: 'began\n[exit code 0]' }])
})
