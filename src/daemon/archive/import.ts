// Import: a directory that `reeve export` made becomes a process again, with the same UUID and all of its facts. events.jsonl
// is the truth: each line is held against its checksum and against those before it. It goes into the store in pieces that
// nobody sees before the last one, so that a crash in the middle leaves nothing.
// A torn last line and a missing checkpoint.json are helped with a warning; any other damage is refused with its place.
// Tests: test/e2e/archive.test.ts, test/processes/archive-killed.test.ts.
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import { fold } from '../../kernel/fold.ts'
import { endOfImported } from '../../kernel/importing.ts'
import { ALONE, processView } from '../views.ts'
import { bodyProblem } from './body-shape.ts'
import { factOf } from './event-lines.ts'
import { damage, jsonOf, linesOf, TooLong, type Line } from './reading.ts'
import { specProblem } from './spec-shape.ts'
import type { ImportedView } from '../../api/history-views.ts'
import type { GcConfig } from '../../config/gc.ts'
import type { Fact } from '../../kernel/facts.ts'
import type { Process, Uuid } from '../../kernel/types.ts'
import type { Staging, Store } from '../../store/store.ts'
import type { Clock } from '../clock.ts'
import type { Pipeline } from '../pipeline.ts'

/** Facts, and bytes of their lines, that one transaction takes at most (a single longer line is one by itself). */
const PIECE_FACTS = 64
const PIECE_BYTES = 1_048_576
/** Processes that one import takes at most. */
const MAX_PROCESSES = 10_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** No PID of any machine comes near it; those above would use up the counter. */
const MAX_PID = 2 ** 48
/** Wall times in ms that a clock may have shown, some ten thousand years to either side. */
const MAX_AT = 4e14
const DAY_MS = 86_400_000
/** With a configuration that cannot be read nothing is collected. */
const NO_RULES = { retention_days: 0 }

type Imported = ImportedView['processes'][number]

export interface ImportParts {
  readonly store: Pick<Store, 'stage'>
  readonly pipeline: Pick<Pipeline, 'between'>
  readonly clock: Clock
  readonly sweeper: { sweep(): void }
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
  /** what is kept of the ended */
  readonly gc: () => Promise<GcConfig>
}

export class Importer {
  readonly #parts: ImportParts
  readonly #busy = new Set<Uuid>()

  constructor(parts: ImportParts) {
    this.#parts = parts
  }

