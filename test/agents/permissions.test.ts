// Permissions of real coding agents. An agent in the mode `ask` waits for the user, an agent in the mode `deny` writes nothing, and a
// denied tool does not run. The settings of the project allow everything, and must change nothing.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { openAgentBench, pollUntil, type AgentBench } from './bench.ts'
import { addNewestVersions, KINDS } from './kinds.ts'
import { conversationRequests, TASKS } from './model.ts'

const ASKING_KINDS = addNewestVersions(KINDS.filter(({ isCommand }) => !isCommand))
test.runIf(ASKING_KINDS.length === 0)('the selected agents are commands, which have no asking mode', () => {
  expect(KINDS.map(({ isCommand }) => isCommand)).not.toContain(false)
})

describe.each(ASKING_KINDS)('$name', (kind) => {
  let bench: AgentBench
  beforeEach(async () => {
    bench = await openAgentBench(kind)
  })
  afterEach(async () => {
    await bench[Symbol.asyncDispose]()
  })

  const start = (task: string, more: Partial<SpawnBody>): Promise<ProcessView> => {
    // A repository of another author may allow anything.
    mkdirSync(join(bench.work, '.claude'))
    writeFileSync(join(bench.work, '.claude/settings.json'), JSON.stringify({ permissions: { allow: ['Bash', 'Write', 'Edit'] } }))
    writeFileSync(
      join(bench.work, 'opencode.json'),
      JSON.stringify({ permission: 'allow', agent: { build: { permission: { bash: 'allow', edit: 'allow' } } } }),
    )
    return bench.start(`${task} write a file`, more)
  }
  /** Expects that the agent asked its model, whose first answer calls the tool. */
  const expectToolTried = (): void => expect(conversationRequests(bench.model).length).toBeGreaterThan(0)
  /** Allows each request once, as often as the agent asks. */
  const waitForEndWithAnswers = (uuid: string): Promise<ProcessView> =>
    pollUntil(async () => {
      const view = await bench.daemon.view(uuid)
      if (view.status === 'waiting') await bench.reeve('answer', uuid, '--yes').catch(() => undefined)
      return view.state === 'dead' ? view : null
    }, 'it has ended')

  test('with `ask` the agent waits before it writes, and continues after an answer', async () => {
    const { uuid } = await start(TASKS.work, { permissions: 'ask' })
    await pollUntil(async () => (await bench.daemon.view(uuid)).status === 'waiting' || null, 'it asks')
    expect(existsSync(join(bench.work, 'made.txt'))).toBe(false)
    expect((await bench.inspect(uuid)).capabilities.notes).toContainEqual(
      expect.stringMatching(/^permissions: it is held in the mode [\w-]+, in which it asks$/),
    )
    expect(await waitForEndWithAnswers(uuid)).toMatchObject({ status: 'completed' })
    expect(existsSync(join(bench.work, 'made.txt'))).toBe(true)
    await bench.waitUntilNothingIsLeft()
  })

  test('with `deny` the agent writes nothing', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'deny' })
    await bench.waitForEnd(uuid)
    expectToolTried()
    expect(existsSync(join(bench.work, 'env.txt'))).toBe(false)
    await bench.waitUntilNothingIsLeft()
  })

  test('a denied shell does not run when all other tools are allowed', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'allow', deny: ['bash'] })
    await bench.waitForEnd(uuid)
    expectToolTried()
    expect(existsSync(join(bench.work, 'env.txt'))).toBe(false)
    await bench.waitUntilNothingIsLeft()
  })
})
