// Opens the store of the home: the file `store.db`, or a PostgreSQL database. With a database, `store.db` has only what belongs to this
// machine. Must never begin with an empty store although the home has processes elsewhere.
// Test: test/tables/daemon/host/open-stores.test.ts.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoreConfig } from '../../config/keys/store.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { openSqliteStore } from '../../store/sqlite.ts'
import type { EngineReport, PostgresStore } from '../../store/postgres/postgres.ts'
import type { HomeStore, LocalStore, Store } from '../../store/store.ts'

/** The file in the state directory that names the database of the home, without a password. */
const DATABASE_FILE = 'database'

export interface Stores {
  readonly store: Store
  readonly local: LocalStore
  /** reports on the database; null: the store is a file */
  readonly engine: (() => Promise<EngineReport>) | null
}

interface StoresOptions {
  /** the state directory */
  readonly dir: string
  readonly config: StoreConfig
  /** as in `StoreOptions` */
  readonly accept: boolean
  readonly log: (message: string) => void
}

/**
 * Opens both parts of the store; `stack` closes them. Errors: those of the engine; `STORE_UNSUITABLE` if the home has its processes
 * elsewhere.
 */
export async function openStores({ dir, config, accept, log }: StoresOptions, stack: AsyncDisposableStack): Promise<Stores> {
  const url = process.env['REEVE_STORE_URL'] || config.url
  const home = stack.use(await openSqliteStore({ dir, accept, log }))
  const databaseFile = join(dir, DATABASE_FILE)
  if (url === null) {
    await checkNoDatabase(databaseFile)
    return { store: home, local: home, engine: null }
  }
  await checkEmpty(home, dir)
  // Loaded only here, so that a home with a file does not pay for the driver.
  const { openPostgresStore, describeUrl } = await import('../../store/postgres/postgres.ts')
  const store = stack.use(await openPostgresStore({ url, durability: config.durability, log }))
  await writeFile(databaseFile, `${describeUrl(url)}\n`, { mode: 0o600 })
  return { store, local: localPartOf(home, store), engine: () => store.report() }
}

/** Checks that the processes of the home are not in a database. */
async function checkNoDatabase(databaseFile: string): Promise<void> {
  // Without the file, the home never had a database.
  const address = await readFile(databaseFile, 'utf8').catch(() => null)
  if (address === null) return
  throw new KernelError(
    'STORE_UNSUITABLE',
    `the processes of this home are in the database ${address.trim()}, but no URL of a database is set`,
    {},
    `Set \`store.url\` in config.yaml, or REEVE_STORE_URL. To begin again with an empty file, remove ${databaseFile}.`,
  )
}

/** Checks that `store.db` has no processes, which would be missing in the database. */
async function checkEmpty(home: HomeStore, dir: string): Promise<void> {
  const { counters } = await home.load()
  if (counters.cursor === 0) return
  throw new KernelError(
    'STORE_UNSUITABLE',
    `a database is set, but the processes of this home are in ${join(dir, 'store.db')}`,
    {},
    'Export what you need without `store:` (`reeve export`), and use another REEVE_HOME with the database; `reeve import` reads it there.',
  )
}

/** Returns the part of the store that stays in the home. */
function localPartOf(home: LocalStore, store: PostgresStore): LocalStore {
  return {
    finishStart: () => home.finishStart(),
    beginRun: (at) => home.beginRun(at),
    endRun: () => home.endRun(),
    trustedTime: () => home.trustedTime(),
    trustTime: (at) => home.trustTime(at),
    releaseReserve: () => home.releaseReserve(),
    restoreReserve: () => home.restoreReserve(),
    verify: async () => [...(await home.verify()), ...(await store.verify())],
  }
}
