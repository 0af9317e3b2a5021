// A few lines of `sh` that outlive the test: when the test's own process ends without having said goodbye (vitest kills a
// worker whose test ran out of time, and then nothing is disposed of), they kill its daemon and remove its folder.
import { spawn } from 'node:child_process'

// $1 is the folder. The daemon's guardian ends what the daemon ran, and gets a moment for that.
const SCRIPT = `
pid=none
while read -r word; do
  [ "$word" = bye ] && exit 0
  pid=$word
done
[ "$pid" = none ] || kill -s KILL "$pid"
sleep 2
umount -q -l "$1/home"
rm -rf "$1"
`

export interface Lifeline {
  /** the daemon that is to die with us; null when there is none */
  tell(pid: number | null): void
  goodbye(): void
}

export function lifeline(folder: string): Lifeline {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'lifeline', folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const { stdin } = child
  child.unref()
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return {
    tell: (pid) => { stdin.write(`${pid ?? 'none'}\n`) },
    goodbye: () => { stdin.end('bye\n') },
  }
}
