// Imports a directory that `reeve export` has made, as a process with the same UUID and all its facts. The facts are read from
// events.jsonl. Each line is checked against its checksum and against the lines before it. Facts are written to the store in pieces, and
// become visible with the last piece, so that a crash leaves nothing.
// An incomplete last line, and a missing or too long checkpoint.json, only cause a warning. Any other damage is refused with its location.
// Tests: test/e2e/daemon/archive.test.ts, test/processes/daemon/archive-killed.test.ts.
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { fold } from '../../kernel/state/fold.ts'
import { closingFactsOf } from '../../kernel/state/imported-process.ts'
import { NO_CONTEXT, processView } from '../views/process-view.ts'
import { factBodyProblem } from './fact-shape.ts'
import { factOf } from './event-lines.ts'
import { importDamage, readJsonObject, linesOf, JsonFileTooLarge, type Line } from './import-files.ts'
import { specProblem } from './spec-shape.ts'
import type { ImportedView } from '../../api/views/archive.ts'
import type { GcConfig } from '../../config/keys/gc.ts'
import type { Fact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Staging, Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** A piece ends with the fact that reaches one of these limits: the number of facts, or the bytes of their lines. */
const PIECE_FACTS = 64
const PIECE_BYTES = 1_048_576
/** The largest number of processes in one import. */
const MAX_PROCESSES = 10_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** The largest accepted PID: far above any real PID, and far below the end of the counter. */
const MAX_PID = 2 ** 48
/** The largest accepted distance of a time from 1970, in ms: about ten thousand years. */
const MAX_TIME_MS = 4e14
const DAY_MS = 86_400_000
/** The retention rules if the configuration is invalid: nothing is collected then. */
const NO_RULES = { retention_days: 0 }

type Imported = ImportedView['processes'][number]

export interface ImportDeps {
  readonly store: Pick<Store, 'stage'>
  readonly pipeline: Pick<Pipeline, 'runBetweenCommits'>
  readonly clock: Clock
  readonly sweeper: { sweep(): void }
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
  /** reads the retention rules */
  readonly readRetentionRules: () => Promise<GcConfig>
}

export class Importer {
  readonly #deps: ImportDeps
  /** the processes that are being imported */
  readonly #inProgress = new Set<Uuid>()

  constructor(deps: ImportDeps) {
    this.#deps = deps
  }

  /**
   * Imports one exported process, or all that a directory contains, oldest first. Each process is imported separately: after an error,
   * which names its process, the processes before it stay. Errors: `INVALID` with the location of the damage, `CONFLICT`, `UNAVAILABLE`
   * when the client has gone.
   */
  async import(dir: string, signal: AbortSignal): Promise<ImportedView> {
    const processes: Imported[] = []
    for (const processDir of await processDirsIn(dir)) processes.push(await this.#importOnce(processDir, signal))
    return { version: 1, processes }
  }

  /** Imports a process, unless it exists or is being imported. */
  async #importOnce(dir: string, signal: AbortSignal): Promise<Imported> {
    const uuid = basename(dir)
    if (this.#inProgress.has(uuid)) throw new KernelError('CONFLICT', `${uuid} is being imported`, { uuid })
    this.#inProgress.add(uuid)
    try {
      const existing = await this.#deps.find(uuid)
      if (existing)
        throw new KernelError(
          'CONFLICT',
          `process ${existing.pid} (${uuid}) already exists here`,
          { uuid },
          'This process was not imported. `reeve rm` removes the existing one.',
        )
      return await this.#importDirectory(dir, uuid, signal)
    } finally {
      this.#inProgress.delete(uuid)
    }
  }

  /** Imports a process from its directory. `uuid` is the name of the directory. */
  async #importDirectory(dir: string, uuid: Uuid, signal: AbortSignal): Promise<Imported> {
    const { store, sweeper } = this.#deps
    const info = await readInfo(dir, uuid)
    const staging = store.stage()
    try {
      const checkpointWarnings = await checkCheckpoint(dir, info)
      const journal = new JournalFile(join(dir, 'events.jsonl'), uuid, info.facts)
      for await (const piece of journal.pieces()) {
        if (signal.aborted) throw new KernelError('UNAVAILABLE', 'the client has gone')
        await this.#stageFacts(staging, piece)
      }
      await this.#checkLineage(dir, journal.process)
      const ended = await this.#addClosingFacts(staging, journal.process)
      await this.#deps.pipeline.runBetweenCommits(() => staging.publish(ended))
      const warnings = [
        ...journal.warnings,
        ...checkpointWarnings,
        ...(ended === journal.process ? [] : ['it had not ended: it is imported as interrupted, and can be resumed']),
        ...(await this.#expiryWarnings(ended)),
      ]
      return { uuid, pid: ended.pid, name: ended.spec.name, facts: ended.seq, dir, warnings }
    } finally {
      await staging[Symbol.asyncDispose]()
      sweeper.sweep()
    }
  }

  /** Checks that a process is not its own ancestor, because budgets are summed over all ancestors. Errors: INVALID. */
  async #checkLineage(dir: string, { uuid, parentUuid }: Process): Promise<void> {
    for (let ancestor = parentUuid; ancestor !== null; ancestor = (await this.#deps.find(ancestor))?.parentUuid ?? null) {
      if (ancestor === uuid) throw importDamage(join(dir, 'events.jsonl'), 'it is its own ancestor')
    }
  }

  /** Returns a warning if the next collection would remove the process. */
  async #expiryWarnings({ pinned, clock: { exitedAt } }: Process): Promise<string[]> {
    const days = (this.#deps.clock.now().wall - (exitedAt ?? Infinity)) / DAY_MS
    // With an invalid configuration nothing is collected.
    const { retention_days: retentionDays } = await this.#deps.readRetentionRules().catch(() => NO_RULES)
    return !pinned && retentionDays > 0 && days > retentionDays
      ? [`it ended ${Math.floor(days)} days ago, so the next collection removes it, unless it is pinned (\`reeve pin\`)`]
      : []
  }

  /** Writes facts to the staging area of the store. */
  #stageFacts(staging: Staging, facts: readonly Fact[]): Promise<void> {
    return this.#deps.pipeline.runBetweenCommits(() => staging.add(facts))
  }

  /** Adds the facts that end a process which was exported while it was living: its programs do not run here. Returns its last state. */
  async #addClosingFacts(staging: Staging, process: Process): Promise<Process> {
    const at = this.#deps.clock.now().wall
    let last = process
    const facts = closingFactsOf(process).map((body): Fact => {
      const fact = { uuid: last.uuid, seq: last.seq + 1, pid: last.pid, at, body }
      last = fold(last, fact)
      return fact
    })
    if (facts.length > 0) await this.#stageFacts(staging, facts)
    return last
  }
}

