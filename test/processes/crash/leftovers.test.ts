// All programs of agents and commands are gone after the daemon died by SIGKILL, before any restart.
// If its guardian was killed too, the next daemon ends the programs before it answers.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { SpawnBody } from '../../../src/api/views/process.ts'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'
import {
  killRemaining,
  findProcessesWith,
  newToken,
  signalFound,
  findSleepersWith,
  TORTURE_SLEEPERS,
} from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const TORTURE = fileURLToPath(new URL('../../support/programs/torture.sh', import.meta.url))
const kinds = await findWorkingKinds()

interface ProgramTree {
  readonly what: string
  readonly body: (home: DaemonHome, token: string) => Partial<SpawnBody>
  readonly sleepers: number
}

const bashStep = (command: string) => ({ tools: [{ name: 'bash', input: { command } }] })

/** `all` adds a program that `group` cannot hold: it leaves its session and drops its environment. */
const treesOf = (kind: ContainmentKind): readonly ProgramTree[] => {
  const members = kind === 'group' ? 'held' : 'all'
  const sleepers = TORTURE_SLEEPERS + (members === 'all' ? 1 : 0)
  return [
    {
      what: 'a command with a runaway child',
      sleepers: 2,
      body: (_, token) => ({ argv: ['sh', '-c', `setsid sleep 1000.${token} & sleep 1000.${token}`] }),
    },
    { what: 'a command and its torture tree', sleepers, body: (_, token) => ({ argv: ['sh', TORTURE, token, 'stay', members] }) },
    {
      what: 'background children of a bash tool',
      sleepers,
      body: (home, token) => ({
        model: home.writeScript([bashStep(`sh ${TORTURE} ${token} end ${members}`), { delay_ms: 60_000, text: 'done' }]),
      }),
    },
    {
      what: 'a bash tool that is still running',
      sleepers,
      body: (home, token) => ({ model: home.writeScript([bashStep(`sh ${TORTURE} ${token} stay ${members}`)]) }),
    },
  ]
}

/** In the small size each tree runs with one kind, and each kind has at least one tree. */
function shareOf(kindTrees: readonly ProgramTree[], kind: ContainmentKind): readonly ProgramTree[] {
  const share = deep(kinds.length, 1)
  return kindTrees.filter((_, index) => (index + kinds.indexOf(kind)) % share === 0)
}

/** Runs a tree until all its processes sleep. */
async function startTree(
  home: DaemonHome,
  tree: ProgramTree,
  kind: ContainmentKind,
): Promise<{ token: string; uuid: string } & AsyncDisposable> {
  const token = newToken()
  const { uuid } = await home.spawn({ ...tree.body(home, token), containment: kind })
  await waitUntil(() => findSleepersWith(token).length === tree.sleepers, `${tree.sleepers} sleepers`)
  return { token, uuid, [Symbol.asyncDispose]: async () => killRemaining(token) }
}

describe.each(kinds)('%s', (kind) => {
  test.each(shareOf(treesOf(kind), kind))('$what: no program is left after SIGKILL of the daemon', async (tree) => {
    await using home = await DaemonHome.create()
    await home.start()
    await using planted = await startTree(home, tree, kind)
    await home.kill()
    await waitUntil(() => findProcessesWith(planted.token).length === 0, 'no process is left')
    await home.waitUntilNothingIsLeft()
    await home.start()
    const { status, exit } = await home.view(planted.uuid)
    expect({ status, exit }).toEqual({ status: 'interrupted', exit: { code: 1, reason: 'interrupted' } })
    expect(readdirSync(join(home.path, 'tmp'))).toEqual([])
    await waitUntil(() => !existsSync(join(home.path, 'trash')), 'its temporary files are gone')
  })

  test.each(shareOf(treesOf(kind).slice(0, 3), kind))('$what: no program is left after a stop of the daemon', async (tree) => {
    await using home = await DaemonHome.create()
    await home.start()
    await using planted = await startTree(home, tree, kind)
    // A model call in flight is awaited for 10 s. Here the call is a delay, so it is cancelled earlier.
    await home.pause(planted.uuid, { now: true })
    await home.waitForView(planted.uuid, (view) => view.note?.includes('draining') !== true)
    expect(await home.stop()).toEqual({ code: 0, signal: null })
    expect(findProcessesWith(planted.token)).toEqual([])
    await home.waitUntilNothingIsLeft()
  })

  test('programs that the guardian could not end are ended by the next daemon before it answers', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    const tree = treesOf(kind)[0]
    if (tree === undefined) throw new Error('there is no tree')
    await using command = await startTree(home, tree, kind)
    await using native = await startTree(
      home,
      {
        ...tree,
        body: (daemonHome, token) => ({ model: daemonHome.writeScript([bashStep(`setsid sleep 1000.${token} & sleep 1000.${token}`)]) }),
      },
      kind,
    )
    const guardians = home.findGuardians()
    expect(guardians).toHaveLength(1)
    for (const guardian of guardians) signalFound(guardian, 'SIGSTOP')
    await home.kill()
    for (const guardian of guardians) signalFound(guardian, 'SIGKILL')
    // A namespace has its own lifeline and needs no guardian.
    if (kind !== 'pidns') {
      expect(findProcessesWith(command.token)).toHaveLength(3)
      expect(findProcessesWith(native.token).length).toBeGreaterThanOrEqual(2)
    }
    await home.start()
    expect([...findProcessesWith(command.token), ...findProcessesWith(native.token)]).toEqual([])
    expect((await home.listProcesses()).map(({ status }) => status)).toEqual(['interrupted', 'interrupted'])
    await home.stop()
    await home.waitUntilNothingIsLeft()
  })
})
