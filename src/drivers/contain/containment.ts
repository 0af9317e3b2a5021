// One incarnation's containment, whatever its kind: starts programs inside, stops, freezes and thaws them all, and at the
// end leaves nothing. Owns the programs and their cage. Must never start anything once it is being disposed.
// Tests: test/processes/contain.test.ts, contain-freeze.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { ContainmentIntent } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import type { Containment, Ladder, Metered, Program, SpawnRequest, StopResult } from './contain.ts'
import { climb, until } from './ladder.ts'
import type { Rungs } from './ladder.ts'
import { environmentOf } from './marker.ts'
import type { FifoPool } from './pipes.ts'
import { startProgram } from './program.ts'
import type { OwnedProgram } from './program.ts'
import { resolveProgram } from './resolve.ts'

const FREEZE_MS = 5_000
/** How long an empty cgroup may refuse to be removed while its last members are being torn down. */
const REMOVE_MS = 1_000

export interface ContainmentParts {
  readonly intent: ContainmentIntent
  /** TMPDIR of each program */
  readonly tmpDir: string
  /** what starts each program; nothing: it is started as it is */
  readonly prefix: readonly string[]
  readonly cage: Cage
  readonly pool: FifoPool
  /** told once, when nothing is left */
  readonly disposed: (containment: OwnedContainment) => void
}

export class OwnedContainment implements Containment {
  readonly intent: ContainmentIntent
  readonly #tmpDir: string
  readonly #prefix: readonly string[]
  readonly #cage: Cage
  readonly #pool: FifoPool
  readonly #disposed: (containment: OwnedContainment) => void
  readonly #programs = new Set<OwnedProgram>()
  readonly #firstStart = Promise.withResolvers<void>()
  /** written by programs that are let go of */
  #outputBytes = 0
  /** at the end */
  #last: Metered | null = null
  #used = false
  #closed = false
  #frozen = false
  /** how often it was asked to end */
  #stops = 0
  /** resolved when it is thawed, asked to end or closed */
  #thawed = Promise.withResolvers<void>()

  constructor({ intent, tmpDir, prefix, cage, pool, disposed }: ContainmentParts) {
    this.intent = intent
    this.#tmpDir = tmpDir
    this.#prefix = prefix
    this.#cage = cage
    this.#pool = pool
    this.#disposed = disposed
  }

