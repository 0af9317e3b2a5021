// A daemon that is killed at any moment of a spawn leaves no program running. The next daemon recovers from the records of the first,
// and finds no program. The moment is a number of turns of the event loop after the start of the spawn. Each kind is tested with its
// first program, a later one, and one that waits for the end of a freeze.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import type { ContainmentIntent, OsHandle } from '../../../src/kernel/model/process.ts'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { testEnv } from '../../support/env.ts'
import { deep } from '../../support/deep.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { tempDir } from '../../support/tmp.ts'

const KILLED_DAEMON = fileURLToPath(new URL('../../support/programs/daemon-killed-in-spawn.ts', import.meta.url))
const MOMENTS = [0, 3, 30, 300, 3_000, 30_000]
const kinds = await findWorkingKinds()

/** In the small size half of the moments apply to the first program of a kind, and the others to a later one. */
function momentsOf(mode: string): readonly number[] {
  if (mode === 'frozen') return [300] // nothing starts during a freeze, so one moment stands for all
  return MOMENTS.filter((_, at) => at % deep(2, 1) === (mode === 'later' ? deep(1, 0) : 0))
}

interface SpawnRecord {
  readonly intent: ContainmentIntent
  readonly handle: OsHandle | null
}

async function killSpawnAfter(turns: number, args: readonly string[]): Promise<SpawnRecord> {
  const [stateDir = '', kind = '', token = '', when = ''] = args
  const child = spawn(process.execPath, [KILLED_DAEMON, stateDir, kind, token, String(turns), when], {
    env: testEnv(stateDir),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(child.signalCode).toBe('SIGKILL')
  const lines = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { intent?: ContainmentIntent; handle?: OsHandle })
  const intent = lines[0]?.intent
  if (intent === undefined) throw new Error(`it printed ${printed}`)
  // A journal records only the first handle of an incarnation.
  return { intent, handle: lines.find(({ handle }) => handle !== undefined)?.handle ?? null }
}

/** Processes with the marker in their environment, also those without the token in their arguments, such as `nsenter`. */
function findMarkedProcesses(marker: string): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environOf(name).includes(marker))
}

function environOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

describe.each(
  kinds.flatMap(
    (kind) =>
      [
        [kind, 'first'],
        [kind, 'later'],
        [kind, 'frozen'],
      ] as const,
  ),
)('%s, %s', (kind, mode) => {
  test.each(momentsOf(mode))('kill -9 after %i turns leaves nothing', async (turns) => {
    await using dir = await tempDir()
    const token = newToken()
    await using _ = { [Symbol.asyncDispose]: () => Promise.resolve(killRemaining(token)) }
    const { intent, handle } = await killSpawnAfter(turns, [dir.path, kind, token, mode])
    await using next = await openContainmentManager({ stateDir: dir.path, daemonId: 'next', log: () => {} })
    const { survivors } = await next.recover(intent, handle)
    expect(survivors).toEqual([])
    await waitUntil(() => findProcessesWith(token).length === 0, 'no process is left')
    expect(findMarkedProcesses(intent.marker)).toEqual([])
    await waitUntil(() => intent.path === null || !existsSync(dirname(intent.path)), 'no cgroup is left')
    expect((await readdir(dir.path)).filter((name) => name.startsWith('pipes')).length).toBeLessThanOrEqual(1)
    expect(['gone', 'unowned']).toContain((await next.recover(intent, handle)).outcome)
  })
})
