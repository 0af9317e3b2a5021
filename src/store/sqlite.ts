// The store on one SQLite file: opens it, connects its parts and translates every failure into a code of the error table. Commits
// and reads are asynchronous only in their signature. Each finishes within one turn of the event loop, so that a reader never sees
// half a commit. Test: test/tables/store/store.test.ts, test/properties/store.test.ts, test/processes/daemon/store-faults.test.ts.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { FactMark, PageFilter, StoredFact } from '../kernel/model/facts.ts'
import type { HomeBook } from '../kernel/model/home.ts'
import type { Process } from '../kernel/model/process.ts'
import { readCollectable, readSize } from './collectable.ts'
import { Writer } from './write/writer.ts'
import { explainWrite, storeError } from './errors.ts'
import { IdentityFile } from './files/identity.ts'
import { ReplacedFilesCheck } from './files/replaced-files.ts'
import { beginRun, endRun, seenUntil, trustTime, trustedTime } from './daemon-runs.ts'
import { readHomeBook } from './home-book.ts'
import { readMeta, writeMeta } from './meta.ts'
import { readAll, readFacts, readSince, readTail, skimFacts } from './journal/journal.ts'
import { checkOpening } from './files/check-opening.ts'
import { tryWrite } from './files/write-probe.ts'
import { releaseReserve, restoreReserve } from './files/reserve.ts'
import { findRow } from './rows/row-lookup.ts'
import { createIntern } from './rows/process-body.ts'
import { loadLive, readDead, readForks, readProcess } from './rows/process-row.ts'
import { findUuids } from './rows/references.ts'
import type { IndexReadDeps } from './journal/fact-index.ts'
import { Remover } from './write/remove.ts'
import { ImportedUsage, UsageLedger, readUsageRows } from './rows/usage-ledger.ts'
import { PAGE_BYTES, makeWalCheckpoint, identityOf, openDatabase, raiseCounters, growCache } from './schema.ts'
import { Stage } from './journal/staging.ts'
import { DatabaseReader } from './database-reader.ts'
import { prepareAll } from './statements.ts'
import type { Statements } from './statements.ts'
import { findStep } from './journal/step-bounds.ts'
import type {
  Collectable,
  CollectableQuery,
  Commit,
  DeadQuery,
  FactQuery,
  HomeStore,
  LoadedPage,
  UsageRowsQuery,
  UsageRow,
  Staging,
  StepBounds,
  StoreSize,
  Tombstone,
} from './store.ts'
import { findTombstone, removedForks } from './rows/tombstones.ts'
import { verifyStore } from './verify.ts'
import type { Uuid } from '../kernel/model/ids.ts'

/** The maximum number of forks of a process that are listed. */
const MAX_FORKS = 1_000

export interface StoreOptions {
  /** the state directory; created with mode 0700 if it is missing */
  readonly dir: string
  /** whether to accept a store that is empty, older or replaced, or whose WAL is damaged */
  readonly accept?: boolean
  /** writes a message about a minor problem, such as a reserve file that could not be written */
  readonly log?: (message: string) => void
}

/** Opens the store of a state directory. Errors: `READ_ONLY`, `DISK_FULL`, `STORE_LOCKED`, `STORE_DAMAGED`, `STORE_NEWER`. */
export async function openSqliteStore({ dir, accept = false, log = () => {} }: StoreOptions): Promise<HomeStore> {
  const store = guardWriting(dir, `The store in ${dir}`, () => {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const { minCounters, hasLeftoverWal } = checkOpening({ dir, accept, log })
    const db = openDatabase(join(dir, 'store.db'))
    try {
      if (hasLeftoverWal) makeWalCheckpoint(db)
      if (minCounters) raiseCounters(db, minCounters)
      return new SqliteStore(dir, db, log)
    } catch (error) {
      db.close()
      throw error
    }
  })
  await store.identity.write(false)
  if (!(await store.restoreReserve())) log(`There is no room for the reserve file in ${dir}.`)
  return store
}

class SqliteStore implements HomeStore {
  readonly identity: IdentityFile
  readonly #dir: string
  readonly #files: ReplacedFilesCheck
  readonly #log: (message: string) => void
  readonly #db: DatabaseSync
  readonly #sql: Statements
  readonly #writer: Writer
  readonly #indexDeps: IndexReadDeps
  readonly #reader: DatabaseReader
  readonly #remover: Remover
  readonly #ledger: UsageLedger

