// The state of the page that outlives its daemon: where the page is open, and which sessions continue. Remembered sessions continue, and
// after a kill or a restart also sessions whose page was open. The state is a file of the home (0600), with only the hashes of the tokens.
// A file that others can read, or with an unknown format, is ignored. Must not open a port or decide who gets in.
// Tests: test/tables/daemon/web/kept-page.test.ts, test/e2e/web/access/return.test.ts.
import { constants } from 'node:fs'
import { lstat, open, rename, rm } from 'node:fs/promises'
import { z } from 'zod'
import { WEB_RIGHTS, WEB_WAYS } from '../../kernel/model/words.ts'
import { ifMissing } from '../../kernel/util/missing-file.ts'
import type { Clock } from '../loop/clock.ts'

const MAX_BYTES = 1_000_000

const ms = z.number().min(0)
const port = z.int().min(1).max(65_535)
const session = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{4}$/),
  /** SHA-256 of the token, in hex */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  right: z.enum(WEB_RIGHTS),
  only: z.string().nullable(),
  redact: z.boolean(),
  ttlMs: ms.nullable(),
  label: z.string().nullable(),
  way: z.enum(WEB_WAYS),
  remembered: z.boolean(),
  address: z.string(),
  userAgent: z.string(),
  createdAt: ms,
  lastSeenAt: ms,
  expiresAt: ms.nullable(),
  /** the time that it had left when this was written, in ms; null: it ends when it is idle */
  leftMs: z.number().nullable(),
  /** the time since its last use, when this was written, in ms */
  idleMs: ms,
})
const page = z.strictObject({
  version: z.literal(1),
  port,
  /** names behind a proxy that ends TLS */
  proxyHosts: z.array(z.string()),
  tls: z.strictObject({ address: z.string(), port, cert: z.string(), key: z.string() }).nullable(),
  /** when this was written: the wall time, and the time since the start of the machine, in ms */
  wall: ms,
  uptime: ms,
  sessions: z.array(session).max(256),
})

export type KeptSession = Readonly<z.output<typeof session>>
export type KeptPage = Readonly<Omit<z.output<typeof page>, 'version' | 'wall' | 'uptime'>>

/** Reads and writes the file. Each call must wait for the one before. */
export class KeptPageFile {
  readonly #file: string
  readonly #clock: Pick<Clock, 'now' | 'uptimeMs'>

  constructor(file: string, clock: Pick<Clock, 'now' | 'uptimeMs'>) {
    this.#file = file
    this.#clock = clock
  }

  /**
   * Reads what was kept, and how long ago, in ms. A string: why it is ignored. Null: nothing was kept. The time is the longer one of two
   * clocks: a wall clock that was set back must not make a session live longer.
   */
  async read(): Promise<{ readonly kept: KeptPage; readonly elapsedMs: number } | string | null> {
    const found = await this.#readText()
    if (found === null || typeof found === 'string') return found
    const parsed = page.safeParse(parseJson(found.text))
    if (!parsed.success) return `${this.#file} has an unknown format`
    const { wall, uptime, version: _, ...kept } = parsed.data
    const elapsedMs = Math.max(this.#clock.now().wall - wall, this.#clock.uptimeMs() - uptime)
    return elapsedMs < 0 ? `${this.#file} was written in the future, by the clocks of this machine` : { kept, elapsedMs }
  }

  /** Replaces the file, durably. */
  async write(kept: KeptPage): Promise<void> {
    const record = { version: 1, ...kept, wall: this.#clock.now().wall, uptime: Math.round(this.#clock.uptimeMs()) }
    const temporary = `${this.#file}.new`
    await rm(temporary, { force: true })
    {
      await using handle = await open(temporary, 'wx', 0o600)
      await handle.writeFile(JSON.stringify(record))
      await handle.sync()
    }
    await rename(temporary, this.#file)
  }

  async remove(): Promise<void> {
    await Promise.all([rm(this.#file, { force: true }), rm(`${this.#file}.new`, { force: true })])
  }

  /** The text of the file; a reason if it is not ours alone; null without a file. */
  async #readText(): Promise<{ readonly text: string } | string | null> {
    const link = await lstat(this.#file).catch(ifMissing(null))
    if (link === null) return null
    if (link.isSymbolicLink()) return `${this.#file} is a link`
    await using file = await open(this.#file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = await file.stat()
    if (!stat.isFile() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0)
      return `${this.#file} is not a file that only you can read`
    return stat.size > MAX_BYTES ? `${this.#file} is too large` : { text: await file.readFile('utf8') }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, so its format is unknown.
    return null
  }
}
