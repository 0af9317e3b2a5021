// One PID namespace with a /proc of its own, and the few lines of POSIX sh that are its init and its guardian. They hang on
// a lifeline from the daemon: when it breaks, also by kill -9 of the daemon, the init ends, and with it, by the kernel's own
// rule, everything in the namespace, whatever session it made and whatever it is deaf to. `unshare` waits outside, as our
// child: the kernel reaps all members before their init, so its end says exactly that nobody is left.
// Must never signal by a bare PID. Tests: test/processes/contain-pidns.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import type { OsHandle } from '../../kernel/types.ts'
import { handleOf, liveness, signalOne } from './handle.ts'
import { childrenOf, MARKER } from './proc.ts'

const MAX_WORDS = 2_000
/** Where an administrator's programs are, if the daemon's PATH does not say so. */
const MORE_DIRS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin']

// The reader is the one child that the init starts, and so the first of its children for ever. `wait` reaps whoever ends.
const INIT = `
trap '' HUP INT TERM
exec 3<&0 </dev/null
read -r word <&3 &
echo up
exec 3<&- >/dev/null 2>&1
wait $!
`

/** The programs that it takes, by their absolute paths: a program's own PATH is its own business. */
export interface Tools {
  readonly unshare: string
  readonly nsenter: string
  readonly setsid: string
}

/** Errors: one that says which program is missing. */
export function findTools(): Tools {
  return { unshare: findTool('unshare'), nsenter: findTool('nsenter'), setsid: findTool('setsid') }
}

