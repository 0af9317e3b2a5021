// The page's part of the daemon. Opens the listener when a link is requested, makes links and sessions, and closes the listener 12 hours
// after the last use. After a new start of the daemon it opens the same port again, with the sessions that were kept (kept-page.ts). Loaded
// at its first use, so that an idle daemon has neither a port nor this code.
// Test: test/e2e/web/access/listener.test.ts, test/e2e/web/access/return.test.ts.
import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening, WebWay } from '../../kernel/model/words.ts'
import { helloText } from '../../api/web-hello.ts'
import type {
  WebHelloBody,
  WebHelloView,
  WebLinkUsesView,
  WebOpenBody,
  WebOpenedView,
  WebSessionView,
  WebStartedView,
  WebView,
} from '../../api/views/web.ts'
import type { Clock } from '../loop/clock.ts'
import { isoOrNull, isoTime } from '../views/format-times.ts'
import { readCertificate, tlsAddresses, type TlsAddress } from './addresses.ts'
import { Assets } from './assets.ts'
import { Codes, type Link, type Redemption } from './codes.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { KeptPageFile, type KeptPage } from './kept-page.ts'
import { WebListener, refusal, type ListenerDeps } from './listener.ts'
import type { RouteAccess } from './find-route.ts'
import { IDLE_MS, Sessions, type WebSession, type Visitor } from './sessions.ts'
import { FailedAttempts } from './failed-attempts.ts'

/** The file is written this long after a change, because most requests have an open answer only for a moment. */
const SETTLE_MS = 1_000
/** While a page is open, the file is at most this old, in ms. */
const REFRESH_MS = 600_000

export interface WebDeps {
  /** the file that keeps what the next daemon opens again */
  readonly file: string
  readonly clock: Clock
  readonly log: (message: string, error: unknown) => void
  /** reports a session from another machine to the user */
  readonly announce: (text: string) => void
  /** hands a request to the routes of the API */
  readonly route: (request: IncomingMessage, response: ServerResponse) => void
  readonly routes: readonly RouteAccess[]
  /** the UUID of a process, by its reference. Errors: those of a reference */
  readonly resolve: (ref: string) => Promise<Uuid>
  readonly readOpenings: () => Promise<readonly WebOpening[]>
}

export class WebService {
  readonly #deps: WebDeps
  readonly #codes: Codes
  readonly #sessions: Sessions
  /** wrong tokens and codes */
  readonly #wrongTokens: FailedAttempts
  readonly #unknownSessions: FailedAttempts
  readonly #file: KeptPageFile
  /** resolves when the last read or write of the file is done: there is one at a time */
  #filing: Promise<unknown> = Promise.resolve()
  /** the ids of the sessions in the file */
  #keptIds = ''
  #cancelKeeping: (() => void) | null = null
  #cancelRefresh: () => void = () => undefined
  #listener: WebListener | null = null
  /** the listener with TLS, and where the user wants it */
  #tls: { readonly listener: WebListener; readonly at: TlsAddress } | null = null
  /** names behind a proxy that ends TLS */
  #proxyHosts: readonly string[] = []
  /** resolves when the last opening or closing is done: there is one at a time */
  #turn: Promise<unknown> = Promise.resolve()
  #assets: Assets | null = null
  #cancelTimer: () => void = () => undefined
  /** the monotonic time of the last link or session */
  #lastUse = 0
  /** wake the requests that wait for a use of a link */
  readonly #watchers = new Set<() => void>()

  constructor(deps: WebDeps) {
    this.#deps = deps
    this.#codes = new Codes(deps.clock, ({ uses }) => {
      if (uses > 1) deps.log('a link of the page was used twice: it may have been seen', null)
      for (const wake of [...this.#watchers]) wake()
    })
    this.#sessions = new Sessions(deps.clock, () => this.#keepSoon())
    this.#wrongTokens = new FailedAttempts(deps.clock)
    this.#unknownSessions = new FailedAttempts(deps.clock)
    this.#file = new KeptPageFile(deps.file, deps.clock)
  }

