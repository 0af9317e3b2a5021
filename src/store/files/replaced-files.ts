// Checks that the files of an open store are still in place. A backup may be restored under a running daemon: then another file has
// the path, and whatever the daemon still writes is lost. Such a store is fenced: it writes nothing any more. It takes its write-ahead log
// (WAL) away, because SQLite would add the newer pages of the WAL to the older file.
// Test: test/tables/store/files/replaced-files.test.ts, test/e2e/daemon/older-store.test.ts.
import { mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { asideDir } from './aside-dir.ts'

const LOG = 'store.db-wal'
const FILES = ['store.db', LOG] as const
/** The least time between two checks in ms: the commits of this time are lost if a file was replaced. */
const CHECK_EVERY_MS = 1_000

export class ReplacedFilesCheck {
  readonly #dir: string
  /** the inode of each file that has been seen */
  readonly #inodes = new Map<string, number>()
  #checkedAt = -Infinity
  #error: KernelError | null = null

  /** `dir`: the state directory. Its store must be open. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Must be called before each write. Looks at the files at most once a second. Errors: `FENCED`, from then on at each call. */
  check(): void {
    if (this.#error) throw this.#error
    const now = performance.now()
    if (now - this.#checkedAt < CHECK_EVERY_MS) return
    this.#checkedAt = now
    for (const name of FILES) this.#checkFile(name)
  }

  /**
   * Must be called after the store is closed. Moves the WAL of a fenced store aside, and returns its new path; null if there is none to
   * move. Another file at its path stays.
   */
  moveLogAside(): string | null {
    const log = join(this.#dir, LOG)
    if (this.#error === null || inodeOf(log) !== this.#inodes.get(LOG)) return null
    mkdirSync(asideDir(this.#dir), { recursive: true, mode: 0o700 })
    const aside = join(asideDir(this.#dir), `${LOG}.${Date.now()}`)
    renameSync(log, aside)
    return aside
  }

  #checkFile(name: string): void {
    const opened = this.#inodes.get(name)
    const found = inodeOf(join(this.#dir, name))
    if (found === 'unknown' || found === opened) return
    if (opened === undefined) {
      if (found !== null) this.#inodes.set(name, found)
      return
    }
    this.#error = new KernelError('FENCED', `${join(this.#dir, name)} was ${found === null ? 'removed' : 'replaced'} while it was open`, {
      file: name,
    })
    throw this.#error
  }
}

/** Returns the inode of a file; null: there is none. */
function inodeOf(path: string): number | null | 'unknown' {
  try {
    return statSync(path, { throwIfNoEntry: false })?.ino ?? null
  } catch {
    return 'unknown' // a read error does not mean that the file was replaced
  }
}
