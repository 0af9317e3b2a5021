// The guardian: when the daemon dies, even by kill -9, none of its programs lives on. After a clean end the guardian is gone.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import { homeTag } from '../../../src/drivers/contain/marker.ts'
import { findOwnCgroup } from '../../../src/drivers/contain/backends/cgroup-root.ts'
import type { ContainmentIntent, OsHandle } from '../../../src/kernel/model/process.ts'
import { waitForOutput, openContainmentHarness, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { testEnv } from '../../support/env.ts'
import {
  killRemaining,
  findProcessesWith,
  newToken,
  findOwnProcess,
  readProcess,
  signalFound,
  findSleepersWith,
  TORTURE_SLEEPERS,
} from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { LivingProcess } from '../../support/living-processes.ts'
import { tempDir } from '../../support/tmp.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const DAEMON = fileURLToPath(new URL('../../support/programs/torture-daemon.ts', import.meta.url))
const kinds = await findWorkingKinds()

interface TortureDaemon extends AsyncDisposable {
  readonly process: ChildProcess & { readonly pid: number }
  readonly intent: ContainmentIntent
  readonly handle: OsHandle
  readonly stateDir: string
  readonly token: string
}

async function startDaemon(kind: ContainmentKind): Promise<TortureDaemon> {
  const dir = await tempDir()
  const token = newToken()
  const members = kind === 'group' ? 'held' : 'all'
  const child = spawn(process.execPath, [DAEMON, dir.path, kind, token, members], {
    env: testEnv(dir.path),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  await waitUntil(() => findSleepersWith(token).length === TORTURE_SLEEPERS + (members === 'all' ? 1 : 0))
  return {
    ...(JSON.parse(line) as { intent: ContainmentIntent; handle: OsHandle }),
    process: child as TortureDaemon['process'],
    stateDir: dir.path,
    token,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await kill9(child)
      killRemaining(token)
      await dir[Symbol.asyncDispose]()
    },
  }
}

async function kill9(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

// Finds the guardian by its parent, so the daemon must still live: after the daemon's death the guardian has another parent.
function guardianOf(pid: number): LivingProcess | null {
  return findProcessesWith('reeve-guardian').find(({ ppid }) => ppid === pid) ?? null
}

/** The readers of the lifelines of the namespaces that the daemon's program is in; none for the other kinds. */
function readersOf({ handle }: TortureDaemon): LivingProcess[] {
  const childNamespace = namespaceOf(handle.pid, 'pid_for_children')
  const inits = findProcessesWith('reeve-init').filter(({ pid }) => namespaceOf(pid, 'pid') === childNamespace)
  return inits.filter(({ ppid }) => inits.some(({ pid }) => pid === ppid))
}

/** Null if the process has ended meanwhile: guardians of other tests come and go. */
function namespaceOf(pid: number, file: 'pid' | 'pid_for_children'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/${file}`)
  } catch {
    return null
  }
}

describe.each(kinds)('%s', (kind) => {
  test('after kill -9 of the daemon neither a process of the torture tree nor the guardian lives', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await waitUntil(() => guardianOf(daemon.process.pid))
    await kill9(daemon.process)
    await waitUntil(() => findProcessesWith(daemon.token).length === 0, 'the end of the tree')
    await waitUntil(() => !findProcessesWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
    // Not even the home's cgroup directory is left.
    expect(daemon.intent.path === null || !existsSync(dirname(dirname(daemon.intent.path)))).toBe(true)
  })

  test('a killed guardian is restarted, and the new one knows all programs', async () => {
    await using daemon = await startDaemon(kind)
    const first = await waitUntil(() => guardianOf(daemon.process.pid))
    signalFound(first, 'SIGKILL')
    await waitUntil(() => {
      const next = guardianOf(daemon.process.pid)
      return next !== null && next.pid !== first.pid && next
    })
    expect(findSleepersWith(daemon.token).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    await kill9(daemon.process)
    await waitUntil(() => findProcessesWith(daemon.token).length === 0, 'the end of the tree')
  })

  test('the group of a program that exits at the moment of the kill is ended too', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await waitUntil(() => guardianOf(daemon.process.pid))
    // The daemon is dead before it notices the exit, and no handle identifies the group when the guardian checks.
    for (const program of [guardian, readProcess(daemon.process.pid)]) signalFound(program, 'SIGSTOP')
    signalFound(findOwnProcess(daemon.handle.pid, daemon.stateDir), 'SIGKILL')
    await kill9(daemon.process)
    await waitUntil(() => !existsSync(`/proc/${daemon.handle.pid}`), 'the program is reaped')
    signalFound(guardian, 'SIGCONT')
    await waitUntil(() => findProcessesWith(daemon.token).length === 0, 'the end of the tree')
  })

  test('without a guardian, the next daemon ends the recorded programs', async () => {
    await using daemon = await startDaemon(kind)
    const guardian = await waitUntil(() => guardianOf(daemon.process.pid))
    signalFound(guardian, 'SIGSTOP')
    // A namespace would end without the guardian, too, so the reader of its lifeline is stopped.
    for (const reader of readersOf(daemon)) signalFound(reader, 'SIGSTOP')
    await kill9(daemon.process)
    signalFound(guardian, 'SIGKILL')
    expect(findSleepersWith(daemon.token).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    await using next = await openContainmentManager({ stateDir: daemon.stateDir, daemonId: 'next', log: () => {} })
    expect(await next.recover(daemon.intent, daemon.handle)).toEqual({ outcome: 'killed', survivors: [] })
    expect(findProcessesWith(daemon.token)).toEqual([])
    expect(daemon.intent.path === null || !existsSync(daemon.intent.path)).toBe(true)
    expect((await next.recover(daemon.intent, daemon.handle)).outcome).toBe('gone')
  })
})

test('the guardian of a dead daemon ends no program of the next daemon of the same home', async () => {
  await using daemon = await startDaemon(kinds[0] ?? 'group')
  await using next = await openContainmentManager({ stateDir: daemon.stateDir, daemonId: 'next', log: () => {} })
  const containment = await next.open(next.plan('01920000-0000-7000-8000-000000000002', 2, 'auto'), daemon.stateDir)
  const request = { argv: ['sh', '-c', 'echo up; sleep 3600'], cwd: daemon.stateDir, env: testEnv(daemon.stateDir), stdin: 'null' } as const
  await waitForOutput(await containment.spawn(request), 'up')
  const guardian = await waitUntil(() => guardianOf(daemon.process.pid))
  await kill9(daemon.process)
  await waitUntil(() => !findProcessesWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
  await waitUntil(() => findProcessesWith(daemon.token).length === 0, 'the end of the programs of the dead daemon')
  expect((await containment.members()).length).toBe(2)
})

test('a daemon that is killed while it starts leaves neither a process nor a directory', async () => {
  await using dir = await tempDir()
  const child = spawn(process.execPath, [DAEMON, dir.path, 'group', newToken(), 'held'], { env: testEnv(dir.path), stdio: 'ignore' })
  const guardian = await waitUntil(() => guardianOf(child.pid ?? 0))
  await kill9(child)
  await waitUntil(() => !findProcessesWith('reeve-guardian').some(({ pid }) => pid === guardian.pid), 'the end of the guardian')
  const ownCgroup = findOwnCgroup()
  expect(ownCgroup !== null && existsSync(join(ownCgroup, `reeve-${homeTag(dir.path)}`))).toBe(false)
})

test.skipIf(!kinds.includes('cgroup'))(
  'at a clean end the guardian exits last, so that a daemon that is killed meanwhile leaves no directory',
  async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('cgroup')
    const { path } = containment.intent
    if (path === null) throw new Error('a cgroup has a path')
    await waitForOutput(await containment.spawn(contained.request(['sh', '-c', 'echo up; cat'], { stdin: 'pipe' })), 'up')
    const guardian = await waitUntil(() => guardianOf(process.pid))
    signalFound(guardian, 'SIGSTOP')
    let isOver = false
    const disposal = contained.manager[Symbol.asyncDispose]().then(() => {
      isOver = true
    })
    await waitUntil(() => !existsSync(dirname(dirname(path))), 'the directories are gone')
    expect(isOver).toBe(false)
    signalFound(guardian, 'SIGCONT')
    await disposal
  },
)

test('at a clean end the guardian exits, without a log line', async () => {
  await using contained = await openContainmentHarness()
  const containment = await contained.open('group')
  await waitForOutput(await containment.spawn(contained.request(['sh', '-c', 'echo up; cat'], { stdin: 'pipe' })), 'up')
  const guardian = await waitUntil(() => guardianOf(process.pid))
  await contained.manager[Symbol.asyncDispose]()
  expect(findProcessesWith('reeve-guardian').some(({ pid }) => pid === guardian.pid)).toBe(false)
  expect(contained.logMessages).toEqual([])
})
