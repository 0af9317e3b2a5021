// One PID namespace with its own /proc. Its init is a few lines of POSIX sh, connected to the daemon by a lifeline pipe. When the
// pipe breaks, even because the daemon was killed by SIGKILL, the init ends. The kernel then kills every process in the
// namespace, in any session and whatever signals it ignores. `unshare` waits outside as a child of the daemon. The kernel reaps
// all members before their init, so the exit of `unshare` proves that no member is left. Must never signal by a bare PID.
// Tests: test/processes/contain/pidns.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { OsHandle } from '../../../kernel/model/process.ts'
import { handleOf, handleState, signalOne } from '../proc/handle.ts'
import { MARKER_VARIABLE } from '../marker.ts'
import { childrenOf } from '../proc/process-table.ts'
import { findTool, NEEDS_USER_NAMESPACE } from './system-tools.ts'
import { truncate } from '../../../kernel/util/truncate.ts'

const MAX_STDERR_CHARS = 2_000

// The `read` in the background, called the reader, is the only child that the init starts. So the reader is always the first child. `wait`
// reaps every orphan that ends.
const INIT = `
trap '' HUP INT TERM
exec 3<&0 </dev/null
read -r word <&3 &
echo up
exec 3<&- >/dev/null 2>&1
wait $!
`

/** Absolute paths of the required programs; they do not depend on a contained program's PATH. */
export interface NamespaceTools {
  readonly unshare: string
  readonly nsenter: string
  readonly setsid: string
}

/** Finds all required programs. Errors: an `Error` that names the missing program. */
export function findNamespaceTools(): NamespaceTools {
  return { unshare: findTool('unshare'), nsenter: findTool('nsenter'), setsid: findTool('setsid') }
}

export class Namespace {
  readonly init: OsHandle
  readonly #unshare: ChildProcess
  readonly #tools: NamespaceTools
  /** open files of the namespaces; null once closed. Closing the last file unmounts the namespace, which may take a while */
  #files: NamespaceFiles | null
  readonly #reader: number
  readonly #onEnd = new Set<() => void>()
  #ended = false

