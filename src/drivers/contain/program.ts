// Starts one program with its own session and real pipes, and owns its handle, its streams and its exit. The handle is read in the turn of
// the spawn: until the daemon reaps the program, the PID cannot be reused. Only containment.ts may call `startProgram`,
// because a containment must know each of its programs.
// Tests: test/processes/contain/containment.test.ts, test/processes/contain/pipes.test.ts.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { KernelError } from '../../kernel/model/errors.ts'
import type { OsHandle } from '../../kernel/model/process.ts'
import type { ContainmentBackend } from './backends/backend.ts'
import type { Program, ProgramExit } from './containment-contract.ts'
import { handleOf } from './proc/handle.ts'
import type { OsSignal } from './proc/handle.ts'
import { MEMORY_DIR, openTextInput } from './proc/text-input.ts'
import { openOutputPipe, openInputPipe, readerOf, writerOf } from './proc/pipes.ts'
import type { PipeEnds } from './proc/pipes.ts'
import type { PipeReader } from './proc/pipe-reader.ts'

/** A program to start, with its command resolved and wrapped. */
export interface StartRequest {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** paths of unused FIFOs; a null stdin means that stdin comes from `input` */
  readonly fifos: { readonly stdout: string; readonly stderr: string; readonly stdin: string | null }
  /** the text on stdin; null means /dev/null */
  readonly input: { readonly text: string; readonly tmpDir: string } | null
}

type ProgramKeeper = Pick<ContainmentBackend, 'admit' | 'signalProgram'>

export class OwnedProgram implements Program {
  readonly handle: OsHandle
  readonly stdout: PipeReader
  readonly stderr: PipeReader
  readonly stdin: Writable | null
  readonly exited: Promise<ProgramExit>
  readonly #onEnd = new Set<() => void>()
  readonly #backend: ProgramKeeper
  #hasEnded = false

  constructor(child: ChildProcess, handle: OsHandle, pipes: Pipes, backend: ProgramKeeper) {
    this.handle = handle
    this.#backend = backend
    this.stdout = readerOf(pipes.stdout)
    this.stderr = readerOf(pipes.stderr)
    this.stdin = pipes.stdin === null ? null : writerOf(pipes.stdin)
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasEnded = true
        this.stdin?.destroy()
        this.stdout.onProgramExit()
        this.stderr.onProgramExit()
        for (const callback of this.#onEnd) callback()
        resolve({ code, signal })
      })
    })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get outputBytes(): number {
    return this.stdout.bytes + this.stderr.bytes
  }

  /** whether the program has ended and the daemon holds none of its descriptors */
  get isReleased(): boolean {
    return this.#hasEnded && this.stdout.isPipeClosed && this.stderr.isPipeClosed
  }

  /**
   * Calls back in the turn in which the program is reaped: from then on its PID can be reused. Calls back at once if it has ended.
   * Returns a function that removes the callback.
   */
  onEnd(callback: () => void): () => void {
    if (this.#hasEnded) callback()
    else this.#onEnd.add(callback)
    return () => {
      this.#onEnd.delete(callback)
    }
  }

  signal(signal: OsSignal): boolean {
    return !this.#hasEnded && this.#backend.signalProgram(this.handle, signal)
  }

  /** Closes the descriptors. Output that was written before can still be read. */
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

/**
 * Spawns the program and admits its handle to the backend in the same turn of the event loop. Errors: `INVALID`, `NOT_RUNNABLE`,
 * `RESOURCE_EXHAUSTED`.
 */
export async function startProgram(request: StartRequest, backend: ProgramKeeper): Promise<OwnedProgram> {
  const pipes = openPipes(request.fifos)
  const child = spawnWithPipes(request, pipes)
  const handle = child.pid === undefined ? null : handleOf(child.pid)
  if (handle === null) {
    closeEnds(pipes, 'ours')
    throw await spawnError(child, request.argv[0])
  }
  backend.admit(handle)
  return new OwnedProgram(child, handle, pipes, backend)
}

function openPipes({ stdout, stderr, stdin }: StartRequest['fifos']): Pipes {
  const opened: PipeEnds[] = []
  const trackEnds = (ends: PipeEnds) => {
    opened.push(ends)
    return ends
  }
  try {
    return {
      stdout: trackEnds(openOutputPipe(stdout)),
      stderr: trackEnds(openOutputPipe(stderr)),
      stdin: stdin === null ? null : trackEnds(openInputPipe(stdin)),
    }
  } catch (error) {
    for (const ends of opened) for (const fd of [ends.ours, ends.theirs]) closeSync(fd)
    throw new KernelError('RESOURCE_EXHAUSTED', `No more pipes can be opened: ${(error as Error).message}`)
  }
}

function spawnWithPipes({ argv, cwd, env, input }: StartRequest, pipes: Pipes): ChildProcess {
  const stdin = pipes.stdin?.theirs ?? openInput(input, pipes)
  try {
    // `detached` creates a session for the program, so that the number of its group is its PID.
    return spawn(argv[0], argv.slice(1), { cwd, env, detached: true, stdio: [stdin, pipes.stdout.theirs, pipes.stderr.theirs] })
  } catch (error) {
    closeEnds(pipes, 'ours')
    throw new KernelError('INVALID', `The command cannot be started: ${(error as Error).message}`)
  } finally {
    if (pipes.stdin === null) closeSync(stdin)
    closeEnds(pipes, 'theirs')
  }
}

/** Opens stdin of a program without a pipe for it. Errors: `RESOURCE_EXHAUSTED`. */
function openInput(input: StartRequest['input'], pipes: Pipes): number {
  try {
    return input === null ? openSync('/dev/null', 'r') : openTextInput(input.text, [MEMORY_DIR, input.tmpDir])
  } catch (error) {
    closeEnds(pipes, 'ours')
    closeEnds(pipes, 'theirs')
    throw new KernelError('RESOURCE_EXHAUSTED', `The input of the command cannot be stored: ${(error as Error).message}`)
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
