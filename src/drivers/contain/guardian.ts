// The guardian: a few lines of POSIX sh in a session of its own, at the end of a lifeline pipe. When the daemon dies, also
// by kill -9, the pipe breaks and the guardian ends everything that the daemon owned; when it is told `bye` it just ends.
// One per daemon; if it dies it is started again and told all anew. It checks identities before it signals, as handle.ts does.
// Tests: test/processes/contain-guardian.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { OsHandle } from '../../kernel/types.ts'
import { MARKER } from './proc.ts'

/** A guardian that did not live this long is not started again at once. */
const RESTART_MS = 1_000
/** So many words go with the start of a guardian, in one argument (128 KiB at most); the others are told after it. */
const START_WORDS = 2_000
/** How long a guardian may take to obey `bye`. */
const GOODBYE_MS = 2_000

// $1 is the daemon's cgroup (or empty), $2 its tag, $3 what it is to know from the start. `told` holds PID:START:PGID words.
// identity PID → START:PGID, or nothing. marked → PIDs that carry the tag. Whose program has ended, unseen by the daemon, is
// still a group of ours while a marked one is in it. A cgroup is gone only when its directory is:
// until then somebody could still enter it.
const SCRIPT = `
trap '' HUP INT TERM
told=" $3 "
while read -r verb word; do
  case $verb in
    +) told="$told$word " ;;
    -) case $told in *" $word "*) told="\${told%%" $word "*} \${told#*" $word "}" ;; esac ;;
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
for word in $told; do
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
  for pid in $(marked "${MARKER}=[^. ]*\\.[0-9]*\\.$2\\."); do
    group=$(identity "$pid")
    case $told in *":\${group##*:} "*) kill -s KILL -- "-\${group##*:}" ;; esac
    kill -s KILL "$pid"
    left=1
  done
  [ -z "$left" ] && exit 0
  round=$((round + 1))
  sleep 0.1
done
`

export interface GuardianOrder {
  /** the directory below which all of this daemon's cgroups are; null without cgroups */
  readonly cgroupDir: string | null
  readonly daemonTag: string
  readonly log: (message: string) => void
}

export class Guardian implements AsyncDisposable {
  readonly #order: GuardianOrder
  readonly #told = new Map<string, number>()
  #child: ChildProcess
  #bornMs = 0
  #again: NodeJS.Timeout | null = null
  #closing = false

  constructor(order: GuardianOrder) {
    this.#order = order
    this.#child = this.#start()
  }

  /** If the daemon dies, the group that this process vouches for is killed. Told twice, it must be forgotten twice. */
  tell(handle: OsHandle): void {
    const word = wordOf(handle)
    this.#told.set(word, (this.#told.get(word) ?? 0) + 1)
    this.#say(`+ ${word}`)
  }

  forget(handle: OsHandle): void {
    const word = wordOf(handle)
    const times = this.#told.get(word) ?? 0
    if (times > 1) this.#told.set(word, times - 1)
    else this.#told.delete(word)
    if (times > 0) this.#say(`- ${word}`)
  }

  /** Lets the guardian go without a word: it ends what is left, as if the daemon had died. */
  async abandon(): Promise<void> {
    await this.#close(null)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close('bye')
  }

  async #close(word: 'bye' | null): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    if (this.#again !== null) clearTimeout(this.#again)
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    child.once('exit', () => resolve())
    child.stdin?.end(word === null ? '' : `${word}\n`)
    if (word === null) return
    const deadline = setTimeout(() => child.kill('SIGKILL'), GOODBYE_MS)
    await promise
    clearTimeout(deadline)
  }

  #start(): ChildProcess {
    const { cgroupDir, daemonTag } = this.#order
    // Its environment is clean: a marker that the daemon may carry itself must not be handed on.
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }
    const words = [...this.#told].flatMap(([word, times]) => Array.from({ length: times }, () => word))
    const argv = ['-c', SCRIPT, 'reeve-guardian', cgroupDir ?? '', daemonTag, words.slice(0, START_WORDS).join(' ')]
    const child = spawn('/bin/sh', argv, { cwd: '/', env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    child.once('error', (error) => this.#order.log(`The guardian cannot be started: ${error.message}`))
    child.once('exit', () => this.#gone())
    // A guardian that is gone cannot hear us: its exit is what counts.
    child.stdin.on('error', () => undefined)
    child.unref()
    if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
    this.#bornMs = performance.now()
    for (const word of words.slice(START_WORDS)) child.stdin.write(`+ ${word}\n`)
    return child
  }

  #gone(): void {
    if (this.#closing) return
    this.#order.log('The guardian has died; it is started again')
    const age = performance.now() - this.#bornMs
    this.#again = setTimeout(() => { this.#child = this.#start() }, age < RESTART_MS ? RESTART_MS : 0).unref()
  }

  // Written at once, in this turn: the pipe is empty but for what the guardian has not read yet.
  #say(line: string): void {
    if (this.#child.stdin?.writable === true) this.#child.stdin.write(`${line}\n`)
  }
}

function wordOf({ pid, startTime, pgid }: OsHandle): string {
  return `${pid}:${startTime}:${pgid}`
}
