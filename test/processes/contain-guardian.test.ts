// The guardian: when the daemon dies, also by kill -9, nothing of it lives on; at a clean end it goes without a trace.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openContainer } from '../../src/drivers/contain/container.ts'
import { homeTag } from '../../src/drivers/contain/marker.ts'
import { findOwnCgroup } from '../../src/drivers/contain/probe.ts'
import type { ContainmentIntent, ContainmentKind, OsHandle } from '../../src/kernel/types.ts'
import { announced, newContained, workingKinds } from '../support/contained.ts'
import { testEnv } from '../support/env.ts'
import { eventually, killLeft, livingWith, newToken, sleepersWith, TORTURE_SLEEPERS } from '../support/living.ts'
import type { Living } from '../support/living.ts'
import { tempDir } from '../support/tmp.ts'

const DAEMON = fileURLToPath(new URL('../support/programs/daemon.ts', import.meta.url))
const kinds = await workingKinds()

interface Fixture extends AsyncDisposable {
  readonly process: ChildProcess & { readonly pid: number }
  readonly intent: ContainmentIntent
  readonly handle: OsHandle
  readonly stateDir: string
  readonly token: string
}

async function startDaemon(kind: ContainmentKind): Promise<Fixture> {
  const dir = await tempDir()
  const token = newToken()
  const which = kind === 'group' ? 'held' : 'all'
  const child = spawn(process.execPath, [DAEMON, dir.path, kind, token, which], { env: testEnv(dir.path), stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line') as [string]
  await eventually(() => sleepersWith(token).length === TORTURE_SLEEPERS + (which === 'all' ? 1 : 0))
  return {
    ...(JSON.parse(line) as { intent: ContainmentIntent; handle: OsHandle }),
    process: child as Fixture['process'], stateDir: dir.path, token,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await kill9(child)
      killLeft(token)
      await dir[Symbol.asyncDispose]()
    },
  }
}

async function kill9(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

// By its place in the tree: after the daemon's death it is a child of somebody else.
function guardianOf(pid: number): Living | null {
  return livingWith('reeve-guardian').find(({ ppid }) => ppid === pid) ?? null
}

/** Who reads the lifelines of the namespaces that the daemon's program is in; nobody for the other kinds. */
function readersOf({ handle }: Fixture): number[] {
  const inside = namespaceOf(handle.pid, 'pid_for_children')
  const inits = livingWith('reeve-init').filter(({ pid }) => namespaceOf(pid, 'pid') === inside)
  return inits.filter(({ ppid }) => inits.some(({ pid }) => pid === ppid)).map(({ pid }) => pid)
}

// Those of other tests come and go.
function namespaceOf(pid: number, file: 'pid' | 'pid_for_children'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/${file}`)
  } catch {
    return null
  }
}

describe.each(kinds)('%s', (kind) => {
  test('after kill -9 of the daemon nothing of the torture tree lives, nor the guardian', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await eventually(() => guardianOf(daemon.process.pid))
    await kill9(daemon.process)
    await eventually(() => livingWith(daemon.token).length === 0, 'the end of the tree')
    await eventually(() => !livingWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
    // Of the cgroups not even the home's directory is left.
    expect(daemon.intent.path === null || !existsSync(dirname(dirname(daemon.intent.path)))).toBe(true)
  })

  test('a guardian that was killed is started again and knows all', async () => {
    await using daemon = await startDaemon(kind)
    const first = await eventually(() => guardianOf(daemon.process.pid))
    process.kill(first.pid, 'SIGKILL')
    await eventually(() => { const next = guardianOf(daemon.process.pid); return next !== null && next.pid !== first.pid && next })
    expect(sleepersWith(daemon.token).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    await kill9(daemon.process)
    await eventually(() => livingWith(daemon.token).length === 0, 'the end of the tree')
  })

  test('a program that ends in the moment of the kill takes its group with it', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await eventually(() => guardianOf(daemon.process.pid))
    // The daemon is dead before it learns of the end, and the guardian looks when nobody is left who vouches by his handle.
    for (const pid of [guardian.pid, daemon.process.pid]) process.kill(pid, 'SIGSTOP')
    process.kill(daemon.handle.pid, 'SIGKILL')
    await kill9(daemon.process)
    await eventually(() => !existsSync(`/proc/${daemon.handle.pid}`), 'the program is reaped')
    process.kill(guardian.pid, 'SIGCONT')
    await eventually(() => livingWith(daemon.token).length === 0, 'the end of the tree')
  })

  test('without a guardian, the next daemon ends what was recorded', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await eventually(() => guardianOf(daemon.process.pid))
    process.kill(guardian.pid, 'SIGSTOP')
    // A namespace would still end by itself: the one who reads its lifeline is made deaf.
    for (const pid of readersOf(daemon)) process.kill(pid, 'SIGSTOP')
    await kill9(daemon.process)
    process.kill(guardian.pid, 'SIGKILL')
    expect(sleepersWith(daemon.token).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    await using next = await openContainer({ stateDir: daemon.stateDir, daemonId: 'next', log: () => {} })
    expect(await next.recover(daemon.intent, daemon.handle)).toEqual({ outcome: 'killed', survivors: [] })
    expect(livingWith(daemon.token)).toEqual([])
    expect(daemon.intent.path === null || !existsSync(daemon.intent.path)).toBe(true)
    expect((await next.recover(daemon.intent, daemon.handle)).outcome).toBe('gone')
  })
})

test('the guardian of a dead daemon leaves the next daemon of the same home alone', async () => {
  await using daemon = await startDaemon(kinds[0] ?? 'group')
  await using next = await openContainer({ stateDir: daemon.stateDir, daemonId: 'next', log: () => {} })
  const containment = await next.open(next.plan('01920000-0000-7000-8000-000000000002', 2, 'auto'), daemon.stateDir)
  const request = { argv: ['sh', '-c', 'echo up; sleep 3600'], cwd: daemon.stateDir, env: testEnv(daemon.stateDir), stdin: 'null' } as const
  await announced(await containment.spawn(request), 'up')
  const guardian = await eventually(() => guardianOf(daemon.process.pid))
  await kill9(daemon.process)
  await eventually(() => !livingWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
  expect(livingWith(daemon.token)).toEqual([])
  expect((await containment.members()).length).toBe(2)
})

test('a daemon that is killed while it starts leaves neither a process nor a directory', async () => {
  await using dir = await tempDir()
  const child = spawn(process.execPath, [DAEMON, dir.path, 'group', newToken(), 'held'], { env: testEnv(dir.path), stdio: 'ignore' })
  const guardian = await eventually(() => guardianOf(child.pid ?? 0))
  await kill9(child)
  await eventually(() => !livingWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
  const own = findOwnCgroup()
  expect(own !== null && existsSync(join(own, `reeve-${homeTag(dir.path)}`))).toBe(false)
})

test.skipIf(!kinds.includes('cgroup'))('at a clean end the guardian goes last: a daemon that is killed on the way leaves no directory', async () => {
  await using contained = await newContained()
  const containment = await contained.open('cgroup')
  const { path } = containment.intent
  if (path === null) throw new Error('a cgroup has a path')
  await announced(await containment.spawn(contained.request(['sh', '-c', 'echo up; cat'], { stdin: 'pipe' })), 'up')
  const guardian = await eventually(() => guardianOf(process.pid))
  process.kill(guardian.pid, 'SIGSTOP')
  let isOver = false
  const disposed = contained.container[Symbol.asyncDispose]().then(() => { isOver = true })
  await eventually(() => !existsSync(dirname(dirname(path))), 'the directories are gone')
  expect(isOver).toBe(false)
  process.kill(guardian.pid, 'SIGCONT')
  await disposed
})

test('at a clean end the guardian goes, without a word in the log', async () => {
  await using contained = await newContained()
  const containment = await contained.open('group')
  await announced(await containment.spawn(contained.request(['sh', '-c', 'echo up; cat'], { stdin: 'pipe' })), 'up')
  const guardian = await eventually(() => guardianOf(process.pid))
  await contained.container[Symbol.asyncDispose]()
  expect(livingWith('reeve-guardian').some(({ pid }) => pid === guardian.pid)).toBe(false)
  expect(contained.logged).toEqual([])
})
