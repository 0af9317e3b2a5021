// Runs programs without a network. Each program gets its own empty network namespace, in which even the loopback device is down. This works
// for all kinds of containment, because it only changes how a program is started: `unshare` replaces itself with the program. A trial finds
// out whether this machine supports it. Tests: test/processes/contain/offline.test.ts.
import { KernelError } from '../../../kernel/model/errors.ts'
import { findTool, NEEDS_USER_NAMESPACE, runTool } from './system-tools.ts'

type Argv = readonly [string, ...string[]]

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
    const prefix: Argv = [findTool('unshare'), ...(NEEDS_USER_NAMESPACE ? ['--user', '--map-current-user'] : []), '--net', '--']
    await runTool([...prefix, findTool('sh'), '-c', ':'])
    return prefix
  } catch (error) {
    throw new KernelError('INVALID', `programs cannot run without a network here: ${(error as Error).message}`)
  }
}