  /**
   * One steps/UUID, or each that is in a directory or in its `steps`, the oldest first. Of several each is there as soon as it is whole:
   * an error names the one that it is about, and those before it stay. Errors: `INVALID` with the place of the damage, `CONFLICT`.
   */
  async import(dir: string, signal: AbortSignal): Promise<ImportedView> {
    const processes: Imported[] = []
    for (const each of await foldersOf(dir)) processes.push(await this.#alone(each, signal))
    return { version: 1, processes }
  }

  async #alone(dir: string, signal: AbortSignal): Promise<Imported> {
    const uuid = basename(dir)
    if (this.#busy.has(uuid)) throw new KernelError('CONFLICT', `${uuid} is being imported`, { uuid })
    this.#busy.add(uuid)
    try {
      const here = await this.#parts.find(uuid)
      if (here) throw new KernelError('CONFLICT', `process ${here.pid} (${uuid}) is here already`, { uuid }, 'Nothing was imported. `reeve rm` removes the one that is here.')
      return await this.#one(dir, uuid, signal)
    } finally {
      this.#busy.delete(uuid)
    }
  }

  async #one(dir: string, uuid: Uuid, signal: AbortSignal): Promise<Imported> {
    const { store, sweeper } = this.#parts
    const info = await infoOf(dir, uuid)
    const staging = store.stage()
    try {
      const checkpoint = await checkpointWarnings(dir, info)
      const journal = new Journal(join(dir, 'events.jsonl'), uuid, info.facts)
      for await (const piece of journal.pieces()) {
        if (signal.aborted) throw new KernelError('UNAVAILABLE', 'whoever asked for it is gone')
        await this.#add(staging, piece)
      }
      await this.#checkLineage(dir, journal.process)
      const ended = await this.#end(staging, journal.process)
      await this.#publish(staging, ended, journal.lastPid)
      const warnings = [...journal.warnings, ...checkpoint, ...(ended === journal.process ? [] : ['it had not ended: here it is interrupted, and can be resumed']), ...await this.#tooOld(ended)]
      return { uuid, pid: ended.pid, name: ended.spec.name, facts: ended.seq, dir, warnings }
    } finally {
      await staging[Symbol.asyncDispose]()
      sweeper.sweep()
    }
  }

  /** Nobody is above itself: budgets are added up along the lineage. */
  async #checkLineage(dir: string, { uuid, parentUuid }: Process): Promise<void> {
    for (let above = parentUuid; above !== null; above = (await this.#parts.find(above))?.parentUuid ?? null) {
      if (above === uuid) throw damage(join(dir, 'events.jsonl'), 'it was spawned by itself, or by one below it')
    }
  }

  /** It would not stay for long. */
  async #tooOld({ pinned, clock: { exitedAt } }: Process): Promise<string[]> {
    const days = (this.#parts.clock.now().wall - (exitedAt ?? Infinity)) / DAY_MS
    const { retention_days: kept } = await this.#parts.gc().catch(() => NO_RULES)
    return !pinned && kept > 0 && days > kept ? [`it ended ${Math.floor(days)} days ago, so the next collection takes it, unless it is pinned (\`reeve pin\`)`] : []
  }

  #add(staging: Staging, facts: readonly Fact[]): Promise<void> {
    return this.#parts.pipeline.between(async ({ cursor, pid }) => {
      await staging.add(facts.map((fact, index) => ({ ...fact, cursor: cursor + index + 1 })))
      return { cursor: cursor + facts.length, pid }
    })
  }

  /** Nothing of it runs here. */
  async #end(staging: Staging, process: Process): Promise<Process> {
    const at = this.#parts.clock.now().wall
    let last = process
    const facts = endOfImported(process).map((body): Fact => {
      const fact = { uuid: last.uuid, seq: last.seq + 1, pid: last.pid, at, body }
      last = fold(last, fact)
      return fact
    })
    if (facts.length > 0) await this.#add(staging, facts)
    return last
  }

  /** None of its PIDs is given out once more. */
  #publish(staging: Staging, process: Process, lastPid: number): Promise<void> {
    return this.#parts.pipeline.between(async (counters) => {
      const pid = Math.max(counters.pid, lastPid)
      await staging.publish(process, { ...counters, pid })
      return { ...counters, pid }
    })
  }
}

/** The directories of processes: their UUIDs are times, so that what was forked comes before its forks. */
async function foldersOf(dir: string): Promise<string[]> {
  if (UUID.test(basename(dir))) return [dir]
  for (const parent of [join(dir, 'steps'), dir]) {
    const names = (await namesIn(parent)).filter((name) => UUID.test(name)).toSorted()
    if (names.length > MAX_PROCESSES) throw new KernelError('INVALID', `${parent} has ${names.length} processes; ${MAX_PROCESSES} can be imported at a time`)
    if (names.length > 0) return names.map((name) => join(parent, name))
  }
  throw new KernelError('INVALID', `${dir} has no steps/UUID in it`, { dir }, 'Name a directory that `reeve export` made.')
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => [])
}

interface Info {
  readonly facts: number
  readonly hasCheckpoint: boolean
}

async function infoOf(dir: string, uuid: Uuid): Promise<Info> {
  const file = join(dir, 'proc-info.json')
  const info = await jsonOf(file)
  if (info === null) throw damage(file, 'it is missing')
  const { version, uuid: named, facts, checkpoint } = info
  if (version !== 1) throw damage(file, `its version is ${String(version)}, and this version of reeve knows 1`)
  if (named !== uuid) throw damage(file, `it is of ${String(named)}, and the directory of ${uuid}`)
  if (!Number.isSafeInteger(facts) || Number(facts) < 1) throw damage(file, 'it does not say how many facts there are')
  return { facts: Number(facts), hasCheckpoint: checkpoint !== null && checkpoint !== undefined }
}

