// Starts a real systemd user manager for an ordinary user, on a system that was not booted by systemd. The manager has its own mount
// and cgroup namespaces, below a cgroup that the user owns. Only root can start it; without root the tests are skipped.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createDelegatedCgroup } from './delegated-cgroup.ts'

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find((path) => existsSync(path))
/** the time limit for the manager's first answer */
const START_LIMIT_MS = 60_000

// $1 is the user, $2 the manager's program. The script prints `up` when the manager answers, and ends when its stdin closes.
const SETUP = `
set -e
user=$1; manager=$2
umount -l /sys/fs/cgroup 2> /dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "/run/user/$user"
chown "$user" "/run/user/$user"
as() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
as "$manager" --user --log-target=console --log-level=err < /dev/null >&2 &
until as systemctl --user show -p Version > /dev/null 2>&1; do sleep 0.05; kill -0 $!; done
echo up
read -r line || true
`

export interface RunResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface UserManager extends AsyncDisposable {
  /** runs a program in the manager's namespaces, as its user */
  run(argv: readonly string[], env?: Readonly<Record<string, string>>): RunResult
}

/** Returns null if systemd or namespaces are missing. May only be called if `canDelegate()`. */
export async function startUserManager(user: number, env: Readonly<Record<string, string>>): Promise<UserManager | null> {
  if (SYSTEMD === undefined) return null
  const cgroup = createDelegatedCgroup(user)
  const managerEnv = { ...env, XDG_RUNTIME_DIR: `/run/user/${user}` }
  const [program = '', ...args] = [
    ...cgroup.commandPrefix,
    'unshare',
    '--mount',
    '--cgroup',
    '/bin/sh',
    '-c',
    SETUP,
    'setup',
    String(user),
    SYSTEMD,
  ]
  const child = spawn(program, args, { env: managerEnv, stdio: ['pipe', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const isUp = await Promise.race([
    once(child.stdout, 'data', { signal: AbortSignal.timeout(START_LIMIT_MS) }).then(
      () => true,
      () => false,
    ),
    exited.then(() => false),
  ])
  const end = async (): Promise<void> => {
    child.stdin.end()
    await cgroup[Symbol.asyncDispose]()
    await exited
  }
  if (!isUp) {
    await end()
    return null
  }
  const enterArgs = [
    '-t',
    String(child.pid),
    '--mount',
    '--cgroup',
    'setpriv',
    '--reuid',
    String(user),
    '--regid',
    String(user),
    '--clear-groups',
  ]
  return {
    run(argv, extraEnv) {
      const { status, stdout, stderr } = spawnSync('nsenter', [...enterArgs, ...argv], {
        encoding: 'utf8',
        env: { ...managerEnv, ...extraEnv },
      })
      return { code: status, stdout, stderr }
    },
    [Symbol.asyncDispose]: end,
  }
}
