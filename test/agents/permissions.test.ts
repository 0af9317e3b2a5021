// Shown permissions are effective, with the agents themselves. An agent that must ask waits, a denied one does
// nothing, and a denied tool does not run. This holds also where the project's own settings allow everything.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { openBench, poll, type Bench } from './bench.ts'
import { andNewest, KINDS } from './kinds.ts'
import { conversations, TASKS } from './model.ts'

const ASKING = andNewest(KINDS.filter(({ isCommand }) => !isCommand))
test.runIf(ASKING.length === 0)('only commands were selected, and they have no asking mode', () => {
  expect(KINDS.map(({ isCommand }) => isCommand)).not.toContain(false)
})

describe.each(ASKING)('$name', (kind) => {
  let bench: Bench
  beforeEach(async () => {
    bench = await openBench(kind)
  })
  afterEach(async () => {
    await bench[Symbol.asyncDispose]()
  })

  const start = (task: string, more: Partial<SpawnBody>): Promise<ProcessView> => {
    // A foreign repository may allow anything.
    mkdirSync(join(bench.work, '.claude'))
    writeFileSync(join(bench.work, '.claude/settings.json'), JSON.stringify({ permissions: { allow: ['Bash', 'Write', 'Edit'] } }))
    writeFileSync(
      join(bench.work, 'opencode.json'),
      JSON.stringify({ permission: 'allow', agent: { build: { permission: { bash: 'allow', edit: 'allow' } } } }),
    )
    return bench.start(`${task} write a file`, more)
  }
  /** The model was asked, and called the tool. */
  const tried = (): void => expect(conversations(bench.model).length).toBeGreaterThan(0)
  /** Allows each request once, as often as the agent asks. */
  const endedWithAnswers = (uuid: string): Promise<ProcessView> =>
    poll(async () => {
      const view = await bench.daemon.view(uuid)
      if (view.status === 'waiting') await bench.cli('answer', uuid, '--yes').catch(() => undefined)
      return view.state === 'dead' ? view : null
    }, 'it has ended')

  test('ask: it waits before it writes, and continues after an answer', async () => {
    const { uuid } = await start(TASKS.work, { permissions: 'ask' })
    await poll(async () => (await bench.daemon.view(uuid)).status === 'waiting' || null, 'it asks')
    expect(existsSync(join(bench.work, 'made.txt'))).toBe(false)
    expect((await bench.inspect(uuid)).capabilities.notes).toContainEqual(
      expect.stringMatching(/^permissions: it is held in the mode [\w-]+, in which it asks$/),
    )
    expect(await endedWithAnswers(uuid)).toMatchObject({ status: 'completed' })
    expect(existsSync(join(bench.work, 'made.txt'))).toBe(true)
    await bench.nothingLeft()
  })

  test('deny: nothing is written', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'deny' })
    await bench.ended(uuid)
    tried()
    expect(existsSync(join(bench.work, 'env.txt'))).toBe(false)
    await bench.nothingLeft()
  })

  test('a denied shell does not run, whatever else is allowed', async () => {
    const { uuid } = await start(TASKS.env, { permissions: 'allow', deny: ['bash'] })
    await bench.ended(uuid)
    tried()
    expect(existsSync(join(bench.work, 'env.txt'))).toBe(false)
    await bench.nothingLeft()
  })
})
