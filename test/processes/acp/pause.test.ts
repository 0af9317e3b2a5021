// Pausing an ACP agent: no prompt and no answer during the pause, and a freeze of all its programs on demand. Time limits stand still
// meanwhile.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness } from '../../support/agents/acp-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

let harness: AcpHarness

beforeEach(async () => {
  harness = await openAcpHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

test('a prompt waits for the end of the pause', async () => {
  const run = await harness.start()
  await run.waitUntilUp()
  await run.agent.pause(false)
  await run.send('say x')
  await run.kernel.waitFor(() => run.kernel.reportsOf('drained').length === 1, 'it is drained')
  expect(run.readLogLines().filter((line) => line.startsWith('prompt'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurnEnd()
  expect(run.kernel.factsOf('process.ready').at(-1)).toMatchObject({ outcome: 'ok', result: 'x' })
})

test('a request that a rule would allow gets no answer during the pause', async () => {
  const run = await harness.start({ spec: { permissions: { default: 'allow' } } })
  await run.waitUntilUp()
  await run.send('say x\nask execute rm x')
  await run.agent.pause(false)
  await run.kernel.waitFor(() => run.kernel.reportsOf('drained').length === 1, 'it is drained at its question')
  expect(run.readLogLines().filter((line) => line.startsWith('answer'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurnEnd()
  expect(run.readLogLines()).toContain('answer: yes')
})

test('a frozen agent stands still with all its programs, and continues after the thaw', async () => {
  const run = await harness.start()
  await run.waitUntilUp()
  await run.send(`start-child ${harness.token}\nsay x\nslow`)
  await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
  await run.agent.pause(true)
  expect(run.kernel.reportsOf('frozen').map(({ report }) => report.inFlight)).toEqual(['a turn of the agent'])
  await run.agent.unpause()
  await run.agent.interrupt()
  await run.kernel.waitForTurnEnd()
  expect(run.kernel.reportsOf('turn.ended').at(-1)?.report.outcome).toBe('interrupted')
})

test('the time limit for the end of a turn stands still during a freeze', async () => {
  const run = await harness.start({ cancelMs: 5_000 })
  await run.waitUntilUp()
  await run.send('say x\nslow')
  await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.interrupt()
  const deadlineMs = performance.now() + 6_000
  await waitUntil(() => performance.now() > deadlineMs, 'the time limit would have passed')
  expect(run.kernel.reportsOf('turn.ended')).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurnEnd()
  expect(run.readLogLines()).toContain('cancel')
  expect(run.kernel.factsOf('process.note')).toEqual([])
})

test('a frozen agent that is killed leaves nothing', async () => {
  const run = await harness.start({ agentOptions: ['deaf', 'no-eof'] })
  await run.waitUntilUp()
  await run.send(`start-child ${harness.token}\nsay x\nhang`)
  await run.kernel.waitFor(() => run.kernel.liveOutputs.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.stop({ signal: 'SIGKILL', graceMs: 0 })
  await run.waitForExit()
  expect(findProcessesWith(harness.token)).toEqual([])
})

test('an agent that was frozen after its turn is thawed for its end, and closes its session', async () => {
  const run = await harness.start({ agentOptions: ['close'] })
  await run.runTurn('say x')
  await run.agent.pause(true)
  expect(run.kernel.reportsOf('frozen').map(({ report }) => report.inFlight)).toEqual([null])
  await run.agent[Symbol.asyncDispose]()
  expect(run.readLogLines().slice(-2)).toEqual(['close', 'end of input'])
})
