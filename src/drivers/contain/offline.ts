// Programs without a network: each gets a network namespace of its own, in which there is nothing, not even a loopback device
// that is up. It is the same in each kind of containment, as a program is only started in another way: by `unshare`, which
// becomes the program. Owns whether that works here, found out by doing it once. Tests: test/processes/contain-offline.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { KernelError } from '../../kernel/errors.ts'
import { findTool } from './namespace.ts'

type Argv = readonly [string, ...string[]]

const TRIAL_MS = 5_000
const MAX_WORDS = 500

/** Root needs no user namespace. */
const OWN_USERS = process.geteuid?.() !== 0

export class Offline {
  #trial: Promise<Argv> | null = null

  /** What stands before a program's own words. Errors: `INVALID`, with why it does not work here. */
  prefix(): Promise<Argv> {
    return (this.#trial ??= tried())
  }
}

async function tried(): Promise<Argv> {
  try {
    if (process.platform !== 'linux') throw new Error('this system has no network namespaces')
    const prefix: Argv = [findTool('unshare'), ...(OWN_USERS ? ['--user', '--map-current-user'] : []), '--net', '--']
    await run([...prefix, findTool('sh'), '-c', ':'])
    return prefix
  } catch (error) {
    throw new KernelError('INVALID', `the network cannot be taken from programs here: ${(error as Error).message}`)
  }
}

async function run([program, ...args]: Argv): Promise<void> {
  const child = spawn(program, args, { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, stdio: ['ignore', 'ignore', 'pipe'], timeout: TRIAL_MS, killSignal: 'SIGKILL' })
  const words: string[] = []
  child.stderr.on('data', (chunk: Buffer) => { words.push(chunk.toString()) })
  const [code] = await once(child, 'close') as [number | null]
  if (code !== 0) throw new Error(words.join('').trim().slice(0, MAX_WORDS) || 'unshare failed without a word')
}