  /**
   * Opens the listener if it is closed, and makes a link. Errors: UNAVAILABLE without a free port or a page; INVALID for a certificate that
   * cannot be used; those of the reference.
   */
  async open(body: WebOpenBody): Promise<WebOpenedView> {
    const { right = 'all', only, redact = false, ttlMs, label, remember = false, proxyHost, tls, port } = body
    const way = tls ? 'tls' : proxyHost === undefined ? 'loopback' : 'proxy'
    if (proxyHost !== undefined && tls)
      throw new KernelError('INVALID', 'the proxy already terminates TLS, so `proxyHost` and `tls` exclude each other')
    if (remember && way === 'loopback')
      throw new KernelError('INVALID', 'a session on loopback is not remembered', undefined, 'No certificate proves there who answers.')
    const root = only === undefined ? null : await this.#deps.resolve(only)
    const url = await this.#inTurn(async () => {
      const local = await this.#ensureOpen(port)
      if (tls) return this.#ensureTls(tls)
      if (proxyHost === undefined) return `http://127.0.0.1:${local.port}/`
      this.#proxyHosts = [...new Set([...this.#proxyHosts, proxyHost])]
      local.acceptProxies(this.#proxyHosts)
      return `https://${proxyHost}/`
    })
    const grant = { right, only: root, redact, ttlMs: ttlMs ?? null, label: label ?? null, way, remembered: remember } as const
    const { code, number, link } = this.#codes.create(grant)
    this.#noteUse()
    const localPort = this.#listener?.port ?? 0
    return { version: 1, url, code, number, link: link.id, usableMs: this.#leftMs(link), localPort }
  }

  /** Starts a session by a code. Errors: FORBIDDEN, like a refused request; RESOURCE_EXHAUSTED after too many wrong codes. */
  start(redemption: Redemption, visitor: Visitor): WebStartedView {
    const grant = this.#codes.redeem(redemption)
    if (!grant) {
      if (this.#wrongTokens.count())
        throw new KernelError('RESOURCE_EXHAUSTED', 'there were too many wrong codes', undefined, 'Wait for a second.')
      throw refusal()
    }
    const { token, session } = this.#sessions.create(grant, visitor)
    this.#noteUse()
    if (grant.way !== 'loopback')
      this.#deps.announce(
        `a browser has a new session of the page, ${wayText(grant.way)}: ${session.id}. \`reeve web --revoke ${session.id}\` ends it`,
      )
    return { version: 1, token, session: sessionView(session) }
  }

