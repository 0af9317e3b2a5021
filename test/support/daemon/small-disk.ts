// Runs a command with a small file system in a mount namespace of its own, so that it disappears with the namespace's last process.
import { spawnSync } from 'node:child_process'

/** An ordinary user also needs a user namespace, which some systems do not allow. */
const UNSHARE = process.getuid?.() === 0 ? ['-m'] : ['-Urm']

const mountCommand = (megabytes: number): string => `mount -t tmpfs -o size=${megabytes}m,mode=700 tmpfs "$1" && shift && exec "$@"`

/** Returns the program and its arguments that run a command with a file system of this size at `dir`. */
export function onSmallDisk(
  dir: string,
  megabytes: number,
  ...argv: readonly string[]
): readonly [command: string, args: readonly string[]] {
  return ['unshare', [...UNSHARE, 'sh', '-c', mountCommand(megabytes), 'sh', dir, ...argv]]
}

export function canMount(dir: string): boolean {
  const [command, args] = onSmallDisk(dir, 1, 'true')
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}