/** The journal names all that a checkpoint has: one that is gone is missed by people alone. */
async function checkpointWarnings(dir: string, { hasCheckpoint }: Info): Promise<string[]> {
  try {
    const checkpoint = await jsonOf(join(dir, 'checkpoint.json'))
    return hasCheckpoint && checkpoint === null ? ['checkpoint.json is missing; the journal has all that is in it'] : []
  } catch (error) {
    // An export writes what the context has, pictures too.
    if (error instanceof TooLong) return ['checkpoint.json is too long to be looked at; the journal has all that is in it']
    throw error
  }
}

/** events.jsonl, held against itself: each fact must follow the one before it. */
class Journal {
  readonly #file: string
  readonly #uuid: Uuid
  readonly #expected: number
  readonly warnings: string[] = []
  lastPid = 0
  #last: Process | undefined

  constructor(file: string, uuid: Uuid, expected: number) {
    this.#file = file
    this.#uuid = uuid
    this.#expected = expected
  }

  /** as its last fact leaves it */
  get process(): Process {
    if (this.#last === undefined) throw damage(this.#file, 'it has no facts')
    return this.#last
  }

  async *pieces(): AsyncGenerator<readonly Fact[]> {
    let piece: Fact[] = []
    let bytes = 0
    let isTorn = false
    let end: Pick<Line, 'number' | 'offset'> = { number: 1, offset: 0 }
    for await (const line of linesOf(this.#file)) {
      end = line
      isTorn = line.isTorn
      if (isTorn && typeof factOf(line.bytes) === 'string') break
      piece.push(this.#next(line))
      bytes += line.bytes.length
      if (piece.length < PIECE_FACTS && bytes < PIECE_BYTES) continue
      yield piece
      piece = []
      bytes = 0
    }
    this.#checkEnd(isTorn, end)
    if (piece.length > 0) yield piece
  }

  #next(line: Line): Fact {
    const fact = factOf(line.bytes)
    if (typeof fact === 'string') throw damage(this.#file, fact, line)
    if (fact.pid > MAX_PID || !UUID.test(fact.uuid)) throw damage(this.#file, 'it has no PID or UUID as they should be', line)
    if (Math.abs(fact.at) > MAX_AT) throw damage(this.#file, 'its time is none that a clock has shown', line)
    if (fact.seq !== (this.#last?.seq ?? 0) + 1) throw damage(this.#file, `fact ${fact.seq} cannot follow ${this.#last?.seq ?? 0}`, line)
    if (this.#last && fact.uuid !== this.#last.uuid && fact.body.type !== 'process.forked') throw damage(this.#file, `a fact of ${fact.uuid} cannot follow one of ${this.#last.uuid}`, line)
    if (fact.seq > this.#expected) throw damage(this.#file, `there is a fact ${fact.seq}, and proc-info.json says that there are ${this.#expected}`, line)
    const problem = bodyProblem(fact.body) ?? ('spec' in fact.body && fact.body.spec !== undefined ? specProblem(fact.body.spec) : null)
    if (problem !== null) throw damage(this.#file, problem, line)
    try {
      this.#last = fold(this.#last, fact)
    } catch (error) {
      throw damage(this.#file, `it cannot follow the one before it: ${(error as Error).message}`, line)
    }
    this.lastPid = Math.max(this.lastPid, fact.pid)
    return fact
  }

  #checkEnd(isTorn: boolean, end: Pick<Line, 'number' | 'offset'>): void {
    const { process } = this
    const missing = this.#expected - process.seq
    if (isTorn) this.warnings.push(`events.jsonl ends in the middle of line ${end.number} (byte ${end.offset})${missing === 0 ? '' : `: the last ${missing === 1 ? 'fact is' : `${missing} facts are`} lost`}`)
    if (!isTorn && missing > 0) throw damage(this.#file, `it ends with fact ${process.seq}, and there were ${this.#expected}`, end)
    if (process.uuid !== this.#uuid) throw damage(this.#file, `it is of ${process.uuid}, and the directory of ${this.#uuid}`, end)
    // What cannot be shown must not be in the store.
    try {
      processView(process, ALONE, 0)
    } catch (error) {
      throw damage(this.#file, `the process cannot be shown: ${(error as Error).message}`, end)
    }
  }
}