/** Finds the directories of exported processes. UUIDs sort by time, so an origin comes before its forks. Errors: INVALID. */
async function processDirsIn(dir: string): Promise<string[]> {
  if (UUID.test(basename(dir))) return [dir]
  for (const parent of [join(dir, 'steps'), dir]) {
    const names = (await namesIn(parent)).filter((name) => UUID.test(name)).toSorted()
    if (names.length > MAX_PROCESSES)
      throw new KernelError('INVALID', `${parent} has ${names.length} processes; ${MAX_PROCESSES} can be imported at a time`)
    if (names.length > 0) return names.map((name) => join(parent, name))
  }
  throw new KernelError('INVALID', `${dir} has no steps/UUID in it`, { dir }, 'Name a directory that `reeve export` made.')
}

async function namesIn(dir: string): Promise<string[]> {
  // The caller reports a missing or empty directory.
  return readdir(dir).catch(() => [])
}

/** What proc-info.json must contain for an import. */
interface ExportInfo {
  /** the number of facts in events.jsonl */
  readonly facts: number
  readonly hasCheckpoint: boolean
}

/** Reads and checks proc-info.json. Errors: INVALID. */
async function readInfo(dir: string, uuid: Uuid): Promise<ExportInfo> {
  const file = join(dir, 'proc-info.json')
  const info = await readJsonObject(file)
  if (info === null) throw importDamage(file, 'it is missing')
  const { version, uuid: named, facts, checkpoint } = info
  if (version !== 1) throw importDamage(file, `its version is ${String(version)}, and this version of reeve knows 1`)
  if (named !== uuid) throw importDamage(file, `it belongs to ${String(named)}, but its directory to ${uuid}`)
  if (!Number.isSafeInteger(facts) || Number(facts) < 1) throw importDamage(file, 'it has no number of facts')
  return { facts: Number(facts), hasCheckpoint: checkpoint !== null && checkpoint !== undefined }
}

/**
 * Returns a warning if checkpoint.json is missing or too long: the journal has the same data. Errors: INVALID if it is not a JSON object.
 */
