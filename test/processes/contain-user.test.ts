// The torture tree of an ordinary user, in each kind: a cgroup that was delegated to him, the strongest that he gets without one,
// and the weakest. Nothing is left by a stop, nor by kill -9 of the daemon. As root these tests become that user; as an ordinary
// user the other files of this folder say the same.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { settleIn } from '../../src/drivers/contain/leaf.ts'
import type { ContainmentIntent } from '../../src/kernel/types.ts'
import { canDelegate, cgroupsIn, delegateTo } from '../support/delegated.ts'
import { testEnv } from '../support/env.ts'
import { eventually, killLeft, livingWith, newToken, sleepersWith, TORTURE_SLEEPERS } from '../support/living.ts'
import { tempDir } from '../support/tmp.ts'

const DAEMON = fileURLToPath(new URL('../support/programs/daemon.ts', import.meta.url))
const NOBODY = 65_534
const BECOME = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', process.execPath]
// The sources, and this very Node, may lie where nobody else may look.
const canBecome = process.geteuid?.() === 0 && spawnSync('setpriv', [...BECOME, '--check', DAEMON]).status === 0
const canNamespace = canBecome && spawnSync('setpriv', [...BECOME.slice(0, -1), 'unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true']).status === 0

type Asked = 'delegated' | 'auto' | 'group'

interface Fixture extends AsyncDisposable {
  readonly kind: string
  /** the cgroup that he has, if he was given one */
  readonly cgroup: string | null
  readonly pid: number
  readonly token: string
  /** signals the daemon and resolves when it has ended, with the last that it said */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<string>
}

async function startAs(asked: Asked): Promise<Fixture> {
  const dir = await tempDir()
  const kind = asked === 'group' ? 'group' : 'auto'
  const delegated = asked === 'delegated' ? delegateTo(NOBODY) : null
  await chown(dir.path, NOBODY, NOBODY)
  const token = newToken()
  const which = kind === 'group' ? 'held' : 'all'
  const [program = '', ...words] = [...(delegated?.entering ?? []), 'setpriv', ...BECOME, DAEMON, dir.path, kind, token, which]
  const child = spawn(program, words, { env: testEnv(dir.path), stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let said = ''
  const lines = createInterface(child.stdout).on('line', (line) => { said = line })
  await Promise.race([once(lines, 'line'), exited])
  const { intent } = JSON.parse(said) as { intent: ContainmentIntent }
  await eventually(() => sleepersWith(token).length === TORTURE_SLEEPERS + (which === 'all' ? 1 : 0), 'the tree is planted')
  return {
    kind: intent.kind, cgroup: delegated?.dir ?? null, pid: child.pid ?? 0, token,
    async end(signal) {
      child.kill(signal)
      await exited
      return said
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      killLeft(token)
      await delegated?.[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

const WORKS: Readonly<Record<Asked, boolean>> = { delegated: canBecome && canDelegate(), auto: canNamespace, group: canBecome }
// Without namespaces the strongest is `group`, and that does not hold all of this tree.
const KIND: Readonly<Record<Asked, string>> = { delegated: 'cgroup', auto: 'pidns', group: 'group' }

describe.each(['delegated', 'auto', 'group'] as const)('an ordinary user, %s', (asked) => {
  const works = WORKS[asked]

  test.runIf(works)('a stop leaves nothing', async () => {
    await using daemon = await startAs(asked)
    expect(daemon.kind).toBe(KIND[asked])
    expect(await daemon.end('SIGTERM')).toBe('killed')
    expect(livingWith(daemon.token)).toEqual([])
  })

  test.runIf(works)('kill -9 of the daemon leaves nothing', async () => {
    await using daemon = await startAs(asked)
    await daemon.end('SIGKILL')
    await eventually(() => livingWith(daemon.token).length === 0, 'the end of the tree')
  })
})

describe.runIf(WORKS.delegated)('in a cgroup of its own the daemon', () => {
  test('goes to a leaf, so that nobody lives beside those that it makes', async () => {
    await using daemon = await startAs('delegated')
    const cgroup = daemon.cgroup ?? ''
    expect(readFileSync(`/proc/${daemon.pid}/cgroup`, 'latin1')).toMatch(/^0::.*\/reeve-daemon$/m)
    expect(readFileSync(join(cgroup, 'cgroup.procs'), 'latin1')).toBe('')
    const names = cgroupsIn(cgroup)
    expect(names).toHaveLength(2)
    expect(names).toContain('reeve-daemon')
    expect(names.find((name) => name !== 'reeve-daemon')).toMatch(/^reeve-[0-9a-f]{12}$/)
    await daemon.end('SIGTERM')
    expect(cgroupsIn(cgroup)).toEqual([])
  })

  test('finds its place from a leaf, too', async () => {
    await using cgroup = delegateTo(NOBODY)
    expect(settleIn(join(cgroup.dir, 'reeve-daemon')).dir).toBe(cgroup.dir)
  })

  test('stays where others live as well', async () => {
    await using cgroup = delegateTo(NOBODY)
    expect(settleIn(cgroup.dir).dir).toBe(cgroup.dir)
    expect(cgroupsIn(cgroup.dir)).toEqual([])
  })
})
