// The identity file beside the store names the store and its last counters. It reveals that a store is empty, gone, older or replaced. The
// file is written at the start, within about a second after a commit, and at the end; never within a commit. Its counters are a lower
// bound, because they were durable before the file was written.
// Tests: test/tables/store/files/identity.test.ts, test/e2e/daemon/older-store.test.ts.
import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { readWalEnd } from './wal-check.ts'
import type { WalEnd } from './wal-check.ts'
import type { Counters } from '../store.ts'
import { rowSum } from '../rows/checksums.ts'

export interface Identity extends Counters {
  /** the random number that names the store */
  readonly store: number
  /** wall time of the write in ms */
  readonly at: number
  /** the system's boot id; null where the system has none */
  readonly boot: string | null
  /** the end of SQLite's WAL at the time of the write; null without a WAL, and after an orderly end */
  readonly log: WalEnd | null
  /** whether the daemon ended in order, so that the counters are exact */
  readonly orderly: boolean
}

export const IDENTITY_FILE = 'store-identity.json'
/** The maximum time by which the file may be behind the store. */
const MAX_LAG_MS = 1_000
/** The maximum number of facts by which the file may be behind the store. */
const MAX_LAG_FACTS = 2_048

/**
 * Reads the file. Null without a file: the store is new, or of a version that wrote none, or the file was deleted. Errors: `STORE_DAMAGED`.
 */
export function readIdentity(dir: string): Identity | null {
  const text = readText(join(dir, IDENTITY_FILE))
  if (text === null) return null
  try {
    const { sum, ...identity } = JSON.parse(text) as Identity & { readonly sum: number }
    if (sum === sumOf(identity)) return identity
  } catch {
    // Invalid JSON is reported below, like a wrong checksum.
  }
  throw identityError(`${IDENTITY_FILE} is damaged: reeve cannot check that store.db is the store of this home`)
}

/** Returns the text of the file, with its checksum. */
export function identityText(identity: Identity): string {
  return `${JSON.stringify({ ...identity, sum: sumOf(identity) })}\n`
}

function sumOf({ store, cursor, pid, at, boot, log, orderly }: Identity): number {
  return rowSum([store, cursor, pid, at, boot ?? '', log?.salts ?? '', log?.frames ?? 0, orderly ? 1 : 0])
}

/** Identity and counters as the store itself has them. `store` is null if a version without identities wrote the store. */
export interface StoreState extends Counters {
  readonly store: number | null
}

/** Compares the file with the store. Returns null if they match, otherwise an error message. */
export function compareIdentity(identity: Identity, found: StoreState | null): string | null {
  const { store, cursor, pid, at } = identity
  const expected = `this home had reached fact ${cursor} and PID ${pid} at ${new Date(at).toISOString()}`
  if (found === null) return `store.db is empty or gone, but ${expected}`
  if (found.store !== store) return `store.db is not the store of this home, or a copy from before it had an identity; ${expected}`
  if (found.cursor < cursor || found.pid < pid)
    return `store.db is older than it was: it ends with fact ${found.cursor} and PID ${found.pid}, but ${expected}`
  return null
}

export function identityError(what: string): KernelError {
  return new KernelError(
    'STORE_DAMAGED',
    what,
    { table: 'identity' },
    'Nothing was changed. Restore the newest copy of store.db, with its store.db-wal. To accept the store as it is: `reeve daemon start --accept-store`.',
  )
}

export function readBootId(): string | null {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

interface IdentityDeps {
  readonly dir: string
  readonly store: number
  /** returns the counters of the last durable commit */
  readonly counters: () => Counters
  readonly log: (message: string) => void
}

export class IdentityFile {
  readonly #deps: IdentityDeps
  readonly #bootId = readBootId()
  #writtenCursor = -1
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> | null = null
  #hasFailed = false

  constructor(deps: IdentityDeps) {
    this.#deps = deps
  }

  /** Must be called after each write to the store. Writes the file at once if it is far behind, otherwise within `MAX_LAG_MS`. */
  scheduleWrite(): void {
    if (this.#deps.counters().cursor - this.#writtenCursor >= MAX_LAG_FACTS) this.#writing ??= this.#write(false)
    else
      this.#timer ??= setTimeout(() => {
        this.#writing ??= this.#write(false)
      }, MAX_LAG_MS).unref()
  }

  /** Writes the file now. Never rejects: without the file, only the detection of a lost store is missing. */
  async write(orderly: boolean): Promise<void> {
    await this.#writing
    await this.#write(orderly)
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  async #write(orderly: boolean): Promise<void> {
    this.stop()
    const { dir, store, counters, log } = this.#deps
    const { cursor, pid } = counters()
    // Set before the write: after a failed one, the next commits wait for the timer instead of each starting a write at once.
    this.#writtenCursor = cursor
    try {
      const end = orderly ? null : readWalEnd(join(dir, 'store.db-wal'))
      const identity: Identity = { store, cursor, pid, at: Date.now(), boot: this.#bootId, log: end, orderly }
      await replaceFile(join(dir, IDENTITY_FILE), identityText(identity))
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) log(`${IDENTITY_FILE} cannot be written: ${(error as Error).message}`)
      this.#hasFailed = true
    } finally {
      this.#writing = null
    }
  }
}

/** Replaces a file. After a loss of power it contains either the old text or the new one. */
async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.new`
  await using handle = await open(next, 'w', 0o600)
  await handle.writeFile(text)
  await handle.datasync()
  await rename(next, file)
  await using folder = await open(dirname(file), 'r')
  await folder.sync()
}
