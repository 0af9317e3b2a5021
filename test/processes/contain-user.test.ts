// The torture tree of an ordinary user, in the strongest kind that he gets and in the weakest: nothing is left by a stop, nor by
// kill -9 of the daemon. As root these tests become that user; as an ordinary user the other files of this folder say the same.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { ContainmentIntent } from '../../src/kernel/types.ts'
import { testEnv } from '../support/env.ts'
import { eventually, killLeft, livingWith, newToken, sleepersWith, TORTURE_SLEEPERS } from '../support/living.ts'
import { tempDir } from '../support/tmp.ts'

const DAEMON = fileURLToPath(new URL('../support/programs/daemon.ts', import.meta.url))
const NOBODY = 65_534
const BECOME = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', process.execPath]
// The sources, and this very Node, may lie where nobody else may look.
const canBecome = process.geteuid?.() === 0 && spawnSync('setpriv', [...BECOME, '--check', DAEMON]).status === 0
const canNamespace = canBecome && spawnSync('setpriv', [...BECOME.slice(0, -1), 'unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true']).status === 0

interface Fixture extends AsyncDisposable {
  readonly kind: string
  readonly token: string
  /** signals the daemon and resolves when it has ended, with the last that it said */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<string>
}

async function startAs(kind: 'auto' | 'group'): Promise<Fixture> {
  const dir = await tempDir()
  await chown(dir.path, NOBODY, NOBODY)
  const token = newToken()
  const which = kind === 'group' ? 'held' : 'all'
  const child = spawn('setpriv', [...BECOME, DAEMON, dir.path, kind, token, which], { env: testEnv(dir.path), stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let said = ''
  const lines = createInterface(child.stdout).on('line', (line) => { said = line })
  await Promise.race([once(lines, 'line'), exited])
  const { intent } = JSON.parse(said) as { intent: ContainmentIntent }
  await eventually(() => sleepersWith(token).length === TORTURE_SLEEPERS + (which === 'all' ? 1 : 0), 'the tree is planted')
  return {
    kind: intent.kind, token,
    async end(signal) {
      child.kill(signal)
      await exited
      return said
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      killLeft(token)
      await dir[Symbol.asyncDispose]()
    },
  }
}

describe.runIf(canBecome).each(['auto', 'group'] as const)('an ordinary user, %s', (asked) => {
  // Without namespaces the strongest is `group`, and that does not hold all of this tree.
  const expected = asked === 'group' ? 'group' : 'pidns'
  const runs = asked === 'group' || canNamespace

  test.runIf(runs)('a stop leaves nothing', async () => {
    await using daemon = await startAs(asked)
    expect(daemon.kind).toBe(expected)
    expect(await daemon.end('SIGTERM')).toBe('killed')
    expect(livingWith(daemon.token)).toEqual([])
  })

  test.runIf(runs)('kill -9 of the daemon leaves nothing', async () => {
    await using daemon = await startAs(asked)
    await daemon.end('SIGKILL')
    await eventually(() => livingWith(daemon.token).length === 0, 'the end of the tree')
  })
})