  /**
   * Proves that this daemon knows a session, before the page sends its token. `host`: the address that the page uses, already checked.
   * Errors: FORBIDDEN without such a session; RESOURCE_EXHAUSTED after too many unknown ones. Known sessions have no limit: another user
   * could use it to lock the page out, and a proof costs no more than a refusal.
   */
  prove({ session, nonce }: WebHelloBody, host: string): WebHelloView {
    const key = this.#sessions.proofKey(session)
    if (key) return { version: 1, mac: createHmac('sha256', key).update(helloText(host, nonce)).digest('base64url') }
    if (!this.#unknownSessions.count()) throw refusal()
    throw new KernelError('RESOURCE_EXHAUSTED', 'there were too many unknown sessions', undefined, 'Wait for a second.')
  }

  view(): WebView {
    return {
      version: 1,
      url: this.#listener ? `http://127.0.0.1:${this.#listener.port}/` : null,
      proxyHosts: this.#listener ? [...this.#proxyHosts] : [],
      tls: this.#tls ? `${this.#tls.at.address} port ${this.#tls.at.port}` : null,
      sessions: this.#sessions.all.map(sessionView),
      reusedLinks: this.#codes.reused.length,
    }
  }

  /** Ends a session, or all of them. Errors: NOT_FOUND. */
  async revoke(id: string | null): Promise<{ readonly version: 1; readonly revoked: number }> {
    const revoked = this.#sessions.revoke(id)
    await this.#keep()
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

  /** Closes the listener and ends all sessions. The next daemon opens neither again. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      this.#sessions.revoke(null)
      await this.#closeListener()
      this.#proxyHosts = []
      await this.#keep()
    })
  }

  /** Closes the listener at the end of this daemon. The next one opens it again, for remembered sessions or for all. */
  leaveOpen(isRestart: boolean): Promise<void> {
    return this.#inTurn(async () => {
      if (!isRestart) for (const { id, remembered } of this.#sessions.all) if (!remembered) this.#sessions.revoke(id)
      await this.#keep()
      await this.#closeListener()
      this.#sessions.revoke(null)
    })
  }

  /** Opens the page again if the last daemon left it open. Uses the same port only, because open pages know no other. */
  reopen(): Promise<void> {
    return this.#inTurn(async () => {
      const found = await this.#file.read()
      if (found === null || this.#listener) return
      if (typeof found === 'string') this.#deps.log(`the page stays closed: ${found}`, null)
      else {
        const { kept, elapsedMs } = found
        this.#sessions.takeUp(kept.sessions, elapsedMs)
        if (this.#sessions.all.length > 0) await this.#listenAgain(kept)
      }
      if (this.#listener) this.#noteUse()
      else this.#sessions.revoke(null)
      await this.#keep()
    })
  }

  async #listenAgain({ port, proxyHosts, tls }: KeptPage): Promise<void> {
    const { log } = this.#deps
    this.#listener = await WebListener.openAt(await this.#listenerDeps(), port)
    if (!this.#listener) {
      log(`the page stays closed: another program has the port ${port}; \`reeve web\` opens another one`, null)
      // With TLS a certificate proves who answers, whatever the port on loopback is.
      for (const { id, way, remembered } of this.#sessions.all) if (way !== 'tls' || !remembered) this.#sessions.revoke(id)
      if (this.#sessions.all.length === 0) return
      this.#listener = await WebListener.open(await this.#listenerDeps())
    }
    this.#proxyHosts = proxyHosts
    this.#listener.acceptProxies(proxyHosts)
    log(`the page is open again at 127.0.0.1:${this.#listener.port}`, null)
    // The page of this machine is open without it.
    if (tls) await this.#ensureTls(tls).catch((error: unknown) => log(`the page is closed at ${tls.address}: ${errorText(error)}`, null))
  }

  async #closeListener(): Promise<void> {
    this.#cancelTimer()
    this.#codes.clear()
    for (const wake of [...this.#watchers]) wake()
    const listeners = [this.#listener, this.#tls?.listener].filter((one) => one !== null && one !== undefined)
    this.#listener = null
    this.#tls = null
    await Promise.all(listeners.map((listener) => listener.close()))
    this.#cancelKeeping?.()
    this.#cancelKeeping = null
    this.#cancelRefresh()
  }

  /** Writes the file soon, if the sessions with an open page have changed then. */
  #keepSoon(): void {
    this.#cancelKeeping ??= this.#deps.clock.after(SETTLE_MS, () => {
      this.#cancelKeeping = null
      if (this.#listener && this.#sessions.kept.map(({ id }) => id).join() !== this.#keptIds) this.#keepNow()
    })
  }

  #keepNow(): void {
    this.#keep().catch((error: unknown) => this.#deps.log('the open page could not be recorded', error))
  }

  /** Writes what is open into the file now, or removes the file. */
  #keep(): Promise<void> {
    const done = this.#filing.then(async () => {
      const sessions = this.#listener ? this.#sessions.kept : []
      this.#keptIds = sessions.map(({ id }) => id).join()
      if (!this.#listener || sessions.length === 0) return this.#file.remove()
      await this.#file.write({ port: this.#listener.port, proxyHosts: [...this.#proxyHosts], tls: this.#tls?.at ?? null, sessions })
      this.#cancelRefresh()
      this.#cancelRefresh = this.#deps.clock.after(REFRESH_MS, () => this.#keepNow())
    })
    // The caller gets the error; the next one writes again.
    this.#filing = done.catch(() => undefined)
    return done
  }

