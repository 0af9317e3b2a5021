// The torture tree under a daemon of an ordinary user: in a delegated cgroup, in the strongest kind without one, and in `group`. A stop
// and kill -9 of the daemon leave no process. Only root can run these tests, which switch to that user. Run by an ordinary user, the other
// files of this folder test the same.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { prepareCgroupRoot } from '../../../src/drivers/contain/backends/cgroup-root.ts'
import type { ContainmentIntent } from '../../../src/kernel/model/process.ts'
import { canDelegate, cgroupsIn, createDelegatedCgroup } from '../../support/agents/delegated-cgroup.ts'
import { testEnv } from '../../support/env.ts'
import { killRemaining, findProcessesWith, newToken, findSleepersWith, TORTURE_SLEEPERS } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { tempDir } from '../../support/tmp.ts'

const DAEMON = fileURLToPath(new URL('../../support/programs/torture-daemon.ts', import.meta.url))
const NOBODY = 65_534
const AS_NOBODY = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', process.execPath]
// The sources and this Node may be in directories that other users cannot read.
const canBecomeNobody = process.geteuid?.() === 0 && spawnSync('setpriv', [...AS_NOBODY, '--check', DAEMON]).status === 0
const canNamespace =
  canBecomeNobody &&
  spawnSync('setpriv', [...AS_NOBODY.slice(0, -1), 'unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true']).status === 0

type RequestedKind = 'delegated' | 'auto' | 'group'

interface UserDaemon extends AsyncDisposable {
  readonly kind: string
  /** the user's cgroup, if one was delegated */
  readonly cgroup: string | null
  readonly pid: number
  readonly token: string
  /** signals the daemon and resolves with its last output after its exit */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<string>
}

async function startDaemonAsUser(requestedKind: RequestedKind): Promise<UserDaemon> {
  const dir = await tempDir()
  const kind = requestedKind === 'group' ? 'group' : 'auto'
  const delegated = requestedKind === 'delegated' ? createDelegatedCgroup(NOBODY) : null
  await chown(dir.path, NOBODY, NOBODY)
  const token = newToken()
  const members = kind === 'group' ? 'held' : 'all'
  const [program = '', ...words] = [...(delegated?.commandPrefix ?? []), 'setpriv', ...AS_NOBODY, DAEMON, dir.path, kind, token, members]
  const child = spawn(program, words, { env: testEnv(dir.path), stdio: ['ignore', 'pipe', 'inherit'] })
  // At its end all output has been read.
  const exited = once(child, 'close')
  let lastLine = ''
  const lines = createInterface(child.stdout).on('line', (line) => {
    lastLine = line
  })
  await Promise.race([once(lines, 'line'), exited])
  const { intent } = JSON.parse(lastLine) as { intent: ContainmentIntent }
  await waitUntil(() => findSleepersWith(token).length === TORTURE_SLEEPERS + (members === 'all' ? 1 : 0), 'the tree is planted')
  return {
    kind: intent.kind,
    cgroup: delegated?.dir ?? null,
    pid: child.pid ?? 0,
    token,
    async end(signal) {
      child.kill(signal)
      await exited
      return lastLine
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      killRemaining(token)
      await delegated?.[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** The OS pids in a cgroup; an empty text if the cgroup does not exist. */
function pidsInCgroup(cgroup: string): string {
  return existsSync(cgroup) ? readFileSync(join(cgroup, 'cgroup.procs'), 'latin1') : ''
}

const IS_POSSIBLE: Readonly<Record<RequestedKind, boolean>> = {
  delegated: canBecomeNobody && canDelegate(),
  auto: canNamespace,
  group: canBecomeNobody,
}
// Without namespaces the strongest kind is `group`, which cannot hold all of this tree.
const ACTUAL_KINDS: Readonly<Record<RequestedKind, string>> = { delegated: 'cgroup', auto: 'pidns', group: 'group' }

describe.each(['delegated', 'auto', 'group'] as const)('an ordinary user, %s', (requestedKind) => {
  const isPossible = IS_POSSIBLE[requestedKind]

  test.runIf(isPossible)('a stop leaves nothing', async () => {
    await using daemon = await startDaemonAsUser(requestedKind)
    expect(daemon.kind).toBe(ACTUAL_KINDS[requestedKind])
    expect(await daemon.end('SIGTERM')).toBe('killed')
    expect(findProcessesWith(daemon.token)).toEqual([])
  })

  test.runIf(isPossible)('kill -9 of the daemon leaves nothing', async () => {
    await using daemon = await startDaemonAsUser(requestedKind)
    await daemon.end('SIGKILL')
    await waitUntil(() => findProcessesWith(daemon.token).length === 0, 'the end of the tree')
  })
})

describe.runIf(IS_POSSIBLE.delegated)('in a cgroup of its own the daemon', () => {
  test('moves to a leaf, so that no process is beside the cgroups that it creates', async () => {
    await using daemon = await startDaemonAsUser('delegated')
    const cgroup = daemon.cgroup ?? ''
    expect(readFileSync(`/proc/${daemon.pid}/cgroup`, 'latin1')).toMatch(/^0::.*\/reeve-daemon$/m)
    expect(readFileSync(join(cgroup, 'cgroup.procs'), 'latin1')).toBe('')
    const names = cgroupsIn(cgroup)
    expect(names).toHaveLength(2)
    expect(names).toContain('reeve-daemon')
    expect(names.find((name) => name !== 'reeve-daemon')).toMatch(/^reeve-[0-9a-f]{12}$/)
    await daemon.end('SIGTERM')
    // The guardian may outlive the daemon by a moment: then the leaf stays for the next daemon.
    expect(cgroupsIn(cgroup).filter((name) => name !== 'reeve-daemon')).toEqual([])
    await waitUntil(() => pidsInCgroup(join(cgroup, 'reeve-daemon')) === '', 'the end of the guardian')
  })

  test('finds its cgroup from a leaf, too', async () => {
    await using cgroup = createDelegatedCgroup(NOBODY)
    expect(prepareCgroupRoot(join(cgroup.dir, 'reeve-daemon')).dir).toBe(cgroup.dir)
  })

  test('does not move if other processes share the cgroup', async () => {
    await using cgroup = createDelegatedCgroup(NOBODY)
    expect(prepareCgroupRoot(cgroup.dir).dir).toBe(cgroup.dir)
    expect(cgroupsIn(cgroup.dir)).toEqual([])
  })
})
