// A daemon that is killed between any two steps of a spawn leaves nothing running; and the next one, which recovers by what was
// recorded until then, neither finds anything nor takes anything for its own. The moments are turns of the event loop: the
// pipes, the namespace, the fork and the handle each take some. For each kind, for its
// first program, for a later one, and for one that has to wait because all is frozen.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openContainer } from '../../src/drivers/contain/container.ts'
import type { ContainmentIntent, OsHandle } from '../../src/kernel/types.ts'
import { workingKinds } from '../support/contained.ts'
import { testEnv } from '../support/env.ts'
import { eventually, killLeft, livingWith, newToken } from '../support/living.ts'
import { tempDir } from '../support/tmp.ts'

const SPAWNER = fileURLToPath(new URL('../support/programs/spawner.ts', import.meta.url))
const MOMENTS = [0, 3, 30, 300, 3_000, 30_000]
const kinds = await workingKinds()

interface Recorded {
  readonly intent: ContainmentIntent
  readonly handle: OsHandle | null
}

async function killedAfter(turns: number, args: readonly string[]): Promise<Recorded> {
  const [stateDir = '', kind = '', token = '', when = ''] = args
  const child = spawn(process.execPath, [SPAWNER, stateDir, kind, token, String(turns), when], { env: testEnv(stateDir), stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(child.signalCode).toBe('SIGKILL')
  const lines = said.trim().split('\n').map((line) => JSON.parse(line) as { intent?: ContainmentIntent; handle?: OsHandle })
  const intent = lines[0]?.intent
  if (intent === undefined) throw new Error(`it said ${said}`)
  // A journal has the first handle of an incarnation.
  return { intent, handle: lines.find(({ handle }) => handle !== undefined)?.handle ?? null }
}

/** Who carries the marker, also where no argument tells: a proxy, say. */
function environsWith(marker: string): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environOf(name).includes(marker))
}

function environOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

describe.each(kinds.flatMap((kind) => [[kind, 'first'], [kind, 'later'], [kind, 'frozen']] as const))('%s, %s', (kind, when) => {
  // Nothing begins while it is frozen: one moment is like another.
  test.each(when === 'frozen' ? [300] : MOMENTS)('kill -9 after %i turns leaves nothing', async (turns) => {
    await using dir = await tempDir()
    const token = newToken()
    await using _ = { [Symbol.asyncDispose]: () => Promise.resolve(killLeft(token)) }
    const { intent, handle } = await killedAfter(turns, [dir.path, kind, token, when])
    await using next = await openContainer({ stateDir: dir.path, daemonId: 'next', log: () => {} })
    const { survivors } = await next.recover(intent, handle)
    expect(survivors).toEqual([])
    await eventually(() => livingWith(token).length === 0, 'nobody is left')
    expect(environsWith(intent.marker)).toEqual([])
    await eventually(() => intent.path === null || !existsSync(dirname(intent.path)), 'no cgroup is left')
    expect((await readdir(dir.path)).filter((name) => name.startsWith('pipes')).length).toBeLessThanOrEqual(1)
    expect(['gone', 'unowned']).toContain((await next.recover(intent, handle)).outcome)
  })
})
