// Starts one program with its own session and real pipes, and owns its handle, its streams and its end.
// Its handle is read in the same turn as the spawn: until we have reaped it, its PID cannot be anybody else's.
// Must never be called but by a containment. Tests: test/processes/contain.test.ts, contain-pipes.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { KernelError } from '../../kernel/errors.ts'
import type { OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import type { Program, ProgramExit } from './contain.ts'
import { handleOf } from './handle.ts'
import type { OsSignal } from './handle.ts'
import { openInward, openOutward, readerOf, writerOf } from './pipes.ts'
import type { PipeEnds } from './pipes.ts'
import type { FifoReader } from './reader.ts'

/** What is to be run, resolved and wrapped; `fifos` are fresh paths, and without one for stdin it is /dev/null. */
export interface StartOrder {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly fifos: { readonly stdout: string; readonly stderr: string; readonly stdin: string | null }
}

type Keeper = Pick<Cage, 'admit' | 'signalProgram'>

export class OwnedProgram implements Program {
  readonly handle: OsHandle
  readonly stdout: FifoReader
  readonly stderr: FifoReader
  readonly stdin: Writable | null
  readonly exited: Promise<ProgramExit>
  readonly #onEnd = new Set<() => void>()
  readonly #cage: Keeper
  #ended = false

  constructor(child: ChildProcess, handle: OsHandle, pipes: Pipes, cage: Keeper) {
    this.handle = handle
    this.#cage = cage
    this.stdout = readerOf(pipes.stdout)
    this.stderr = readerOf(pipes.stderr)
    this.stdin = pipes.stdin === null ? null : writerOf(pipes.stdin)
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#ended = true
        this.stdin?.destroy()
        this.stdout.settle()
        this.stderr.settle()
        for (const hear of this.#onEnd) hear()
        resolve({ code, signal })
      })
    })
  }

  get ended(): boolean {
    return this.#ended
  }

  get outputBytes(): number {
    return this.stdout.bytes + this.stderr.bytes
  }

  /** it has ended and holds no descriptor of ours */
  get released(): boolean {
    return this.#ended && this.stdout.closedPipe && this.stderr.closedPipe
  }

  /** Calls back in the turn in which the program is reaped; at once if it was before. Returns how to stop listening. */
  onEnd(hear: () => void): () => void {
    if (this.#ended) hear()
    else this.#onEnd.add(hear)
    return () => { this.#onEnd.delete(hear) }
  }

  signal(signal: OsSignal): boolean {
    return !this.#ended && this.#cage.signalProgram(this.handle, signal)
  }

  /** Gives back the descriptors; what was written so far can still be read. */
  release(): void {
    this.stdin?.destroy()
    this.stdout.finish()
    this.stderr.finish()
  }
}

interface Pipes {
  readonly stdin: PipeEnds | null
  readonly stdout: PipeEnds
  readonly stderr: PipeEnds
}

/** Spawns without waiting for anything: the cage hears of the handle in the same turn. */
export async function startProgram(order: StartOrder, cage: Keeper): Promise<OwnedProgram> {
  const pipes = openPipes(order.fifos)
  const child = spawnOn(order, pipes)
  const handle = child.pid === undefined ? null : handleOf(child.pid)
  if (handle === null) {
    closeEnds(pipes, 'ours')
    throw await spawnError(child, order.argv[0])
  }
  cage.admit(handle)
  return new OwnedProgram(child, handle, pipes, cage)
}

function openPipes({ stdout, stderr, stdin }: StartOrder['fifos']): Pipes {
  const opened: PipeEnds[] = []
  const keep = (ends: PipeEnds) => { opened.push(ends); return ends }
  try {
    return { stdout: keep(openInward(stdout)), stderr: keep(openInward(stderr)), stdin: stdin === null ? null : keep(openOutward(stdin)) }
  } catch (error) {
    for (const ends of opened) for (const fd of [ends.ours, ends.theirs]) closeSync(fd)
    throw new KernelError('RESOURCE_EXHAUSTED', `No more pipes can be opened: ${(error as Error).message}`)
  }
}

function spawnOn({ argv, cwd, env }: StartOrder, pipes: Pipes): ChildProcess {
  const stdin = pipes.stdin?.theirs ?? openSync('/dev/null', 'r')
  try {
    // `detached` makes a session of its own: the group's number is the program's PID.
    return spawn(argv[0], argv.slice(1), { cwd, env, detached: true, stdio: [stdin, pipes.stdout.theirs, pipes.stderr.theirs] })
  } catch (error) {
    closeEnds(pipes, 'ours')
    throw new KernelError('INVALID', `The command cannot be started: ${(error as Error).message}`)
  } finally {
    if (pipes.stdin === null) closeSync(stdin)
    closeEnds(pipes, 'theirs')
  }
}

function closeEnds(pipes: Pipes, side: keyof PipeEnds): void {
  for (const ends of [pipes.stdin, pipes.stdout, pipes.stderr]) if (ends !== null) closeSync(ends[side])
}

async function spawnError(child: ChildProcess, command: string): Promise<KernelError> {
  const { promise, resolve } = Promise.withResolvers<Error>()
  child.once('error', resolve)
  return new KernelError('NOT_RUNNABLE', `${command}: cannot be run: ${(await promise).message}`, { command })
}
