// ACP agents with faults: noise, endless lines, floods, and agents that read no input. Each is tolerated, or ended with the reason.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness } from '../../support/agents/acp-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'

let harness: AcpHarness

beforeEach(async () => {
  harness = await openAcpHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

test('noise, unexpected answers and updates of other sessions are ignored', async () => {
  const run = await harness.start()
  expect(await run.runTurn('garbage')).toMatchObject({ outcome: 'ok', result: 'a\u2028b' })
  expect(run.kernel.liveOutputs).toEqual([{ type: 'text', step: 1, text: 'a\u2028b' }])
})

describe('an agent that floods its output is ended', () => {
  test.each([
    ['by a line of more than 16 MiB', 'long-line', 'the agent ended during its turn: it wrote a line of more than 16 MiB'],
    ['by more than 8 MiB of noise', 'noise', 'the agent ended during its turn: it wrote more than 8 MiB of output outside the protocol'],
  ])('%s', async (_title, act, error) => {
    const run = await harness.start({ agentOptions: ['no-eof', 'deaf'] })
    await run.waitUntilUp()
    await run.send(`start-child ${harness.token}\n${act}`)
    expect(await run.waitForExit()).toMatchObject({ error })
    await run.agent[Symbol.asyncDispose]()
    expect(findProcessesWith(harness.token)).toEqual([])
  })
})

test('a flood of text is one step, of which only the limit of a step is kept', async () => {
  const run = await harness.start()
  const { result = '' } = await run.runTurn('flood')
  expect(run.kernel.factsOf('model.started')).toHaveLength(1)
  expect(result.length).toBeGreaterThan(1024 * 1024)
  expect(result.length).toBeLessThan(1024 * 1024 + 100)
  expect(result).toMatch(/is too long …\]$/)
})
