// Runs queries that read the whole database file, such as SQLite's own check, without blocking the daemon. A thread reads the file as
// it is after a WAL checkpoint. If no WAL checkpoint can be made, the queries run in the daemon and block it. Until the thread has ended,
// no other WAL checkpoint may be made: the WAL grows, but the file does not change. Must never lock the file, because the lock belongs to
// the store.
// Tests: test/tables/store/verify.test.ts, test/tables/store/rows/damage.test.ts.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { WAL_CHECKPOINT_PAGES } from './schema.ts'

export type StoreQuery = readonly [statement: StatementSync, ...params: number[]]
type Row = Readonly<Record<string, unknown>>
interface ThreadResult {
  readonly rows?: readonly Row[]
  readonly error?: object
}
/**
 * Returns the rows of one query. Call it in the turn in which `query` resolves: without a thread, it runs the query only then.
 * Errors: those of SQLite.
 */
export type StoreQueryResult = () => readonly Row[]

/**
 * The program of the thread. It is a text, because a running daemon reads no file of its installation. With `immutable` SQLite takes
 * no lock and ignores the WAL.
 */
const THREAD_PROGRAM = `
const { parentPort, workerData: { url, queries } } = require('node:worker_threads')
const { DatabaseSync } = require('node:sqlite')
const db = new DatabaseSync(new URL(url), { readOnly: true })
db.exec('PRAGMA temp_store = memory')
parentPort.postMessage(queries.map(({ sql, params }) => {
  try {
    return { rows: db.prepare(sql).all(...params).map((row) => ({ ...row })) }
  } catch ({ message, code, errcode, errstr }) {
    return { error: { message, code, errcode, errstr } }
  }
}))
db.close()
`

export class DatabaseReader {
  readonly #db: DatabaseSync
  readonly #file: string
  #running: Promise<unknown> | null = null

  constructor(db: DatabaseSync, file: string) {
    this.#db = db
    this.#file = file
  }

  /** Whether queries are running, so that no WAL checkpoint may be made. */
  get isReading(): boolean {
    return this.#running !== null
  }

  /**
   * Runs the queries on one state of the store, after all earlier calls have ended. `atSnapshot` is called in the turn of the event
   * loop in which that state is taken.
   */
  async query(queries: readonly StoreQuery[], atSnapshot: () => void): Promise<readonly StoreQueryResult[]> {
    while (this.#running !== null) await this.#running
    const results = this.#query(queries, atSnapshot)
    const ended = results.then(
      () => undefined,
      () => undefined,
    )
    this.#running = ended
    try {
      return await results
    } finally {
      if (this.#running === ended) this.#running = null
    }
  }

  async #query(queries: readonly StoreQuery[], atSnapshot: () => void): Promise<readonly StoreQueryResult[]> {
    atSnapshot()
    // If the WAL checkpoint fails, for example on a full disk, the queries run in the daemon and block it.
    if (!this.#makeWalCheckpoint())
      return queries.map(
        ([statement, ...params]) =>
          () =>
            statement.all(...params),
      )
    this.#db.exec('PRAGMA wal_autocheckpoint = 0')
    try {
      const answers = await runInThread(this.#file, queries)
      return answers.map(({ rows, error }) => () => {
        if (rows) return rows
        throw Object.assign(new Error(), error)
      })
    } finally {
      if (this.#db.isOpen) this.#db.exec(`PRAGMA wal_autocheckpoint = ${WAL_CHECKPOINT_PAGES}`)
    }
  }

  /** Makes a WAL checkpoint. Returns whether the database file then contains the whole WAL. */
  #makeWalCheckpoint(): boolean {
    try {
      const { busy, log, checkpointed } = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {}
      return busy === 0 && log === checkpointed
    } catch {
      // Without a WAL checkpoint the queries run in the daemon.
      return false
    }
  }
}

/** Runs the queries in a thread. Errors: those of the thread itself, such as an unreadable file. */
async function runInThread(file: string, queries: readonly StoreQuery[]): Promise<readonly ThreadResult[]> {
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  const { promise, resolve, reject } = Promise.withResolvers<readonly ThreadResult[]>()
  const workerData = { url: url.href, queries: queries.map(([{ sourceSQL: sql }, ...params]) => ({ sql, params })) }
  const worker = new Worker(THREAD_PROGRAM, { eval: true, name: 'store check', env: {}, execArgv: [], workerData })
  // The thread does not keep a stopping daemon alive.
  worker.unref()
  worker.once('message', resolve)
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('the thread of the check ended without a result')))
  return promise
}