  constructor(dir: string, db: DatabaseSync, log: (message: string) => void) {
    this.#dir = dir
    this.#files = new ReplacedFilesCheck(dir)
    this.#files.check()
    this.#log = log
    this.#db = db
    this.#sql = prepareAll(db)
    this.#reader = new DatabaseReader(db, join(dir, 'store.db'))
    this.#writer = new Writer(db, this.#sql)
    this.#indexDeps = { sql: this.#sql, lineage: this.#writer.lineage }
    this.#remover = new Remover(db, this.#sql, this.#writer.heads, this.#reader)
    this.#ledger = new UsageLedger(db, this.#sql)
    this.identity = new IdentityFile({ dir, log, store: identityOf(db), counters: () => this.#writer.counters })
  }

  async commit(commit: Commit): Promise<readonly StoredFact[]> {
    return this.#write('The commit', () => this.#writer.write(commit))
  }

  async load(from = 0): Promise<LoadedPage> {
    return guard('The live processes', () => {
      const { processes, ...page } = loadLive(this.#sql, from)
      return {
        counters: this.#writer.counters,
        processes: processes.map((process) => this.#writer.heads.pendingHead(process.uuid)?.pendingProcess ?? process),
        ...page,
      }
    })
  }

  async home(): Promise<HomeBook | null> {
    return guard('The account of the home', () => readHomeBook(this.#sql))
  }

  async finishStart(): Promise<void> {
    guard('The cache', () => growCache(this.#db))
  }

  async process(uuid: Uuid): Promise<Process | undefined> {
    return guard(`Process ${uuid}`, () => {
      const pending = this.#writer.heads.pendingHead(uuid)?.pendingProcess
      const row = pending === undefined ? findRow(this.#sql, uuid) : undefined
      return row === undefined ? pending : readProcess(this.#sql, row, createIntern())
    })
  }

  async dead(query: DeadQuery): Promise<readonly Process[]> {
    return guard('The ended processes', () => readDead(this.#sql, query))
  }

  async find(ref: string): Promise<readonly Uuid[]> {
    return guard(`The reference ${ref}`, () => findUuids(this.#sql, ref))
  }

  async facts(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]> {
    return guard(`The facts of ${uuid}`, () => {
      const ownFacts = this.#indexDeps.lineage.find(uuid)
      return ownFacts === undefined ? [] : readFacts(this.#indexDeps, ownFacts, afterSeq, limit)
    })
  }

  async filteredFacts(uuid: Uuid, afterSeq: number, limit: number, filter: PageFilter): Promise<readonly (StoredFact | FactMark)[]> {
    return guard(`The facts of ${uuid}`, () => {
      const ownFacts = this.#indexDeps.lineage.find(uuid)
      return ownFacts === undefined ? [] : skimFacts(this.#indexDeps, ownFacts, { afterSeq, limit }, filter)
    })
  }

  async tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq = Infinity): Promise<readonly StoredFact[]> {
    return guard(`The last facts of ${uuid}`, () => {
      const ownFacts = this.#indexDeps.lineage.find(uuid)
      return ownFacts === undefined ? [] : readTail(this.#indexDeps, ownFacts, { limit, types, beforeSeq })
    })
  }

  async since({ afterCursor, limit, uuid }: FactQuery): Promise<readonly StoredFact[]> {
    return guard(`The facts after ${afterCursor}`, () => {
      if (uuid === undefined) return readAll(this.#sql, afterCursor, limit)
      const ownFacts = this.#indexDeps.lineage.find(uuid)
      return ownFacts === undefined ? [] : readSince(this.#indexDeps, ownFacts, afterCursor, limit)
    })
  }

  async stepBounds(uuid: Uuid, step: number): Promise<StepBounds | null> {
    return guard(`Step ${step} of ${uuid}`, () => {
      const ownFacts = this.#indexDeps.lineage.find(uuid)
      return ownFacts === undefined ? null : findStep(this.#indexDeps, ownFacts, step)
    })
  }

  async forks(uuid: Uuid): Promise<readonly Process[]> {
    return guard(`The forks of ${uuid}`, () =>
      readForks(this.#sql, uuid, MAX_FORKS, (fork) => this.#writer.heads.pendingHead(fork)?.pendingProcess),
    )
  }

  async removedForks(uuid: Uuid): Promise<readonly Tombstone[]> {
    return guard(`The removed forks of ${uuid}`, () => removedForks(this.#sql, uuid, MAX_FORKS))
  }

  async collectable(query: CollectableQuery): Promise<readonly Collectable[]> {
    return guard('The collectable processes', () => readCollectable(this.#indexDeps, query))
  }

  async size(): Promise<StoreSize> {
    return guard('The size of the store', () => readSize(this.#sql, PAGE_BYTES))
  }

  async updateUsageLedger(): Promise<boolean> {
    return this.#write('The usage ledger', () => this.#ledger.catchUp(this.#writer.counters.cursor))
  }

  async usageRows(query: UsageRowsQuery): Promise<readonly UsageRow[]> {
    return guard('The usage ledger', () => readUsageRows(this.#sql, query))
  }

  async countUnownedUsage(): Promise<number> {
    return guard('The usage ledger', () => Number(this.#sql.unownedUsage.get()?.['n']))
  }

  async remove(uuid: Uuid, at: number): Promise<boolean> {
    return this.#write(`The removal of ${uuid}`, () => {
      while (this.#ledger.catchUp(this.#writer.counters.cursor));
      return this.#remover.remove(uuid, at)
    })
  }

  stage(): Staging {
    const stage = new Stage({
      sql: this.#sql,
      writer: this.#writer,
      remover: this.#remover,
      importedUsage: new ImportedUsage(this.#ledger),
    })
    return {
      add: async (facts) => {
        this.#files.check()
        return guardAsync('A batch of an import', stage.add(facts))
      },
      publish: async (process) => {
        this.#files.check()
        const counters = await guardAsync(`The import of ${process.uuid}`, stage.publish(process))
        this.identity.scheduleWrite()
        return counters
      },
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    }
  }

  async sweep(): Promise<boolean> {
    return this.#write('The sweep of removed processes', () => this.#remover.sweep())
  }

  async tombstone(ref: string): Promise<Tombstone | undefined> {
    return guard(`The reference ${ref}`, () => findTombstone(this.#sql, ref))
  }

  async seenUntil(at: number): Promise<number> {
    return this.#write('The time up to which ends count as seen', () => seenUntil(this.#db, at))
  }

  async beginRun(at: number): Promise<readonly number[]> {
    return this.#write('The start of the daemon', () => beginRun(this.#db, at))
  }

  async trustedTime(): Promise<number | null> {
    return guard('The last trusted time', () => trustedTime(this.#db))
  }

  async trustTime(at: number): Promise<void> {
    this.#write('The trusted time', () => trustTime(this.#db, at))
  }

  async notifiedUpTo(channel: string): Promise<number | null> {
    return guard('The position of the notifications', () => readMeta(this.#db, notifiedKey(channel)))
  }

  async setNotifiedUpTo(channel: string, cursor: number): Promise<void> {
    this.#write('The position of the notifications', () => writeMeta(this.#db, [[notifiedKey(channel), cursor]]))
  }

  async endRun(): Promise<void> {
    this.#write('The end of the daemon', () => endRun(this.#db))
  }

  async releaseReserve(): Promise<boolean> {
    return releaseReserve(this.#dir).catch((error: unknown) => {
      throw storeError(error, 'The reserve')
    })
  }

  async restoreReserve(): Promise<boolean> {
    return restoreReserve(this.#dir).catch((error: unknown) => {
      throw storeError(error, 'The reserve')
    })
  }

  async verify(): Promise<readonly string[]> {
    return verifyStore(this.#indexDeps, this.#reader, () => this.#writer.heads.pendingHeads())
  }

  /** Runs a write and then schedules the write of the identity file, because the counters may have grown. */
  #write<T>(operation: string, work: () => T): T {
    try {
      this.#files.check()
      return guardWriting(this.#dir, operation, work)
    } finally {
      this.identity.scheduleWrite()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.isOpen) return
    try {
      this.#writer.writePendingRows()
    } catch (error) {
      this.#log(`Some process rows are out of date until the next start: ${storeError(error, 'closing').message}`)
    } finally {
      this.identity.stop()
      this.#db.close()
    }
    try {
      const aside = this.#files.moveLogAside()
      if (aside !== null) this.#log(`The write-ahead log of the replaced store was moved to ${aside}.`)
    } catch (error) {
      this.#log(`The write-ahead log of a replaced store is still at its place: ${(error as Error).message}`)
    }
    await this.identity.write(true)
  }
}

function guardAsync<T>(operation: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw storeError(error, operation)
  })
}

/** Like `guard`, but a failed write is reported with the error that the system gives for a test write. */
function guardWriting<T>(dir: string, operation: string, work: () => T): T {
  try {
    return guard(operation, work)
  } catch (error) {
    throw explainWrite(error, () => tryWrite(dir))
  }
}

/** Runs `work`; any error becomes a `KernelError` that names the operation. */
function guard<T>(operation: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeError(error, operation)
  }
}

/** Returns the name in `meta` of a channel's position. The prefix is part of the format on disk. */
function notifiedKey(channel: string): string {
  return ['told', channel].join(' ')
}
