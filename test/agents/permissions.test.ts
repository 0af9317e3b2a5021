// Permissions of real coding agents. An agent in the mode `ask` waits for the user, an agent in the mode `deny` writes nothing, and a
// denied tool does not run. The settings of the project allow everything, and must change nothing.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { openAgentHarness, pollUntil, type AgentHarness } from './harness.ts'
import { addNewestVersions, KINDS } from './kinds.ts'
import { conversationRequests, TASKS } from './model.ts'

const ASKING_KINDS = addNewestVersions(KINDS.filter(({ isCommand }) => !isCommand))
test.runIf(ASKING_KINDS.length === 0)('the selected agents are commands, which have no asking mode', () => {
  expect(KINDS.map(({ isCommand }) => isCommand)).not.toContain(false)
})

describe.each(ASKING_KINDS)('$name', (kind) => {
  let harness: AgentHarness
  beforeEach(async () => {
    harness = await openAgentHarness(kind)
  })
  afterEach(async () => {
    await harness[Symbol.asyncDispose]()
  })

  const start = (task: string, more: Partial<SpawnBody>): Promise<ProcessView> => {
    // A repository of another author may allow anything.
    mkdirSync(join(harness.work, '.claude'))
    writeFileSync(join(harness.work, '.claude/settings.json'), JSON.stringify({ permissions: { allow: ['Bash', 'Write', 'Edit'] } }))
    writeFileSync(
      join(harness.work, 'opencode.json'),
      JSON.stringify({ permission: 'allow', agent: { build: { permission: { bash: 'allow', edit: 'allow' } } } }),
    )
    return harness.start(`${task} write a file`, more)
  }
  /** Expects that the agent asked its model, whose first answer calls the tool. */
  const expectToolTried = (): void => expect(conversationRequests(harness.model).length).toBeGreaterThan(0)
  /** Allows each request once, as often as the agent asks. */
  const waitForEndWithAnswers = (uuid: string): Promise<ProcessView> =>
    pollUntil(async () => {
      const view = await harness.daemon.view(uuid)
      if (view.status === 'waiting') await harness.reeve('answer', uuid, '--yes').catch(() => undefined)
      return view.state === 'dead' ? view : null
    }, 'it has ended')

  test('with `ask` the agent waits before it writes, and continues after an answer', async () => {
    const { uuid } = await start(TASKS.work, { permissions: 'ask' })
    await pollUntil(async () => (await harness.daemon.view(uuid)).status === 'waiting' || null, 'it asks')
    expect(existsSync(join(harness.work, 'made.txt'))).toBe(false)
    expect((await harness.inspect(uuid)).capabilities.notes).toContainEqual(
      expect.stringMatching(/^permissions: reeve keeps it in the mode [\w-]+, in which it asks$/),
    )
    expect(await waitForEndWithAnswers(uuid)).toMatchObject({ status: 'completed' })
    expect(existsSync(join(harness.work, 'made.txt'))).toBe(true)
    await harness.waitUntilNothingIsLeft()
  })

  test('with `deny` the agent writes nothing', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'deny' })
    await harness.waitForEnd(uuid)
    expectToolTried()
    expect(existsSync(join(harness.work, 'env.txt'))).toBe(false)
    await harness.waitUntilNothingIsLeft()
  })

  test('a denied shell does not run when all other tools are allowed', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'allow', deny: ['bash'] })
    await harness.waitForEnd(uuid)
    expectToolTried()
    expect(existsSync(join(harness.work, 'env.txt'))).toBe(false)
    await harness.waitUntilNothingIsLeft()
  })
})
