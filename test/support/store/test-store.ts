// A store in a temporary folder for tests, whose file can be changed while it is closed.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readIdentity } from '../../../src/store/files/identity.ts'
import { readWalEnd } from '../../../src/store/files/wal-check.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { HomeStore } from '../../../src/store/store.ts'
import { waitUntil } from '../wait-until.ts'
import { tempDir } from '../tmp.ts'

export interface TestStore extends AsyncDisposable {
  readonly dir: string
  readonly store: HomeStore
  /** what the store has logged since the first opening */
  readonly logMessages: readonly string[]
  /** Closes the store; `reopen` opens it again. */
  close(): Promise<void>
  reopen(): Promise<HomeStore>
  /** Waits until the identity file beside the store has this cursor. */
  waitForIdentity(cursor: number): Promise<void>
  /** Waits until the identity file beside the store names the current end of the write-ahead log. */
  waitForLog(): Promise<void>
  /** Closes the store, changes its file with SQL, and opens it again. */
  tamper(sql: string, ...values: (string | number)[]): Promise<HomeStore>
}

/** `sql` creates the file that is opened; without it the store is new. */
export async function openTestStore(sql?: string): Promise<TestStore> {
  const folder = await tempDir()
  const dir = join(folder.path, 'state')
  if (sql !== undefined) {
    mkdirSync(dir)
    changeStoreFile(dir, (db) => db.exec(sql))
  }
  const logMessages: string[] = []
  const open = () => openSqliteStore({ dir, log: (message) => logMessages.push(message) })
  let store = await open()
  const close = async () => {
    await store[Symbol.asyncDispose]()
  }
  const reopen = async () => {
    await close()
    store = await open()
    return store
  }
  return {
    dir,
    logMessages,
    get store() {
      return store
    },
    close,
    reopen,
    waitForIdentity: async (cursor) => {
      await waitUntil(() => readIdentity(dir)?.cursor === cursor, `the identity has the cursor ${cursor}`)
    },
    waitForLog: async () => {
      const logEnd = readWalEnd(join(dir, 'store.db-wal'))?.frames
      await waitUntil(() => readIdentity(dir)?.log?.frames === logEnd, 'the identity names the end of the log')
    },
    async tamper(sql, ...values) {
      await close()
      changeStoreFile(dir, (db) => db.prepare(sql).run(...values))
      return reopen()
    },
    async [Symbol.asyncDispose]() {
      await close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** A store that was written by schema 2. */
export const SCHEMA_2 = readFileSync(join(import.meta.dirname, 'schema-2.sql'), 'utf8')

/** Changes the file of a closed store. */
export function changeStoreFile<T>(dir: string, change: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dir, 'store.db'))
  try {
    return change(db)
  } finally {
    db.close()
  }
}