/** Errors: one that says that it is missing. */
export function findTool(name: string): string {
  const dirs = [...(process.env['PATH'] ?? '').split(':').filter((dir) => dir.startsWith('/')), ...MORE_DIRS]
  const found = dirs.map((dir) => join(dir, name)).find(isRunnable)
  if (found === undefined) throw new Error(`there is no ${name}: util-linux 2.38 or newer is needed`)
  return found
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Root needs no user namespace, and `sudo` and the like go on working without one. */
const OWN_USERS = process.geteuid?.() !== 0

export class Namespace {
  readonly init: OsHandle
  readonly #outside: ChildProcess
  readonly #tools: Tools
  /** null once it is over: whoever closes the last of them takes the mounts down, and that may take its time */
  #files: Files | null
  readonly #reader: number
  readonly #onEnd = new Set<() => void>()
  #ended = false

  private constructor(outside: ChildProcess, tools: Tools, inside: Inside) {
    this.#outside = outside
    this.#tools = tools
    this.init = inside.init
    this.#reader = inside.reader
    this.#files = inside.files
    outside.once('exit', () => this.#end())
  }

  /** Resolves when it can be entered. Errors: one that says why it cannot be made. `marker` is in its init's environment. */
  static async make(tools: Tools, marker: string, upMs: number): Promise<Namespace> {
    const outside = spawnInit(tools, marker)
    try {
      await up(outside, upMs)
      // In one turn: until we have reaped `unshare`, nobody else can have become its child.
      return new Namespace(outside, tools, lookInside(outside))
    } catch (error) {
      outside.stdin?.destroy()
      outside.kill('SIGKILL')
      throw error
    }
  }

  /** Nobody is left in it, and nobody can enter it. Whoever kills `unshare` alone has the init killed by the kernel, soon. */
  get ended(): boolean {
    return this.#ended && liveness(this.init) !== 'alive'
  }

  /** it was killed, or has ended */
  get isClosed(): boolean {
    return this.#files === null
  }

  /** programs can enter it; not if somebody inside has killed the reader of its lifeline */
  get isOpen(): boolean {
    return this.#files !== null && childrenOf(this.init.pid)[0] === this.#reader
  }

  /** no member but the init and its reader, which is its first child, so that it hides nobody */
  get isBare(): boolean {
    const children = childrenOf(this.init.pid)
    return children.length === 1 && children[0] === this.#reader
  }

  /** the children of the init that are somebody's programs: orphans */
  orphans(): readonly number[] {
    return childrenOf(this.init.pid).filter((pid) => pid !== this.#reader)
  }

  /**
   * What to run so that the program is inside, in a session of its own, with this environment and these streams.
   * The namespaces are named by files that we hold open: a PID could be another's by now.
   */
  entering(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]] {
    if (this.#files === null) throw new Error('the namespace has ended')
    const { user, pid, mnt } = this.#files
    const file = (fd: number) => `/proc/${process.pid}/fd/${fd}`
    const users = user === null ? [] : [`--user=${file(user)}`, '--preserve-credentials']
    return [this.#tools.nsenter, ...users, `--pid=${file(pid)}`, `--mount=${file(mnt)}`, `--wdns=${cwd}`, '--', this.#tools.setsid, ...argv]
  }

  /** Calls back once when nobody is left; at once if that is so. Returns how to stop listening. */
  onEnd(hear: () => void): () => void {
    if (this.#ended) hear()
    else this.#onEnd.add(hear)
    return () => { this.#onEnd.delete(hear) }
  }

  /** From here on it cannot be entered, and its end is waited for. */
  kill(): void {
    if (!this.#ended) this.#outside.ref()
    this.#closeFiles()
    signalOne(this.init, 'SIGKILL')
  }

  /** Kills it and resolves when nobody is left. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.onEnd(resolve)
    this.kill()
    await promise
  }

  #end(): void {
    this.#ended = true
    this.#outside.stdin?.destroy()
    // First those who hear of it: whoever is on the way inside must not find another namespace under the numbers of the files.
    for (const hear of this.#onEnd) hear()
    this.#onEnd.clear()
    this.#closeFiles()
  }

  #closeFiles(): void {
    if (this.#files !== null) closeAll(this.#files)
    this.#files = null
  }
}

interface Files {
  readonly user: number | null
  readonly pid: number
  readonly mnt: number
}

interface Inside {
  readonly init: OsHandle
  readonly reader: number
  readonly files: Files
}

function spawnInit({ unshare }: Tools, marker: string): ChildProcess {
  const users = OWN_USERS ? ['--map-current-user'] : []
  // Mounts that the host makes later are to be seen inside; what is mounted inside stays there.
  const args = [...users, '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'slave', '/bin/sh', '-c', INIT, 'reeve-init']
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', [MARKER]: marker }
  const child = spawn(unshare, args, { cwd: '/', env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  // An init that is gone cannot hear us: its exit is what counts.
  child.stdin.on('error', () => undefined)
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
  return child
}

/** Resolves when the init has said so; rejects with the words of `unshare` if it ends instead. */
async function up(child: ChildProcess, upMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const words: string[] = []
  const complain = () => reject(new Error(words.join('').trim().slice(0, MAX_WORDS) || 'unshare ended without a word'))
  const tooLate = setTimeout(() => reject(new Error(`no namespace was there after ${upMs / 1_000} s`)), upMs)
  child.stdout?.once('data', () => resolve())
  child.stderr?.on('data', (chunk: Buffer) => { words.push(chunk.toString()) })
  child.once('error', reject)
  child.once('close', complain)
  try {
    await promise
  } finally {
    clearTimeout(tooLate)
    child.off('close', complain)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

function lookInside(outside: ChildProcess): Inside {
  if (outside.exitCode !== null || outside.signalCode !== null) throw new Error('unshare has ended')
  const pid = childrenOf(outside.pid ?? 0)[0] ?? 0
  const files = openFiles(pid)
  const init = handleOf(pid)
  const reader = childrenOf(pid)[0]
  if (init === null || reader === undefined || childrenOf(outside.pid ?? 0)[0] !== pid) {
    closeAll(files)
    throw new Error('the init of a namespace cannot be seen: /proc/PID/task/PID/children is needed')
  }
  return { init, reader, files }
}

function openFiles(pid: number): Files {
  using undo = new DisposableStack()
  const open = (name: string) => undo.adopt(openSync(`/proc/${pid}/ns/${name}`, 'r'), closeSync)
  const files = { user: OWN_USERS ? open('user') : null, pid: open('pid'), mnt: open('mnt') }
  undo.move()
  return files
}

function closeAll({ user, pid, mnt }: Files): void {
  for (const fd of [user, pid, mnt]) if (fd !== null) closeSync(fd)
}

