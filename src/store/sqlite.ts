// The store on one SQLite file: opens it, holds its parts together and puts every failure into the words of the table of errors.
// Its functions are asynchronous for the callers' sake; each does its work in one look at the database, so that no reader ever
// sees half a commit. Test: test/tables/store.test.ts, test/properties/store.test.ts, test/processes/store-faults.test.ts.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { FactMark, Skim, StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import { readCollectable, readForks, readSize } from './collect.ts'
import { Writer } from './commit.ts'
import { storeError } from './errors.ts'
import { beginLife, endLife } from './lives.ts'
import { readAll, readFacts, readSince, readTail, skimFacts } from './journal.ts'
import { releaseReserve, restoreReserve } from './reserve.ts'
import { findRow } from './records.ts'
import { findUuids, loadLive, readDead, readProcess, sharing } from './rows.ts'
import type { Finder } from './places.ts'
import { Remover } from './remove.ts'
import { Intake, Spent, readSpent } from './spent.ts'
import { PAGE_BYTES, openDatabase, rememberMore } from './schema.ts'
import { Stage } from './staging.ts'
import { prepareAll } from './statements.ts'
import type { Statements } from './statements.ts'
import { findStep } from './steps.ts'
import type { Collectable, CollectableQuery, Commit, DeadQuery, FactQuery, Loaded, SpentPage, SpentRow, Staging, StepBounds, Store, StoreSize, Tombstone } from './store.ts'
import { findTombstone, removedForks } from './tombstones.ts'
import { verifyStore } from './verify.ts'

/** Forks of one process that are listed. */
const FORKS = 1_000

export interface StoreOptions {
  /** the state directory; made with mode 0700 if it is not there */
  readonly dir: string
  /** told in words what happened beside the point, such as a reserve that could not be made */
  readonly log?: (message: string) => void
}

/** Errors: `READ_ONLY`, `DISK_FULL`, `STORE_LOCKED`, `STORE_DAMAGED`, `STORE_NEWER`. */
export async function openSqliteStore({ dir, log = () => {} }: StoreOptions): Promise<Store> {
  const store = guard(`The store in ${dir}`, () => {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const db = openDatabase(join(dir, 'store.db'))
    try {
      return new SqliteStore(dir, db, log)
    } catch (error) {
      db.close()
      throw error
    }
  })
  if (!await store.restoreReserve()) log(`There is no room for the reserve file in ${dir}.`)
  return store
}

class SqliteStore implements Store {
  readonly #dir: string
  readonly #log: (message: string) => void
  readonly #db: DatabaseSync
  readonly #sql: Statements
  readonly #writer: Writer
  readonly #finder: Finder
  readonly #remover: Remover
  readonly #spent: Spent

  constructor(dir: string, db: DatabaseSync, log: (message: string) => void) {
    this.#dir = dir
    this.#log = log
    this.#db = db
    this.#sql = prepareAll(db)
    this.#writer = new Writer(db, this.#sql)
    this.#finder = { sql: this.#sql, lines: this.#writer.lines }
    this.#remover = new Remover(db, this.#sql, this.#writer.heads)
    this.#spent = new Spent(db, this.#sql)
  }