  private constructor(unshareProcess: ChildProcess, tools: NamespaceTools, inside: NamespaceContents) {
    this.#unshare = unshareProcess
    this.#tools = tools
    this.init = inside.init
    this.#reader = inside.reader
    this.#files = inside.files
    unshareProcess.once('exit', () => this.#onExit())
  }

  /**
   * Creates a namespace and resolves when programs can enter it. `marker` is set in the environment of its init. Errors: an `Error`
   * with the reason.
   */
  static async create(tools: NamespaceTools, marker: string, startMs: number): Promise<Namespace> {
    const outside = spawnInit(tools, marker)
    try {
      await waitUntilUp(outside, startMs)
      // `lookInside` runs in the turn of the message: before `unshare` is reaped, its first child cannot change.
      return new Namespace(outside, tools, lookInside(outside))
    } catch (error) {
      outside.stdin?.destroy()
      outside.kill('SIGKILL')
      throw error
    }
  }

  /** Whether no member is left and no program can enter. If only `unshare` was killed, the kernel kills the init soon after. */
  get ended(): boolean {
    return this.#ended && handleState(this.init) !== 'alive'
  }

  /** whether the namespace was killed or has ended */
  get isClosed(): boolean {
    return this.#files === null
  }

  /** whether programs can enter; false if a member has killed the reader of the lifeline */
  get isOpen(): boolean {
    return this.#files !== null && childrenOf(this.init.pid)[0] === this.#reader
  }

  /** whether the init and its reader are the only members */
  get isBare(): boolean {
    const children = childrenOf(this.init.pid)
    return children.length === 1 && children[0] === this.#reader
  }

  /** PIDs of the init's children other than its reader: orphans, which the kernel gave to the init */
  orphans(): readonly number[] {
    return childrenOf(this.init.pid).filter((pid) => pid !== this.#reader)
  }

  /**
   * Returns the command line that runs the program inside, in its own session, with the current environment and streams.
   * The namespaces are named by open files, because a PID could have been reused.
   */
  entryCommand(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]] {
    if (this.#files === null) throw new Error('the namespace has ended')
    const { user, pid, mnt } = this.#files
    const file = (fd: number) => `/proc/${process.pid}/fd/${fd}`
    const users = user === null ? [] : [`--user=${file(user)}`, '--preserve-credentials']
    return [this.#tools.nsenter, ...users, `--pid=${file(pid)}`, `--mount=${file(mnt)}`, `--wdns=${cwd}`, '--', this.#tools.setsid, ...argv]
  }

  /** Calls back once when no member is left, which may be at once. Returns a function that removes the callback. */
  onEnd(callback: () => void): () => void {
    if (this.#ended) callback()
    else this.#onEnd.add(callback)
    return () => {
      this.#onEnd.delete(callback)
    }
  }

  /** Kills all members. No further program can enter, and the event loop stays alive until the namespace has ended. */
  kill(): void {
    if (!this.#ended) this.#unshare.ref()
    this.#closeFiles()
    signalOne(this.init, 'SIGKILL')
  }

  /** Kills all members and resolves when none is left. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.onEnd(resolve)
    this.kill()
    await promise
  }

  #onExit(): void {
    this.#ended = true
    this.#unshare.stdin?.destroy()
    // Callbacks run before the files are closed. Otherwise a proxy that is about to enter could find another namespace under a reused
    // descriptor.
    for (const callback of this.#onEnd) callback()
    this.#onEnd.clear()
    this.#closeFiles()
  }

  #closeFiles(): void {
    if (this.#files !== null) closeAll(this.#files)
    this.#files = null
  }
}

/** The open file descriptors of the namespaces. */
interface NamespaceFiles {
  /** null: root needs no user namespace */
  readonly user: number | null
  readonly pid: number
  readonly mnt: number
}

interface NamespaceContents {
  readonly init: OsHandle
  /** the PID of the reader */
  readonly reader: number
  readonly files: NamespaceFiles
}

function spawnInit({ unshare }: NamespaceTools, marker: string): ChildProcess {
  const users = NEEDS_USER_NAMESPACE ? ['--map-current-user'] : []
  // Later mounts of the host become visible inside; mounts made inside stay inside.
  const args = [...users, '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'slave', '/bin/sh', '-c', INIT, 'reeve-init']
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', [MARKER_VARIABLE]: marker }
  const child = spawn(unshare, args, { cwd: '/', env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  // A write to a dead init fails; the init's exit event handles its end.
  child.stdin.on('error', () => undefined)
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr])
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
  return child
}

/** Resolves when the init has reported that it runs. Rejects with the stderr of `unshare` if `unshare` ends first. */
async function waitUntilUp(child: ChildProcess, startMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stderr: string[] = []
  const fail = () => reject(new Error(truncate(stderr.join('').trim(), MAX_STDERR_CHARS) || 'unshare ended without a message'))
  const timeout = setTimeout(() => reject(new Error(`no namespace was ready after ${startMs / 1_000} s`)), startMs)
  child.stdout?.once('data', () => resolve())
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr.push(chunk.toString())
  })
  child.once('error', reject)
  child.once('close', fail)
  try {
    await promise
  } finally {
    clearTimeout(timeout)
    child.off('close', fail)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

function lookInside(outside: ChildProcess): NamespaceContents {
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

function openFiles(pid: number): NamespaceFiles {
  using undo = new DisposableStack()
  const open = (name: string) => undo.adopt(openSync(`/proc/${pid}/ns/${name}`, 'r'), closeSync)
  const files = { user: NEEDS_USER_NAMESPACE ? open('user') : null, pid: open('pid'), mnt: open('mnt') }
  undo.move()
  return files
}

function closeAll({ user, pid, mnt }: NamespaceFiles): void {
  for (const fd of [user, pid, mnt]) if (fd !== null) closeSync(fd)
}
