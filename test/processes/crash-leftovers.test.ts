// Whatever the agents and commands started is gone when the daemon has died by SIGKILL, without anybody starting it again;
// and where its guardian was killed with it, the next daemon ends it before it answers.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { SpawnBody } from '../../src/api/views.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { workingKinds } from '../support/contained.ts'
import { DaemonHome } from '../support/daemon.ts'
import { eventually, killLeft, livingWith, newToken, sleepersWith, TORTURE_SLEEPERS } from '../support/living.ts'

const TORTURE = fileURLToPath(new URL('../support/programs/torture.sh', import.meta.url))
const kinds = await workingKinds()

interface Tree {
  readonly what: string
  readonly body: (home: DaemonHome, token: string) => Partial<SpawnBody>
  readonly sleepers: number
}

const bash = (command: string) => ({ tools: [{ name: 'bash', input: { command } }] })

/** `all` adds the one that only a cgroup holds: it leaves its session and drops its environment. */
const trees = (kind: ContainmentKind): readonly Tree[] => {
  const which = kind === 'group' ? 'held' : 'all'
  const sleepers = TORTURE_SLEEPERS + (which === 'all' ? 1 : 0)
  return [
    { what: 'a command with a runaway child', sleepers: 2, body: (_, token) => ({ argv: ['sh', '-c', `setsid sleep 1000.${token} & sleep 1000.${token}`] }) },
    { what: 'a command and its torture tree', sleepers, body: (_, token) => ({ argv: ['sh', TORTURE, token, 'stay', which] }) },
    { what: 'background children of a bash tool', sleepers, body: (home, token) => ({ model: home.script([bash(`sh ${TORTURE} ${token} end ${which}`), { delay_ms: 60_000, text: 'done' }]) }) },
    { what: 'a bash tool that is still running', sleepers, body: (home, token) => ({ model: home.script([bash(`sh ${TORTURE} ${token} stay ${which}`)]) }) },
  ]
}

/** Runs a tree until all of it sleeps. */
async function plant(home: DaemonHome, tree: Tree, kind: ContainmentKind): Promise<{ token: string; uuid: string } & AsyncDisposable> {
  const token = newToken()
  const { uuid } = await home.spawn({ ...tree.body(home, token), containment: kind })
  await eventually(() => sleepersWith(token).length === tree.sleepers, `${tree.sleepers} sleepers`)
  return { token, uuid, [Symbol.asyncDispose]: async () => killLeft(token) }
}

describe.each(kinds)('%s', (kind) => {
  test.each(trees(kind))('$what: 0 are left after SIGKILL of the daemon', async (tree) => {
    await using home = await DaemonHome.make()
    await home.start()
    await using planted = await plant(home, tree, kind)
    await home.kill()
    await eventually(() => livingWith(planted.token).length === 0, 'nobody is left')
    await home.nothingLeft()
    await home.start()
    const { status, exit } = await home.view(planted.uuid)
    expect({ status, exit }).toEqual({ status: 'interrupted', exit: { code: 1, reason: 'interrupted' } })
    expect(readdirSync(join(home.path, 'tmp'))).toEqual([])
    await eventually(() => !existsSync(join(home.path, 'trash')), 'its temporary files are gone')
  })

  test.each(trees(kind).slice(0, 3))('$what: 0 are left after a stop of the daemon', async (tree) => {
    await using home = await DaemonHome.make()
    await home.start()
    await using planted = await plant(home, tree, kind)
    // A model call in flight is awaited for 10 s; here it is a delay, so that it is let go of before.
    await home.pause(planted.uuid, { now: true })
    await home.until(planted.uuid, (view) => view.note?.includes('draining') !== true)
    expect(await home.stop()).toEqual({ code: 0, signal: null })
    expect(livingWith(planted.token)).toEqual([])
    await home.nothingLeft()
  })

  test('what the guardian could not end, the next daemon ends before it answers', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const tree = trees(kind)[0]
    if (tree === undefined) throw new Error('there is no tree')
    await using command = await plant(home, tree, kind)
    await using native = await plant(home, { ...tree, body: (at, token) => ({ model: at.script([bash(`setsid sleep 1000.${token} & sleep 1000.${token}`)]) }) }, kind)
    const guardians = home.guardians()
    expect(guardians).toHaveLength(1)
    for (const pid of guardians) process.kill(pid, 'SIGSTOP')
    await home.kill()
    for (const pid of guardians) process.kill(pid, 'SIGKILL')
    // A namespace is on a lifeline of its own and needs no guardian.
    if (kind !== 'pidns') {
      expect(livingWith(command.token)).toHaveLength(3)
      expect(livingWith(native.token).length).toBeGreaterThanOrEqual(2)
    }
    await home.start()
    expect([...livingWith(command.token), ...livingWith(native.token)]).toEqual([])
    expect((await home.list()).map(({ status }) => status)).toEqual(['interrupted', 'interrupted'])
    await home.stop()
    await home.nothingLeft()
  })
})
