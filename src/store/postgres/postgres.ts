// The store on PostgreSQL: opens it, which takes it over from the daemon before, and connects its parts. Writes go through one fenced
// connection, one after the other. Reads have other connections, and see nothing of a write that is in flight.
// Tests: test/properties/store.test.ts, test/processes/postgres/store-ends.test.ts.
import { randomUUID } from 'node:crypto'
import type { FactMark, PageFilter, StoredFact } from '../../kernel/model/facts.ts'
import type { HomeBook } from '../../kernel/model/home.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Durability } from '../../kernel/model/words.ts'
import type { FactSpan } from '../journal/lineage.ts'
import type {
  Collectable,
  CollectableQuery,
  Commit,
  DeadQuery,
  FactQuery,
  LoadedPage,
  Staging,
  StepBounds,
  Store,
  StoreSize,
  Tombstone,
  UsageRow,
  UsageRowsQuery,
} from '../store.ts'
import { readCollectable, readSize } from './collectable.ts'
import { PostgresConnection, Readers, checkUrl, describeUrl } from './connection.ts'
import { postgresError } from './errors.ts'
import { findStep, readAllFacts, readFacts, readSince, readTail, skimFacts } from './facts.ts'
import { Fence } from './fence.ts'
import { PostgresLedger, StagedUsage, countUnownedUsage, readUsageRows } from './ledger.ts'
import { findTombstone, findUuids, loadLive, readDead, readForks, readProcesses, readRemovedForks } from './processes.ts'
import { PostgresRemover } from './removal.ts'
import { takeOver } from './schema.ts'
import { checkServer, readServerFacts } from './server-check.ts'
import type { ServerFacts } from './server-check.ts'
import { notifiedSetting, putSettings, readHome, readNotified } from './settings.ts'
import { PostgresStage } from './stage.ts'
import { PostgresVerifier } from './verify.ts'
import { PostgresWriter } from './writer.ts'

export { describeUrl }

export interface PostgresStoreOptions {
  /** the URL of the database; it may have a password */
  readonly url: string
  /** default: `replicated` */
  readonly durability?: Durability
  /** writes a message about a connection that was lost */
  readonly log?: (message: string) => void
}

/** How a store on PostgreSQL does at present, for `reeve doctor`. */
export interface EngineReport {
  /** the server and the database, without a password */
  readonly address: string
  readonly server: ServerFacts
  readonly durability: Durability
  /** the time in ms of one write that changes nothing */
  readonly commitMs: number
}

export interface PostgresStore extends Store {
  /** Checks all rows. Returns one line per finding; none if the store is undamaged. */
  verify(): Promise<readonly string[]>
  /** Measures one write. Errors: those of a commit. */
  report(): Promise<EngineReport>
}

/**
 * Opens the store and takes it over: the daemon before, if it still runs, writes nothing from then on. Errors: `INVALID` for the URL,
 * `STORE_UNREACHABLE`, `STORE_UNSUITABLE`, `STORE_NEWER`, `STORE_DAMAGED`.
 */
export async function openPostgresStore({ url, durability = 'replicated', log = () => {} }: PostgresStoreOptions): Promise<PostgresStore> {
  checkUrl(url)
  const nonce = randomUUID()
  const connect = (): Promise<PostgresConnection> => openChecked(url, durability)
  const connection = await connect()
  try {
    const shard = await takeOver(connection, nonce)
    const fence = new Fence({ connect, log }, connection, shard)
    const writer = new PostgresWriter(fence, shard)
    await writer.rebuildRows()
    return new ServerStore({ url, durability, log, writer })
  } catch (error) {
    await connection.close()
    throw postgresError(error, `The store in ${describeUrl(url)}`)
  }
}

/** Opens a connection for writes to a server that may have the store. */
async function openChecked(url: string, durability: Durability): Promise<PostgresConnection> {
  const connection = await PostgresConnection.open(url, 'reeve')
  try {
    checkServer(await readServerFacts(connection), durability)
    return connection
  } catch (error) {
    await connection.close()
    throw postgresError(error, `The database ${describeUrl(url)}`)
  }
}

interface ServerStoreDeps extends Required<PostgresStoreOptions> {
  readonly writer: PostgresWriter
}

class ServerStore implements PostgresStore {
  readonly #deps: ServerStoreDeps
  readonly #writer: PostgresWriter
  readonly #readers: Readers
  readonly #ledger: PostgresLedger
  readonly #remover: PostgresRemover
  #isClosed = false

  constructor(deps: ServerStoreDeps) {
    this.#deps = deps
    this.#writer = deps.writer
    this.#readers = new Readers(deps.url, 'reeve reader')
    this.#ledger = new PostgresLedger(this.#writer)
    this.#remover = new PostgresRemover(this.#writer)
  }

  commit(commit: Commit): Promise<readonly StoredFact[]> {
    return this.#guard('The commit', this.#writer.write(commit))
  }