async function checkCheckpoint(dir: string, { hasCheckpoint }: ExportInfo): Promise<string[]> {
  try {
    const checkpoint = await readJsonObject(join(dir, 'checkpoint.json'))
    return hasCheckpoint && checkpoint === null ? ['checkpoint.json is missing; the journal has the same data'] : []
  } catch (error) {
    // A valid file may be too long: it contains the whole context, with images.
    if (error instanceof JsonFileTooLarge) return ['checkpoint.json is too long to be checked; the journal has the same data']
    throw error
  }
}

/** Reads events.jsonl, and checks that each fact may follow the facts before it. */
class JournalFile {
  readonly #file: string
  readonly #uuid: Uuid
  readonly #expectedFacts: number
  readonly warnings: string[] = []
  #last: Process | undefined

  constructor(file: string, uuid: Uuid, expected: number) {
    this.#file = file
    this.#uuid = uuid
    this.#expectedFacts = expected
  }

  /** The state after the last fact that was read. Errors: INVALID if there is none. */
  get process(): Process {
    if (this.#last === undefined) throw importDamage(this.#file, 'it has no facts')
    return this.#last
  }

  /** Yields the facts in pieces. Errors: INVALID with the location of the damage. */
  async *pieces(): AsyncGenerator<readonly Fact[]> {
    let piece: Fact[] = []
    let bytes = 0
    let isTorn = false
    let end: Pick<Line, 'number' | 'offset'> = { number: 1, offset: 0 }
    for await (const line of linesOf(this.#file)) {
      end = line
      isTorn = line.isTorn
      if (isTorn && typeof factOf(line.bytes) === 'string') break
      piece.push(this.#parseFact(line))
      bytes += line.bytes.length
      if (piece.length < PIECE_FACTS && bytes < PIECE_BYTES) continue
      yield piece
      piece = []
      bytes = 0
    }
    this.#checkEnd(isTorn, end)
    if (piece.length > 0) yield piece
  }

  #parseFact(line: Line): Fact {
    const fact = factOf(line.bytes)
    if (typeof fact === 'string') throw importDamage(this.#file, fact, line)
    if (fact.pid > MAX_PID || !UUID.test(fact.uuid)) throw importDamage(this.#file, 'its PID or UUID is not valid', line)
    if (Math.abs(fact.at) > MAX_TIME_MS) throw importDamage(this.#file, 'its time is not plausible', line)
    if (fact.seq !== (this.#last?.seq ?? 0) + 1)
      throw importDamage(this.#file, `fact ${fact.seq} cannot follow ${this.#last?.seq ?? 0}`, line)
    if (this.#last && fact.uuid !== this.#last.uuid && fact.body.type !== 'process.forked')
      throw importDamage(this.#file, `a fact of ${fact.uuid} cannot follow one of ${this.#last.uuid}`, line)
    if (fact.seq > this.#expectedFacts)
      throw importDamage(this.#file, `the file has a fact ${fact.seq}, but proc-info.json counts ${this.#expectedFacts}`, line)
    const problem = factBodyProblem(fact.body) ?? ('spec' in fact.body && fact.body.spec !== undefined ? specProblem(fact.body.spec) : null)
    if (problem !== null) throw importDamage(this.#file, problem, line)
    try {
      this.#last = fold(this.#last, fact)
    } catch (error) {
      throw importDamage(this.#file, `it cannot follow the one before it: ${(error as Error).message}`, line)
    }
    return fact
  }

  /** Checks that the file is complete, and that the process can be shown. An incomplete last line is a warning. */
  #checkEnd(isTorn: boolean, end: Pick<Line, 'number' | 'offset'>): void {
    const { process } = this
    const missing = this.#expectedFacts - process.seq
    if (isTorn)
      this.warnings.push(
        `events.jsonl ends in the middle of line ${end.number} (byte ${end.offset})${missing === 0 ? '' : `: the last ${missing === 1 ? 'fact is' : `${missing} facts are`} lost`}`,
      )
    if (!isTorn && missing > 0)
      throw importDamage(this.#file, `it ends with fact ${process.seq}, but proc-info.json counts ${this.#expectedFacts}`, end)
    if (process.uuid !== this.#uuid)
      throw importDamage(this.#file, `its facts belong to ${process.uuid}, but its directory to ${this.#uuid}`, end)
    // A process that cannot be shown would make lists fail.
    try {
      processView(process, NO_CONTEXT, 0)
    } catch (error) {
      throw importDamage(this.#file, `the process cannot be shown: ${(error as Error).message}`, end)
    }
  }
}
