// Mounts the process's own socket over the daemon's, in a mount namespace of each of its programs. Only programs of root keep the
// right to unmount it. This works for all kinds of containment, because it only changes how a program is started.
// Test: test/e2e/lifecycle/nested.test.ts.
import { KernelError } from '../../../kernel/model/errors.ts'
import type { ApiSocket } from '../containment-contract.ts'
import { findTool, NEEDS_USER_NAMESPACE, runTool } from './system-tools.ts'

type Argv = readonly [string, ...string[]]

/**
 * Mounts the process's socket, and then an empty file system over the directory of all sockets. The order matters, because the
 * process's socket is in that directory.
 */
const MOUNT_SCRIPT = 'mount=$1; "$mount" --bind "$2" "$3" && "$mount" -t tmpfs -o mode=700 reeve "$4" || exit 126; shift 4; exec "$@"'

type SocketPaths = Pick<ApiSocket, 'socket' | 'over' | 'dir'>

/** Returns the command line to put before a program's own. Errors: `INVALID` with the reason why it does not work on this machine. */
export async function socketMountPrefix({ socket, over, dir }: SocketPaths, network?: 'off'): Promise<Argv> {
  try {
    const users = NEEDS_USER_NAMESPACE ? ['--user', '--map-current-user', '--keep-caps'] : []
    const drop = NEEDS_USER_NAMESPACE ? [findTool('setpriv'), '--inh-caps=-all', '--ambient-caps=-all', '--'] : []
    const prefix: Argv = [
      findTool('unshare'),
      ...users,
      '--mount',
      '--propagation',
      'slave',
      ...(network === 'off' ? ['--net'] : []),
      '--',
      findTool('sh'),
      '-c',
      MOUNT_SCRIPT,
      'reeve-mount',
      findTool('mount'),
      socket,
      over,
      dir,
      ...drop,
    ]
    await runTool([...prefix, findTool('true')])
    return prefix
  } catch (error) {
    const hint =
      'Drop `--deny signal`, `spawn` and `network`, or run a native agent with `--deny bash` and without MCP servers that are programs. The system must let reeve make mount namespaces, or user namespaces where it is not root.'
    throw new KernelError(
      'INVALID',
      `signals, spawns and the network cannot be denied to a process that runs programs: the daemon's socket cannot be hidden here: ${(error as Error).message}`,
      undefined,
      hint,
    )
  }
}

/** Tries the mount with an existing file. Errors: `INVALID` with the reason. */
export async function trySocketMount(dir: string): Promise<void> {
  const file = findTool('true')
  await socketMountPrefix({ socket: file, over: file, dir })
}
