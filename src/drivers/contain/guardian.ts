// The guardian: a few lines of POSIX sh in their own session, at the end of a lifeline pipe. When the daemon dies, even by SIGKILL, the
// pipe breaks and the guardian kills everything that the daemon owned. The line `bye` makes the guardian exit without a kill. Each daemon
// has one guardian. A guardian that dies is restarted and gets the full list again. The kill covers the daemon's cgroup, the registered
// groups with a checked identity, and the processes with the daemon's tag.
// Tests: test/processes/contain/guardian.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { OsHandle } from '../../kernel/model/process.ts'
import { MARKER_VARIABLE } from './marker.ts'

/** A guardian that lived for less than this time is restarted only after this delay. */
const RESTART_MS = 1_000
/** The number of handles passed in the start argument (128 KiB at most); the others follow through the pipe. */
const MAX_START_HANDLES = 2_000
/** Time limit for the guardian's exit after `bye`. */
const GOODBYE_MS = 2_000

// $1 is the daemon's cgroup (or empty), $2 the daemon's tag, $3 the initial handles. `owned` lists words PID:START:PGID.
// `identity PID` prints START:PGID, or nothing. `marked` prints the PIDs of processes with the tag. The group of a program whose end
// the daemon did not see is still ours while a marked process is in it. A cgroup counts as gone only when its directory is gone,
// because until then a process could enter it.
const GUARDIAN_SCRIPT = `
trap '' HUP INT TERM
owned=" $3 "
while read -r verb word; do
  case $verb in
    +) owned="$owned$word " ;;
    -) case $owned in *" $word "*) owned="\${owned%%" $word "*} \${owned#*" $word "}" ;; esac ;;
    bye) exit 0 ;;
  esac
done
if [ -d /proc/self ]; then
  identity() { row=$(cat "/proc/$1/stat") && set -- \${row##*) } && echo "\${20}:$3"; }
  marked() { grep -l "$1" /proc/[0-9]*/environ | tr -cd '0-9\\n'; }
else
  identity() { ps -o lstart= -o pgid= -p "$1" | sed 's/^ *//; s/ *\\([0-9]*\\) *$/:\\1/; s/  */_/g'; }
  marked() { ps axEww -o pid=,command= | sed -n "s/^ *\\([0-9]*\\) .*$1.*/\\1/p"; }
fi
for word in $owned; do
  group=\${word##*:}
  [ "$group" -gt 1 ] && [ "$(identity "\${word%%:*}")" = "\${word#*:}" ] && kill -s KILL -- "-$group"
done
round=0
while [ $round -lt 50 ]; do
  left=
  if [ -d "$1" ]; then
    echo 1 > "$1/cgroup.kill"
    find "$1" -depth -type d -exec rmdir {} \\;
  fi
  if [ -d "$1" ]; then left=1; elif [ -n "$1" ]; then rmdir "\${1%/*}"; fi
  for pid in $(marked "${MARKER_VARIABLE}=[^. ]*\\.[0-9]*\\.$2\\."); do
    group=$(identity "$pid")
    case $owned in *":\${group##*:} "*) kill -s KILL -- "-\${group##*:}" ;; esac
    kill -s KILL "$pid"
    left=1
  done
  [ -z "$left" ] && exit 0
  round=$((round + 1))
  sleep 0.1
done
`

export interface GuardianOptions {
  /** the parent directory of all cgroups of this daemon; null without cgroups */
  readonly cgroupDir: string | null
  readonly daemonTag: string
  readonly log: (message: string) => void
}

export class Guardian implements AsyncDisposable {
  readonly #options: GuardianOptions
  readonly #registrations = new Map<string, number>()
  #child: ChildProcess
  #startedMs = 0
  #restart: NodeJS.Timeout | null = null
  #isClosing = false

  constructor(options: GuardianOptions) {
    this.#options = options
    this.#child = this.#start()
  }

  /** Makes the guardian kill this process's group if the daemon dies. Registrations are counted: each needs its own `unregister`. */
  register(handle: OsHandle): void {
    const word = handleWord(handle)
    this.#registrations.set(word, (this.#registrations.get(word) ?? 0) + 1)
    this.#send(`+ ${word}`)
  }

  unregister(handle: OsHandle): void {
    const word = handleWord(handle)
    const count = this.#registrations.get(word) ?? 0
    if (count > 1) this.#registrations.set(word, count - 1)
    else this.#registrations.delete(word)
    if (count > 0) this.#send(`- ${word}`)
  }

  /** Closes the pipe without `bye`: the guardian then kills the remaining processes, as if the daemon had died. */
  async abandon(): Promise<void> {
    await this.#close(null)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close('bye')
  }

  async #close(farewell: 'bye' | null): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    if (this.#restart !== null) clearTimeout(this.#restart)
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    child.once('exit', () => resolve())
    child.stdin?.end(farewell === null ? '' : `${farewell}\n`)
    if (farewell === null) return
    const deadline = setTimeout(() => child.kill('SIGKILL'), GOODBYE_MS)
    await promise
    clearTimeout(deadline)
  }

  #start(): ChildProcess {
    const { cgroupDir, daemonTag } = this.#options
    // The environment is new, because a marker of the daemon itself must not be passed on.
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }
    const words = [...this.#registrations].flatMap(([word, count]) => Array.from({ length: count }, () => word))
    const argv = ['-c', GUARDIAN_SCRIPT, 'reeve-guardian', cgroupDir ?? '', daemonTag, words.slice(0, MAX_START_HANDLES).join(' ')]
    const child = spawn('/bin/sh', argv, { cwd: '/', env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    child.once('error', (error) => this.#options.log(`The guardian cannot be started: ${error.message}`))
    child.once('exit', () => this.#handleExit())
    // A write to a dead guardian fails; the guardian's exit event starts a new one.
    child.stdin.on('error', () => undefined)
    child.unref()
    if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
    this.#startedMs = performance.now()
    for (const word of words.slice(MAX_START_HANDLES)) child.stdin.write(`+ ${word}\n`)
    return child
  }

  #handleExit(): void {
    if (this.#isClosing) return
    this.#options.log('The guardian has died; it is started again')
    const ageMs = performance.now() - this.#startedMs
    this.#restart = setTimeout(
      () => {
        this.#child = this.#start()
      },
      ageMs < RESTART_MS ? RESTART_MS : 0,
    ).unref()
  }

  // The line is written synchronously: the pipe then contains only lines that the guardian has not read yet.
  #send(line: string): void {
    if (this.#child.stdin?.writable === true) this.#child.stdin.write(`${line}\n`)
  }
}

function handleWord({ pid, startTime, pgid }: OsHandle): string {
  return `${pid}:${startTime}:${pgid}`
}