  async load(from = 0): Promise<LoadedPage> {
    const { processes, ...page } = await this.#guard('The live processes', loadLive(this.#readers, from))
    return { counters: this.#writer.counters, processes: processes.map((process) => this.#current(process)), ...page }
  }

  home(): Promise<HomeBook | null> {
    return this.#guard('The account of the home', readHome(this.#readers))
  }

  async process(uuid: Uuid): Promise<Process | undefined> {
    const pending = this.#writer.heads.pendingHead(uuid)?.pendingProcess
    return pending ?? (await this.#guard(`Process ${uuid}`, readProcesses(this.#readers, [uuid])))[0]
  }

  dead(query: DeadQuery): Promise<readonly Process[]> {
    return this.#guard('The ended processes', readDead(this.#readers, query))
  }

  find(ref: string): Promise<readonly Uuid[]> {
    return this.#guard(`The reference ${ref}`, findUuids(this.#readers, ref))
  }

  facts(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]> {
    return this.#readJournal(uuid, [], (span) => readFacts(this.#readers, span, { afterSeq, limit }))
  }

  filteredFacts(uuid: Uuid, afterSeq: number, limit: number, filter: PageFilter): Promise<readonly (StoredFact | FactMark)[]> {
    return this.#readJournal<readonly (StoredFact | FactMark)[]>(uuid, [], (span) =>
      skimFacts(this.#readers, span, { afterSeq, limit }, filter),
    )
  }

  tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq = Infinity): Promise<readonly StoredFact[]> {
    return this.#readJournal(uuid, [], (span) => readTail(this.#readers, span, { limit, types, beforeSeq }))
  }

  since({ afterCursor, limit, uuid }: FactQuery): Promise<readonly StoredFact[]> {
    if (uuid !== undefined) return this.#readJournal(uuid, [], (span) => readSince(this.#readers, span, afterCursor, limit))
    const query = { afterCursor, upTo: this.#writer.counters.cursor, limit }
    return this.#guard(`The facts after ${afterCursor}`, readAllFacts(this.#readers, query))
  }

  stepBounds(uuid: Uuid, step: number): Promise<StepBounds | null> {
    return this.#readJournal<StepBounds | null>(uuid, null, (span) => findStep(this.#readers, span, step))
  }

  async forks(uuid: Uuid): Promise<readonly Process[]> {
    const forks = await this.#guard(`The forks of ${uuid}`, readForks(this.#readers, uuid))
    return forks.map((process) => this.#current(process))
  }

  removedForks(uuid: Uuid): Promise<readonly Tombstone[]> {
    return this.#guard(`The removed forks of ${uuid}`, readRemovedForks(this.#readers, uuid))
  }

  collectable(query: CollectableQuery): Promise<readonly Collectable[]> {
    return this.#guard('The collectable processes', readCollectable(this.#readers, query))
  }

  size(): Promise<StoreSize> {
    return this.#guard('The size of the store', readSize(this.#readers))
  }

  updateUsageLedger(): Promise<boolean> {
    return this.#write('The usage ledger', () => this.#ledger.catchUp())
  }

  usageRows(query: UsageRowsQuery): Promise<readonly UsageRow[]> {
    return this.#guard('The usage ledger', readUsageRows(this.#readers, query))
  }

  countUnownedUsage(): Promise<number> {
    return this.#guard('The usage ledger', countUnownedUsage(this.#readers))
  }

  remove(uuid: Uuid, at: number): Promise<boolean> {
    return this.#write(`The removal of ${uuid}`, async () => {
      while (await this.#ledger.catchUp());
      return this.#remover.remove(uuid, at)
    })
  }

  stage(): Staging {
    const stage = new PostgresStage({ writer: this.#writer, remover: this.#remover, usage: new StagedUsage(this.#ledger) })
    return {
      add: (facts) => this.#guard('A batch of an import', stage.add(facts)),
      publish: (process) => this.#guard(`The import of ${process.uuid}`, stage.publish(process)),
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    }
  }

  sweep(): Promise<boolean> {
    return this.#write('The sweep of removed processes', () => this.#remover.sweep())
  }

  tombstone(ref: string): Promise<Tombstone | undefined> {
    return this.#guard(`The reference ${ref}`, findTombstone(this.#readers, ref))
  }

  notifiedUpTo(channel: string): Promise<number | null> {
    return this.#guard('The position of the notifications', readNotified(this.#readers, channel))
  }

  async setNotifiedUpTo(channel: string, cursor: number): Promise<void> {
    await this.#write('The position of the notifications', async () => {
      const [statement, values] = putSettings(4, [notifiedSetting(channel, cursor)])
      await this.#writer.fence.write('The position of the notifications', { statements: [statement], values })
    })
  }

  /** All versions of this engine record which ends were seen. */
  async seenUntil(): Promise<number> {
    return 0
  }

  verify(): Promise<readonly string[]> {
    return this.#guard('The check', new PostgresVerifier(this.#readers, this.#writer.journals).verify())
  }

  report(): Promise<EngineReport> {
    const { url, durability } = this.#deps
    return this.#write('The report', async () => {
      const server = await readServerFacts({ query: (statement) => this.#writer.fence.read('The report', statement) })
      const started = performance.now()
      await this.#writer.fence.write('The report', { values: [] })
      return { address: describeUrl(url), server, durability, commitMs: performance.now() - started }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      await this.#writer.writePendingRows()
    } catch (error) {
      this.#deps.log(`Some process rows are out of date until the next start: ${postgresError(error, 'closing').message}`)
    }
    await this.#writer.fence.close()
    await this.#readers[Symbol.asyncDispose]()
  }

  /** Returns the process as of the last commit, if its row is out of date. */
  #current(process: Process): Process {
    return this.#writer.heads.pendingHead(process.uuid)?.pendingProcess ?? process
  }

  #readJournal<T>(uuid: Uuid, none: T, read: (ownFacts: FactSpan) => Promise<T>): Promise<T> {
    const readSpan = async (): Promise<T> => {
      const span = await this.#writer.journals.find(this.#readers, uuid)
      if (span === undefined) return none
      try {
        return await read(span)
      } catch (error) {
        // Facts of a process that was removed meanwhile are missing, which is no damage.
        if ((await this.#writer.journals.find(this.#readers, uuid)) === undefined) return none
        throw error
      }
    }
    return this.#guard(`The facts of ${uuid}`, readSpan())
  }

  #write<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.#guard(operation, this.#writer.fence.inTurn(work))
  }

  /** Any error becomes a `KernelError` that names the operation. */
  async #guard<T>(operation: string, work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw postgresError(error, operation)
    }
  }
}
