// The page's part of the daemon. Opens the listener when a link is requested, makes links and sessions, and closes the listener 12 hours
// after the last use. Loaded at its first use, so that an idle daemon has neither a port nor this code.
// Test: test/e2e/web/listener.test.ts, test/tables/daemon/web/codes.test.ts.
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening } from '../../kernel/model/words.ts'
import type { WebLinkUsesView, WebOpenBody, WebOpenedView, WebSessionView, WebStartedView, WebView } from '../../api/views/web.ts'
import type { Clock } from '../loop/clock.ts'
import { isoOrNull, isoTime } from '../views/format-times.ts'
import { Assets } from './assets.ts'
import { Codes, type Link } from './codes.ts'
import { WebListener, refusal } from './listener.ts'
import type { DoorRoute } from './route-table.ts'
import { IDLE_MS, Sessions, type WebSession, type Visitor } from './sessions.ts'
import { WrongTokens } from './wrong-tokens.ts'

export interface WebDeps {
  readonly clock: Clock
  readonly log: (message: string, error: unknown) => void
  /** hands a request to the routes of the API */
  readonly route: (request: IncomingMessage, response: ServerResponse) => void
  readonly routes: readonly DoorRoute[]
  /** the UUID of a process, by its reference. Errors: NOT_FOUND and so on */
  readonly resolve: (ref: string) => Promise<Uuid>
  readonly readOpenings: () => Promise<readonly WebOpening[]>
}

export class WebService {
  readonly #deps: WebDeps
  readonly #codes: Codes
  readonly #sessions: Sessions
  readonly #wrongTokens: WrongTokens
  #listener: WebListener | null = null
  /** one opening or closing at a time */
  #turn: Promise<unknown> = Promise.resolve()
  #assets: Assets | null = null
  #cancelTimer: () => void = () => undefined
  /** the monotonic time of the last link or session */
  #lastUse = 0
  /** those who wait for a use of a link */
  readonly #watchers = new Set<() => void>()

  constructor(deps: WebDeps) {
    this.#deps = deps
    this.#codes = new Codes(deps.clock, ({ uses }) => {
      if (uses > 1) deps.log('a link of the page was used twice: it may have been seen', null)
      for (const wake of [...this.#watchers]) wake()
    })
    this.#sessions = new Sessions(deps.clock)
    this.#wrongTokens = new WrongTokens(deps.clock)
  }