  async spawn(request: SpawnRequest): Promise<Program> {
    this.#assertOpen()
    const stops = this.#stops
    const program = resolveProgram(request)
    const [stdout, stderr, stdin = null] = await this.#pool.take(request.stdin === 'pipe' ? 3 : 2)
    if (stdout === undefined || stderr === undefined) throw new KernelError('INTERNAL', 'The pool gave too few pipes')
    // What enters a frozen cgroup stands still by itself, but the first program makes the cgroup, and a group has no such thing.
    await this.#cage.prepare()
    while (this.#frozen && !this.#closed && stops === this.#stops) {
      await this.#thawed.promise
      await this.#cage.prepare()
    }
    this.#assertOpen(stops)
    this.#used = true
    this.#firstStart.resolve()
    const argv = this.#cage.enter(startedBy(this.#prefix, [program, ...request.argv.slice(1)]), request.cwd)
    const env = { ...request.env, ...environmentOf(this.intent.marker), TMPDIR: this.#tmpDir }
    const started = await startProgram({ argv, cwd: request.cwd, env, fifos: { stdout, stderr, stdin } }, this.#cage)
    return this.#own(started)
  }

  members(): Promise<readonly number[]> {
    return Promise.resolve(this.#used ? this.#cage.members() : [])
  }

  get used(): Promise<void> {
    return this.#firstStart.promise
  }

  measure(how: 'look' | 'known' | 'none' = 'look'): Metered | null {
    if (this.#last !== null || !this.#used) return this.#last
    const use = this.#cage.measure(how)
    if (use === null) return null
    const outputBytes = [...this.#programs].reduce((sum, program) => sum + program.outputBytes, this.#outputBytes)
    return { ...use, outputBytes }
  }

  limitMemory(bytes: number | null): void {
    this.#cage.limitMemory(bytes)
  }

  async freeze(): Promise<void> {
    this.#frozen = true
    if (!this.#used) return
    this.#cage.freeze()
    const settled = await until(() => !this.#frozen || this.#cage.isFrozen(), FREEZE_MS, this.#cage.waiting)
    if (!settled) throw new KernelError('TIMED_OUT', `Not all programs could be frozen within ${FREEZE_MS} ms`)
  }

  thaw(): Promise<void> {
    this.#unfreeze()
    return Promise.resolve()
  }

  /** What was asked for before it, and has not begun, does not begin any more. */
  stop(ladder: Ladder): Promise<StopResult> {
    this.#stops += 1
    this.#wakeWaiting()
    return climb(this.#rungs(), ladder)
  }

  async dispose(): Promise<StopResult> {
    this.#closed = true
    this.#wakeWaiting()
    const result = await climb(this.#rungs(), { signal: 'SIGKILL', graceMs: 0 })
    if (result.outcome === 'survived') return result
    for (const program of this.#programs) program.release()
    this.#last = this.measure('none')
    this.#programs.clear()
    const removed = await until(() => this.#cage.remove(), REMOVE_MS, { ...this.#cage.waiting, watch: () => () => {} })
    if (!removed) return { outcome: 'survived', survivors: this.#cage.members() }
    this.#disposed(this)
    return result
  }

  // A long life has many programs: those that are over are let go of at the next start.
  #own(program: OwnedProgram): Program {
    for (const earlier of this.#programs) {
      if (!earlier.released) continue
      this.#outputBytes += earlier.outputBytes
      this.#programs.delete(earlier)
    }
    this.#programs.add(program)
    this.#cage.hears(program.handle, [program.stdout, program.stderr])
    program.onEnd(() => this.#cage.ended(program.handle))
    return program
  }

  #unfreeze(): void {
    if (!this.#frozen) return
    this.#frozen = false
    if (this.#used) this.#cage.thaw()
    this.#wakeWaiting()
  }

  #wakeWaiting(): void {
    this.#thawed.resolve()
    this.#thawed = Promise.withResolvers()
  }

  #assertOpen(stops = this.#stops): void {
    if (this.#closed || stops !== this.#stops) throw new KernelError('NOT_FOUND', 'The process has ended: nothing more is started for it')
  }

  #programsEnded(): boolean {
    return [...this.#programs].every((program) => program.ended)
  }

  // A program may have been spawned and not have entered the cage yet: it counts, and is signalled, by its own handle.
  #rungs(): Rungs {
    const cage = this.#cage
    return {
      isEmpty: () => !this.#used || (this.#programsEnded() && cage.isEmpty()),
      programsEnded: () => this.#programsEnded(),
      askPrograms: (signal) => {
        for (const program of this.#programs) program.signal(signal)
        this.#unfreeze()
        for (const program of this.#programs) program.signal('SIGCONT')
      },
      askMembers: (signal) => cage.signalMembers(signal),
      kill: () => {
        cage.kill()
        for (const program of this.#programs) program.signal('SIGKILL')
      },
      members: () => cage.members(),
      waiting: this.#waiting(),
    }
  }

  // The ends of our own programs wake us. Only if others live on is there anything else to watch.
  #waiting(): Rungs['waiting'] {
    const cage = this.#cage
    return {
      pollMs: cage.waiting.pollMs,
      watch: (wake) => {
        const stops = new Set<() => void>()
        let isOver = false
        const look = () => {
          if (isOver) return
          if (!cage.isEmpty()) stops.add(cage.waiting.watch(wake))
          wake()
        }
        const lookAtEnd = () => { if (this.#programsEnded()) cage.look(look) }
        for (const program of this.#programs) if (!program.ended) stops.add(program.onEnd(lookAtEnd))
        lookAtEnd()
        return () => {
          isOver = true
          for (const stop of stops) stop()
        }
      },
    }
  }
}

function startedBy([first, ...more]: readonly string[], argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
  return first === undefined ? argv : [first, ...more, ...argv]
}
