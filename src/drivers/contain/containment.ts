// The containment of one incarnation, for every kind. Starts programs inside, freezes, thaws and stops all of them, and finally leaves
// nothing behind. Must never start a program once disposal has begun.
// Tests: test/processes/contain/containment.test.ts, test/processes/contain/freeze.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { ContainmentIntent } from '../../kernel/model/process.ts'
import type { ContainmentBackend } from './backends/backend.ts'
import type { Containment, Ladder, ContainmentUsage, Program, SpawnRequest, StopResult } from './containment-contract.ts'
import { runStopLadder, waitUntil } from './stop-ladder.ts'
import type { LadderActions } from './stop-ladder.ts'
import { markerEnvironment } from './marker.ts'
import type { FifoPool } from './proc/pipes.ts'
import { startProgram } from './program.ts'
import type { OwnedProgram } from './program.ts'
import { resolveProgram } from './resolve-program.ts'
import type { SliceQueue } from '../common/event-loop-turns.ts'

const FREEZE_MS = 5_000
/** How long an empty cgroup may refuse its removal while the kernel tears down the last members. */
const REMOVE_MS = 1_000

export interface ContainmentDeps {
  readonly intent: ContainmentIntent
  /** the value of TMPDIR for each program */
  readonly tmpDir: string
  /** the command line put before each program's own; empty to start programs directly; an error refuses every start */
  readonly prefix: readonly string[] | KernelError
  readonly backend: ContainmentBackend
  readonly pool: FifoPool
  /** spreads program starts over turns of the event loop */
  readonly starts: SliceQueue
  /** spreads stops in the same way, separately, so that a stop never waits for a start */
  readonly stops: SliceQueue
  /** called once, when nothing is left of the containment */
  readonly onDisposed: (containment: OwnedContainment) => void
}

export class OwnedContainment implements Containment {
  readonly intent: ContainmentIntent
  readonly tmpDir: string
  readonly #prefix: readonly string[] | KernelError
  readonly #backend: ContainmentBackend
  readonly #pool: FifoPool
  readonly #starts: SliceQueue
  readonly #stops: SliceQueue
  readonly #onDisposed: (containment: OwnedContainment) => void
  readonly #programs = new Set<OwnedProgram>()
  readonly #firstStart = Promise.withResolvers<void>()
  /** the number of output bytes of programs that are no longer tracked */
  #outputBytes = 0
  /** the final usage, measured at disposal */
  #finalUsage: ContainmentUsage | null = null
  #hasStarted = false
  #isClosed = false
  #isFrozen = false
  /** the number of stop requests so far */
  #stopCount = 0
  /** resolves at a thaw, a stop or the disposal */
  #thawed = Promise.withResolvers<void>()

  constructor({ intent, tmpDir, prefix, backend, pool, starts, stops, onDisposed }: ContainmentDeps) {
    this.intent = intent
    this.tmpDir = tmpDir
    this.#prefix = prefix
    this.#backend = backend
    this.#pool = pool
    this.#starts = starts
    this.#stops = stops
    this.#onDisposed = onDisposed
  }

