// Runs programs without a network: each program gets its own empty network namespace, in which even the loopback device is down.
// All kinds of containment use this, because it only changes how a program is started: `unshare` replaces itself by the program.
// Owns the trial that finds out whether this works on this machine. Tests: test/processes/contain/offline.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { KernelError } from '../../../kernel/model/errors.ts'
import { findTool } from './pid-namespace.ts'
import { truncate } from '../../../kernel/util/truncate.ts'

type Argv = readonly [string, ...string[]]

const TRIAL_MS = 5_000
const MAX_STDERR_CHARS = 500

/** Whether a new user namespace is needed; root needs none. */
export const OWN_USERS = process.geteuid?.() !== 0

export class NetworkIsolation {
  #prefix: Promise<Argv> | null = null

  /** Returns the command line to put before a program's own. Errors: `INVALID` with the reason why it does not work on this machine. */
  prefix(): Promise<Argv> {
    return (this.#prefix ??= makePrefix())
  }
}

async function makePrefix(): Promise<Argv> {
  try {
    if (process.platform !== 'linux') throw new Error('this system has no network namespaces')
    const prefix: Argv = [findTool('unshare'), ...(OWN_USERS ? ['--user', '--map-current-user'] : []), '--net', '--']
    await runTool([...prefix, findTool('sh'), '-c', ':'])
    return prefix
  } catch (error) {
    throw new KernelError('INVALID', `programs cannot run without a network here: ${(error as Error).message}`)
  }
}

/** Runs a tool to its end. Errors: an `Error` with the tool's stderr. */
export async function runTool([program, ...args]: Argv): Promise<void> {
  const child = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: TRIAL_MS,
    killSignal: 'SIGKILL',
  })
  const stderr: string[] = []
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk.toString())
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(truncate(stderr.join('').trim(), MAX_STDERR_CHARS) || 'unshare failed without a message')
}
