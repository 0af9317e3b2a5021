// Pausing an agent that speaks ACP: no prompt and no answer while it is paused, all of it frozen on demand, and the time in
// which it stands still is nobody's fault.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acpBench } from '../support/acp-bench.ts'
import type { AcpBench } from '../support/acp-bench.ts'
import { eventually, livingWith } from '../support/living.ts'

let bench: AcpBench

beforeEach(async () => { bench = await acpBench() })
afterEach(async () => { await bench[Symbol.asyncDispose]() })

test('a prompt waits for the end of the pause', async () => {
  const run = await bench.start()
  await run.up()
  await run.agent.pause(false)
  await run.send('say x')
  await run.kernel.until(() => run.kernel.reports('drained').length === 1, 'it is drained')
  expect(run.noted().filter((line) => line.startsWith('prompt'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.ended()
  expect(run.kernel.of('process.ready').at(-1)).toMatchObject({ outcome: 'ok', result: 'x' })
})

test('what a rule would allow is not answered while it is paused', async () => {
  const run = await bench.start({ spec: { permissions: { default: 'allow' } } })
  await run.up()
  await run.send('say x\nask execute rm x')
  await run.agent.pause(false)
  await run.kernel.until(() => run.kernel.reports('drained').length === 1, 'it is drained at its question')
  expect(run.noted().filter((line) => line.startsWith('answer'))).toEqual([])
  await run.agent.unpause()
  await run.kernel.ended()
  expect(run.noted()).toContain('answer: yes')
})

test('a frozen agent stands still with all that it started, and goes on', async () => {
  const run = await bench.start()
  await run.up()
  await run.send(`start-child ${bench.token}\nsay x\nslow`)
  await run.kernel.until(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  expect(run.kernel.reports('frozen').map(({ report }) => report.inFlight)).toEqual(['a turn of the agent'])
  await run.agent.unpause()
  await run.agent.interrupt()
  await run.kernel.ended()
  expect(run.kernel.reports('turn.ended').at(-1)?.report.outcome).toBe('interrupted')
})

test('the time that an agent has to end its turn stands still while it is frozen', async () => {
  const run = await bench.start({ cancelMs: 5_000 })
  await run.up()
  await run.send('say x\nslow')
  await run.kernel.until(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.interrupt()
  const overdue = performance.now() + 6_000
  await eventually(() => performance.now() > overdue, 'its time would be over')
  expect(run.kernel.reports('turn.ended')).toEqual([])
  await run.agent.unpause()
  await run.kernel.ended()
  expect(run.noted()).toContain('cancel')
  expect(run.kernel.of('process.note')).toEqual([])
})

test('killed while it is frozen: nothing is left', async () => {
  const run = await bench.start({ as: ['deaf', 'no-eof'] })
  await run.up()
  await run.send(`start-child ${bench.token}\nsay x\nhang`)
  await run.kernel.until(() => run.kernel.lives.length > 0, 'it works')
  await run.agent.pause(true)
  await run.agent.stop({ signal: 'SIGKILL', graceMs: 0 })
  await run.exited()
  expect(livingWith(bench.token)).toEqual([])
})

test('frozen after its turn, and then let go: it wakes to close its session', async () => {
  const run = await bench.start({ as: ['close'] })
  await run.turn('say x')
  await run.agent.pause(true)
  expect(run.kernel.reports('frozen').map(({ report }) => report.inFlight)).toEqual([null])
  await run.agent[Symbol.asyncDispose]()
  expect(run.noted().slice(-2)).toEqual(['close', 'end of input'])
})