  async commit(commit: Commit): Promise<void> {
    guard('The commit', () => this.#writer.write(commit))
  }

  async load(from = 0): Promise<Loaded> {
    return guard('The live processes', () => {
      const { processes, ...page } = loadLive(this.#sql, from)
      return { counters: this.#writer.counters, processes: processes.map((process) => this.#writer.heads.late(process.uuid)?.late ?? process), ...page }
    })
  }

  async started(): Promise<void> {
    guard('The cache', () => rememberMore(this.#db))
  }

  async process(uuid: Uuid): Promise<Process | undefined> {
    return guard(`Process ${uuid}`, () => {
      const late = this.#writer.heads.late(uuid)?.late
      const row = late === undefined ? findRow(this.#sql, uuid) : undefined
      return row === undefined ? late : readProcess(this.#sql, row, sharing())
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
      const own = this.#finder.lines.find(uuid)
      return own === undefined ? [] : readFacts(this.#finder, own, afterSeq, limit)
    })
  }

  async skim(uuid: Uuid, afterSeq: number, limit: number, skim: Skim): Promise<readonly (StoredFact | FactMark)[]> {
    return guard(`The facts of ${uuid}`, () => {
      const own = this.#finder.lines.find(uuid)
      return own === undefined ? [] : skimFacts(this.#finder, own, { afterSeq, limit }, skim)
    })
  }

  async tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq = Infinity): Promise<readonly StoredFact[]> {
    return guard(`The last facts of ${uuid}`, () => {
      const own = this.#finder.lines.find(uuid)
      return own === undefined ? [] : readTail(this.#finder, own, { limit, types, beforeSeq })
    })
  }

  async since({ afterCursor, limit, uuid }: FactQuery): Promise<readonly StoredFact[]> {
    return guard(`The facts after ${afterCursor}`, () => {
      if (uuid === undefined) return readAll(this.#sql, afterCursor, limit)
      const own = this.#finder.lines.find(uuid)
      return own === undefined ? [] : readSince(this.#finder, own, afterCursor, limit)
    })
  }

  async stepBounds(uuid: Uuid, step: number): Promise<StepBounds | null> {
    return guard(`Step ${step} of ${uuid}`, () => {
      const own = this.#finder.lines.find(uuid)
      return own === undefined ? null : findStep(this.#finder, own, step)
    })
  }

  async forks(uuid: Uuid): Promise<readonly Process[]> {
    return guard(`The forks of ${uuid}`, () => readForks(this.#sql, uuid, FORKS, (fork) => this.#writer.heads.late(fork)?.late))
  }

  async removedForks(uuid: Uuid): Promise<readonly Tombstone[]> {
    return guard(`The removed forks of ${uuid}`, () => removedForks(this.#sql, uuid, FORKS))
  }

  async collectable(query: CollectableQuery): Promise<readonly Collectable[]> {
    return guard('What may be collected', () => readCollectable(this.#finder, query))
  }

  async size(): Promise<StoreSize> {
    return guard('The size of the store', () => readSize(this.#sql, PAGE_BYTES))
  }

  async account(): Promise<boolean> {
    return guard('The table of what was used', () => this.#spent.catchUp(this.#writer.counters.cursor))
  }

  async spent(page: SpentPage): Promise<readonly SpentRow[]> {
    return guard('The table of what was used', () => readSpent(this.#sql, page))
  }

  async remove(uuid: Uuid, at: number): Promise<boolean> {
    return guard(`The removal of ${uuid}`, () => {
      while (this.#spent.catchUp(this.#writer.counters.cursor));
      return this.#remover.remove(uuid, at)
    })
  }

  stage(): Staging {
    const stage = new Stage({ sql: this.#sql, writer: this.#writer, remover: this.#remover, intake: new Intake(this.#spent) })
    return {
      add: async (facts) => guardAsync('A piece of an import', stage.add(facts)),
      publish: async (process, counters) => guardAsync(`The import of ${process.uuid}`, stage.publish(process, counters)),
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    }
  }

  async sweep(): Promise<boolean> {
    return guard('What removed processes left', () => this.#remover.sweep())
  }

  async tombstone(ref: string): Promise<Tombstone | undefined> {
    return guard(`The reference ${ref}`, () => findTombstone(this.#sql, ref))
  }

  async beginLife(at: number): Promise<readonly number[]> {
    return guard('The start of the daemon', () => beginLife(this.#db, at))
  }

  async endLife(): Promise<void> {
    guard('The end of the daemon', () => endLife(this.#db))
  }

  async releaseReserve(): Promise<boolean> {
    return releaseReserve(this.#dir).catch((error: unknown) => { throw storeError(error, 'The reserve') })
  }

  async restoreReserve(): Promise<boolean> {
    return restoreReserve(this.#dir).catch((error: unknown) => { throw storeError(error, 'The reserve') })
  }

  async verify(): Promise<readonly string[]> {
    guard('The rows', () => this.#writer.settle())
    return verifyStore(this.#finder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.isOpen) return
    try {
      this.#writer.settle()
    } catch (error) {
      this.#log(`Rows that are behind stay so until the next start: ${storeError(error, 'closing').message}`)
    } finally {
      this.#db.close()
    }
  }
}

function guardAsync<T>(doing: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => { throw storeError(error, doing) })
}

function guard<T>(doing: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeError(error, doing)
  }
}
