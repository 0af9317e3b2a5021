// Pausing an ACP agent: no prompt and no answer during the pause, and a freeze of all its programs on demand. Time limits stand still
// meanwhile.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acpBench } from '../../support/agents/acp-bench.ts'
import type { AcpBench } from '../../support/agents/acp-bench.ts'
import { eventually, findLivingWith } from '../../support/agents/living.ts'

let bench: AcpBench

beforeEach(async () => {
  bench = await acpBench()
})
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
})

test('a prompt waits for the end of the pause', async () => {
  const run = await bench.start()
  await run.up()
  await run.agent.pause(false)
  await run.send('say x')
  await run.kernel.waitUntil(() => run.kernel.reports('drained').length === 1, 'it is drained')
  expect(run.logLines().filter((line) => line.startsWith('prompt'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurn()
  expect(run.kernel.of('process.ready').at(-1)).toMatchObject({ outcome: 'ok', result: 'x' })
})

test('a request that a rule would allow gets no answer during the pause', async () => {
  const run = await bench.start({ spec: { permissions: { default: 'allow' } } })
  await run.up()
  await run.send('say x\nask execute rm x')
  await run.agent.pause(false)
  await run.kernel.waitUntil(() => run.kernel.reports('drained').length === 1, 'it is drained at its question')
  expect(run.logLines().filter((line) => line.startsWith('answer'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurn()
  expect(run.logLines()).toContain('answer: yes')
})

test('a frozen agent stands still with all its programs, and continues after the thaw', async () => {
  const run = await bench.start()
  await run.up()
  await run.send(`start-child ${bench.token}\nsay x\nslow`)
  await run.kernel.waitUntil(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  expect(run.kernel.reports('frozen').map(({ report }) => report.inFlight)).toEqual(['a turn of the agent'])
  await run.agent.unpause()
  await run.agent.interrupt()
  await run.kernel.waitForTurn()
  expect(run.kernel.reports('turn.ended').at(-1)?.report.outcome).toBe('interrupted')
})

test('the time limit for the end of a turn stands still during a freeze', async () => {
  const run = await bench.start({ cancelMs: 5_000 })
  await run.up()
  await run.send('say x\nslow')
  await run.kernel.waitUntil(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.interrupt()
  const overdue = performance.now() + 6_000
  await eventually(() => performance.now() > overdue, 'its time would be over')
  expect(run.kernel.reports('turn.ended')).toEqual([])
  await run.agent.unpause()
  await run.kernel.waitForTurn()
  expect(run.logLines()).toContain('cancel')
  expect(run.kernel.of('process.note')).toEqual([])
})

test('a frozen agent that is killed leaves nothing', async () => {
  const run = await bench.start({ as: ['deaf', 'no-eof'] })
  await run.up()
  await run.send(`start-child ${bench.token}\nsay x\nhang`)
  await run.kernel.waitUntil(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.stop({ signal: 'SIGKILL', graceMs: 0 })
  await run.waitForExit()
  expect(findLivingWith(bench.token)).toEqual([])
})

test('an agent that was frozen after its turn wakes at its end to close its session', async () => {
  const run = await bench.start({ as: ['close'] })
  await run.turn('say x')
  await run.agent.pause(true)
  expect(run.kernel.reports('frozen').map(({ report }) => report.inFlight)).toEqual([null])
  await run.agent[Symbol.asyncDispose]()
  expect(run.logLines().slice(-2)).toEqual(['close', 'end of input'])
})