  async spawn(request: SpawnRequest): Promise<Program> {
    this.#assertOpen()
    const prefix = this.#prefix
    if (prefix instanceof KernelError) throw prefix
    const stopCount = this.#stopCount
    const program = resolveProgram(request)
    const fifos = await this.#pool.take(request.stdin === 'pipe' ? 3 : 2)
    const [stdout, stderr, stdin = null] = fifos
    if (stdout === undefined || stderr === undefined) throw new KernelError('INTERNAL', 'The pool gave too few pipes')
    // After the last wait, the program starts in the same event-loop turn, so that no stop or freeze comes between.
    try {
      await this.#backend.prepare()
      // A start blocks the event loop until the program runs, so starts take turns.
      await this.#starts.next()
      await this.#backend.prepare()
      // A program that enters a frozen cgroup freezes at once. The first program must wait here anyway, because it creates
      // the cgroup. Any program in a process group must wait too, because a process group cannot freeze.
      while (this.#isFrozen && !this.#isClosed && stopCount === this.#stopCount) {
        await this.#thawed.promise
        await this.#backend.prepare()
      }
      this.#assertOpen(stopCount)
    } catch (error) {
      this.#pool.giveBack(fifos)
      throw error
    }
    this.#hasStarted = true
    this.#firstStart.resolve()
    const argv = this.#backend.enter(withPrefix(prefix, [program, ...request.argv.slice(1)]), request.cwd)
    const env = { ...request.env, ...markerEnvironment(this.intent.marker), TMPDIR: this.tmpDir }
    const input = typeof request.stdin === 'string' ? null : { text: request.stdin.text, tmpDir: this.tmpDir }
    const started = await startProgram({ argv, cwd: request.cwd, env, fifos: { stdout, stderr, stdin }, input }, this.#backend)
    return this.#track(started)
  }

  members(): Promise<readonly number[]> {
    return Promise.resolve(this.#hasStarted ? this.#backend.members() : [])
  }

  get firstStart(): Promise<void> {
    return this.#firstStart.promise
  }

  measure(memberScope: 'all' | 'known' | 'none' = 'all'): ContainmentUsage | null {
    if (this.#finalUsage !== null || !this.#hasStarted) return this.#finalUsage
    const usage = this.#backend.measure(memberScope)
    if (usage === null) return null
    const outputBytes = [...this.#programs].reduce((sum, program) => sum + program.outputBytes, this.#outputBytes)
    return { ...usage, outputBytes }
  }

  limitMemory(bytes: number | null): void {
    this.#backend.limitMemory(bytes)
  }

  async freeze(): Promise<void> {
    this.#isFrozen = true
    if (!this.#hasStarted) return
    this.#backend.freeze()
    const isDone = await waitUntil(() => !this.#isFrozen || this.#backend.isFrozen(), FREEZE_MS, this.#backend.waiting)
    if (!isDone) throw new KernelError('TIMED_OUT', `Not all programs could be frozen within ${FREEZE_MS} ms`)
  }

  thaw(): Promise<void> {
    this.#unfreeze()
    return Promise.resolve()
  }

  /** Runs the stop ladder. Also cancels starts that were requested before and have not begun. */
  async stop(ladder: Ladder): Promise<StopResult> {
    this.#stopCount += 1
    this.#wakeWaitingStarts()
    await this.#stops.next()
    return runStopLadder(this.#ladderActions(), ladder)
  }

  async dispose(): Promise<StopResult> {
    this.#isClosed = true
    this.#wakeWaitingStarts()
    await this.#stops.next()
    const result = await runStopLadder(this.#ladderActions(), { signal: 'SIGKILL', graceMs: 0 })
    if (result.outcome === 'survived') return result
    for (const program of this.#programs) program.release()
    this.#finalUsage = this.measure('none')
    this.#programs.clear()
    await this.#stops.next()
    const removed = await waitUntil(() => this.#backend.remove(), REMOVE_MS, { ...this.#backend.waiting, watch: () => () => {} })
    if (!removed) return { outcome: 'survived', survivors: this.#backend.members() }
    this.#onDisposed(this)
    return result
  }

  // A long-lived incarnation runs many programs, so each start forgets the programs that have released their descriptors.
  #track(program: OwnedProgram): Program {
    for (const earlier of this.#programs) {
      if (!earlier.isReleased) continue
      this.#outputBytes += earlier.outputBytes
      this.#programs.delete(earlier)
    }
    this.#programs.add(program)
    this.#backend.trackOutputs(program.handle, [program.stdout, program.stderr])
    program.onEnd(() => this.#backend.programEnded(program.handle))
    return program
  }

  #unfreeze(): void {
    if (!this.#isFrozen) return
    this.#isFrozen = false
    if (this.#hasStarted) this.#backend.thaw()
    this.#wakeWaitingStarts()
  }

  #wakeWaitingStarts(): void {
    this.#thawed.resolve()
    this.#thawed = Promise.withResolvers()
  }

  #assertOpen(stopCount = this.#stopCount): void {
    if (this.#isClosed || stopCount !== this.#stopCount)
      throw new KernelError('NOT_FOUND', 'The process has ended: it starts no more programs')
  }

  #programsEnded(): boolean {
    return [...this.#programs].every((program) => program.hasEnded)
  }

  // Programs are also counted and signalled by their own handles, because a new program may not have entered yet.
  #ladderActions(): LadderActions {
    const backend = this.#backend
    return {
      isEmpty: () => !this.#hasStarted || (this.#programsEnded() && backend.isEmpty()),
      programsEnded: () => this.#programsEnded(),
      signalPrograms: (signal) => {
        for (const program of this.#programs) program.signal(signal)
        this.#unfreeze()
        for (const program of this.#programs) program.signal('SIGCONT')
      },
      signalMembers: (signal) => backend.signalMembers(signal),
      kill: () => {
        backend.kill()
        for (const program of this.#programs) program.signal('SIGKILL')
      },
      members: () => backend.members(),
      waiting: this.#waitOptions(),
    }
  }

  // The wait is woken by exits of our own programs. Only when these have ended and other members live, the backend is watched.
  #waitOptions(): LadderActions['waiting'] {
    const backend = this.#backend
    return {
      pollMs: backend.waiting.pollMs,
      watch: (wake) => {
        const unwatchers = new Set<() => void>()
        let isOver = false
        const checkMembers = () => {
          if (isOver) return
          if (!backend.isEmpty()) unwatchers.add(backend.waiting.watch(wake))
          wake()
        }
        const checkWhenEnded = () => {
          if (this.#programsEnded()) backend.scheduleCheck(checkMembers)
        }
        for (const program of this.#programs) if (!program.hasEnded) unwatchers.add(program.onEnd(checkWhenEnded))
        checkWhenEnded()
        return () => {
          isOver = true
          for (const unwatch of unwatchers) unwatch()
        }
      },
    }
  }
}

function withPrefix([first, ...more]: readonly string[], argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
  return first === undefined ? argv : [first, ...more, ...argv]
}
