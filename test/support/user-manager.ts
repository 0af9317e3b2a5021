// A real user manager of systemd for an ordinary user, without a system that was booted with it: in mount and cgroup namespaces
// of its own, below a cgroup that was delegated to the user. Only root can make one; tests skip where it cannot be had.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delegateTo } from './delegated.ts'

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find((path) => existsSync(path))
/** For the manager's first answer. */
const UP_MS = 15_000

// $1 is the user, $2 the manager's program. It says `up` when it answers, and ends with its stdin.
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

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface UserManager extends AsyncDisposable {
  /** runs a program beside the manager, as its user */
  run(argv: readonly string[], env?: Readonly<Record<string, string>>): Ran
}

/** Null where there is none to be had: no root, no systemd, no cgroup v2, no namespaces. */
export async function startUserManager(user: number, env: Readonly<Record<string, string>>): Promise<UserManager | null> {
  if (SYSTEMD === undefined) return null
  const cgroup = delegateTo(user)
  const own = { ...env, XDG_RUNTIME_DIR: `/run/user/${user}` }
  const [program = '', ...words] = [...cgroup.entering, 'unshare', '--mount', '--cgroup', '/bin/sh', '-c', SETUP, 'setup', String(user), SYSTEMD]
  const child = spawn(program, words, { env: own, stdio: ['pipe', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const isUp = await Promise.race([once(child.stdout, 'data', { signal: AbortSignal.timeout(UP_MS) }).then(() => true, () => false), exited.then(() => false)])
  const end = async (): Promise<void> => {
    child.stdin.end()
    await cgroup[Symbol.asyncDispose]()
    await exited
  }
  if (!isUp) {
    await end()
    return null
  }
  const become = ['-t', String(child.pid), '--mount', '--cgroup', 'setpriv', '--reuid', String(user), '--regid', String(user), '--clear-groups']
  return {
    run(argv, more) {
      const { status, stdout, stderr } = spawnSync('nsenter', [...become, ...argv], { encoding: 'utf8', env: { ...own, ...more } })
      return { code: status, stdout, stderr }
    },
    [Symbol.asyncDispose]: end,
  }
}