  /**
   * Answers when a link has more than `uses` or `wrongNumbers`, when `timeoutMs` is over, or when the client has gone. Errors: NOT_FOUND.
   */
  async waitForUse(
    id: string,
    { uses, wrongNumbers, timeoutMs }: { readonly uses: number; readonly wrongNumbers: number; readonly timeoutMs: number },
    signal: AbortSignal,
  ): Promise<WebLinkUsesView> {
    const find = (): Link => {
      const link = this.#codes.find(id)
      if (!link) throw new KernelError('NOT_FOUND', `there is no link "${id}"`, undefined, '`reeve web` makes one.')
      return link
    }
    const known = find()
    if (known.uses <= uses && known.wrongNumbers <= wrongNumbers) await this.#nextWake(timeoutMs, signal)
    const link = find()
    return { version: 1, uses: link.uses, wrongNumbers: link.wrongNumbers, usableMs: this.#leftMs(link) }
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

  /** Opens the listener on loopback if it is closed. `port`: the port that must be used; undefined: any. */
  async #ensureOpen(port: number | undefined): Promise<WebListener> {
    if (port !== undefined && this.#listener && this.#listener.port !== port)
      throw new KernelError('CONFLICT', `the page is open at the port ${this.#listener.port}`, undefined, '`reeve web --stop` closes it.')
    if (this.#listener) return this.#listener
    const deps = await this.#listenerDeps()
    this.#listener = port === undefined ? await WebListener.open(deps) : await WebListener.openAt(deps, port)
    if (!this.#listener) throw new KernelError('UNAVAILABLE', `another program has the port ${port}`)
    this.#listener.acceptProxies(this.#proxyHosts)
    this.#deps.log(`the page is open at 127.0.0.1:${this.#listener.port}`, null)
    return this.#listener
  }

  /** Opens the listener with TLS, anew if it is open: the certificate may be another one. Returns the address of the page. */
  async #ensureTls(at: TlsAddress): Promise<string> {
    const certificate = await readCertificate(at, this.#deps.clock.now().wall)
    await this.#tls?.listener.close()
    this.#tls = null
    this.#tls = { listener: await WebListener.openTls(await this.#listenerDeps(), at, certificate), at }
    this.#deps.log(`the page is open with TLS at ${at.address} port ${at.port}`, null)
    const [first] = tlsAddresses(at.port, certificate).keys()
    return `https://${first}/`
  }

  async #listenerDeps(): Promise<ListenerDeps> {
    const { route, routes, log, readOpenings } = this.#deps
    const dir = pageDir()
    const openings = await readOpenings()
    let assets = (this.#assets ??= await Assets.read(dir))
    return {
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
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    // The caller gets the error. The next caller runs nevertheless.
    this.#turn = done.catch(() => undefined)
    return done
  }

  #noteUse(): void {
    this.#lastUse = this.#deps.clock.now().mono
    this.#setTimer()
  }

  /** Sets the timer for the end of the next session, or for the time at which the listener may close. */
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

function wayText(way: WebWay): string {
  return way === 'proxy' ? 'through a proxy' : 'by TLS'
}

function sessionView({
  id,
  right,
  only,
  redact,
  label,
  way,
  remembered,
  createdAt,
  lastSeenAt,
  expiresAt,
  address,
  userAgent,
}: WebSession): WebSessionView {
  return {
    id,
    right,
    only,
    redact,
    label,
    way,
    remembered,
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoOrNull(expiresAt),
    address,
    userAgent,
  }
}