  /** Opens the listener if it is closed, and makes a link. Errors: UNAVAILABLE without a free port or a page; those of the reference. */
  async open({ right = 'all', only, redact = false, ttlMs, label }: WebOpenBody): Promise<WebOpenedView> {
    const root = only === undefined ? null : await this.#deps.resolve(only)
    const { port } = await this.#inTurn(() => this.#ensureOpen())
    const { code, link } = this.#codes.create({ right, only: root, redact, ttlMs: ttlMs ?? null, label: label ?? null })
    this.#noteUse()
    return { version: 1, url: `http://127.0.0.1:${port}/`, code, link: link.id, usableMs: this.#leftMs(link) }
  }

  /** Starts a session by a code. Errors: FORBIDDEN, which looks as every refusal of the door; RESOURCE_EXHAUSTED after too many. */
  start(code: string, visitor: Visitor): WebStartedView {
    const grant = this.#codes.redeem(code)
    if (!grant) {
      if (this.#wrongTokens.count())
        throw new KernelError('RESOURCE_EXHAUSTED', 'there were too many wrong codes', undefined, 'Wait for a second.')
      throw refusal()
    }
    const { token, session } = this.#sessions.create(grant, visitor)
    this.#noteUse()
    return { version: 1, token, session: sessionView(session) }
  }

  view(): WebView {
    return {
      version: 1,
      url: this.#listener ? `http://127.0.0.1:${this.#listener.port}/` : null,
      sessions: this.#sessions.all.map(sessionView),
      reusedLinks: this.#codes.reused.length,
    }
  }

  /** Ends a session, or all of them. Errors: NOT_FOUND. */
  revoke(id: string | null): { readonly version: 1; readonly revoked: number } {
    const revoked = this.#sessions.revoke(id)
    if (id !== null && revoked === 0)
      throw new KernelError('NOT_FOUND', `there is no session "${id}"`, undefined, '`reeve web --sessions` lists them.')
    return { version: 1, revoked }
  }

  /** Closes the listener and ends all sessions. */
  async stop(): Promise<{ readonly version: 1; readonly wasOpen: boolean }> {
    const wasOpen = this.#listener !== null
    await this.close()
    return { version: 1, wasOpen }
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      this.#cancelTimer()
      this.#sessions.revoke(null)
      this.#codes.clear()
      for (const wake of [...this.#watchers]) wake()
      const listener = this.#listener
      this.#listener = null
      await listener?.close()
    })
  }

  /** Answers when a link was used more than `uses` times, when `timeoutMs` is over, or when the client has gone. Errors: NOT_FOUND. */
  async waitForUse(id: string, uses: number, timeoutMs: number, signal: AbortSignal): Promise<WebLinkUsesView> {
    const find = (): Link => {
      const link = this.#codes.find(id)
      if (!link) throw new KernelError('NOT_FOUND', `there is no link "${id}"`, undefined, '`reeve web` makes one.')
      return link
    }
    if (find().uses <= uses) await this.#nextWake(timeoutMs, signal)
    const link = find()
    return { version: 1, uses: link.uses, usableMs: this.#leftMs(link) }
  }

  /** Resolves at the next use of any link, after `ms`, or when the signal aborts. */
  #nextWake(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#deps.clock.after(ms, resolve)
    this.#watchers.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
    return promise.finally(() => {
      cancel()
      this.#watchers.delete(resolve)
    })
  }

  #leftMs({ endsAt }: Link): number {
    return Math.max(0, Math.round(endsAt - this.#deps.clock.now().mono))
  }

  async #ensureOpen(): Promise<WebListener> {
    if (this.#listener) return this.#listener
    const { route, routes, log, readOpenings } = this.#deps
    const dir = pageDir()
    const openings = await readOpenings()
    let assets = (this.#assets ??= await Assets.read(dir))
    this.#listener = await WebListener.open({
      route,
      routes,
      sessions: this.#sessions,
      wrongTokens: this.#wrongTokens,
      openings,
      assets: () => assets,
      refreshAssets: async () => {
        if (process.env['REEVE_WEB_DIR']) assets = await Assets.read(dir)
      },
      log,
    })
    log(`the page is open at 127.0.0.1:${this.#listener.port}`, null)
    return this.#listener
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    // The caller gets the error; the next one has its own turn.
    this.#turn = done.catch(() => undefined)
    return done
  }

  #noteUse(): void {
    this.#lastUse = this.#deps.clock.now().mono
    this.#setTimer()
  }

  /** Looks again when the next session ends, and when the listener may close. */
  #setTimer(): void {
    this.#cancelTimer()
    const { mono } = this.#deps.clock.now()
    const next = Math.min(this.#sessions.nextEnd, this.#closesAt())
    this.#cancelTimer = this.#deps.clock.after(Math.max(1_000, next - mono), () => {
      this.#sessions.endOld()
      if (this.#sessions.all.length === 0 && this.#deps.clock.now().mono >= this.#closesAt())
        this.close().catch((error: unknown) => this.#deps.log('the page could not be closed', error))
      else this.#setTimer()
    })
  }

  #closesAt(): number {
    return this.#lastUse + IDLE_MS
  }
}

/** The folder of the built page: beside the daemon's program, or below the sources. */
function pageDir(): string {
  const chosen = process.env['REEVE_WEB_DIR']
  if (chosen) return chosen
  const dirs = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../../dist/web')]
  return dirs.find((dir) => existsSync(join(dir, 'index.html'))) ?? (dirs[0] as string)
}

function sessionView({ id, right, only, redact, label, createdAt, lastSeenAt, expiresAt, address, userAgent }: WebSession): WebSessionView {
  return {
    id,
    right,
    only,
    redact,
    label,
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoOrNull(expiresAt),
    address,
    userAgent,
  }
}
