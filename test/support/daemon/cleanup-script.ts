// A shell script that outlives the test: when the test's process dies, the script kills the test's daemon and removes its folder.
// Vitest kills a worker whose test has timed out, and then no disposer runs. The daemon may have exited before, and its
// PID may belong to another process. The script kills only a process whose home is in that folder.
import { spawn } from 'node:child_process'

// $1 is the folder. Before the folder is removed, the daemon's guardian gets two seconds to end the daemon's programs. A test may have
// mounted a small disk at `home`, which must be unmounted before.
const SCRIPT = `
pid=none
while read -r word; do
  [ "$word" = bye ] && exit 0
  pid=$word
done
tr '\\0' '\\n' < "/proc/$pid/environ" 2> /dev/null | grep -qF "=$1" && kill -s KILL "$pid"
sleep 2
umount -q -l "$1/home"
rm -rf "$1"
`

export interface CleanupScript {
  /** sets the daemon that must die with the test; null: no daemon runs */
  setDaemon(pid: number | null): void
  close(): void
}

export function startCleanupScript(folder: string): CleanupScript {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'cleanup', folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const { stdin } = child
  child.unref()
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return {
    setDaemon: (pid) => {
      stdin.write(`${pid ?? 'none'}\n`)
    },
    close: () => {
      stdin.end('bye\n')
    },
  }
}
