// Sessions of the page: bearer tokens of 32 random bytes, kept as hashes. A session ends after 12 hours without a request, when its longest
// life is over, or when the user revokes it. A remembered session ends after 30 days without a request. The next daemon takes up the
// remembered sessions, and after a kill or a restart also those whose page was open. Test: test/tables/daemon/web/sessions.test.ts.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../loop/clock.ts'
import type { WebWay } from '../../kernel/model/words.ts'
import type { KeptSession } from './kept-page.ts'
import type { Grant } from './pass.ts'

const TOKEN_BYTES = 32
/** A session that is not remembered ends after this time without a request or an open answer. The listener closes then, too. */
export const IDLE_MS = 12 * 3_600_000
/** A remembered session ends after this time without a request or an open answer. */
const REMEMBERED_IDLE_MS = 30 * 24 * 3_600_000
const MAX_SESSIONS = 256

/** The browser that started a session: its address, and how it describes itself. */
export interface Visitor {
  readonly address: string
  readonly userAgent: string
}

export interface WebSession extends Grant, Visitor {
  readonly id: string
  /** wall times in ms */
  readonly createdAt: number
  readonly lastSeenAt: number
  /** its latest end, as a wall time in ms; null: it ends only after a time without a request */
  readonly expiresAt: number | null
}

type KnownSession = { -readonly [K in keyof WebSession]: WebSession[K] } & {
  readonly hash: Buffer
  /** monotonic times in ms */
  seenMono: number
  /** Infinity: no latest end */
  readonly endMono: number
  readonly streams: Set<() => void>
}

export class Sessions {
  readonly #clock: Pick<Clock, 'now'>
  readonly #sessions = new Map<string, KnownSession>()
  readonly #onChange: () => void

  /** `onChange` is called when what `kept` returns may have changed */
  constructor(clock: Pick<Clock, 'now'>, onChange: () => void = () => undefined) {
    this.#clock = clock
    this.#onChange = onChange
  }

  /** Starts a session, and returns its token. The oldest session ends if there are too many. */
  create(grant: Grant, visitor: Visitor): { readonly token: string; readonly session: WebSession } {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const { wall, mono } = this.#clock.now()
    const [oldest] = this.#sessions.values()
    if (oldest && this.#sessions.size >= MAX_SESSIONS) this.revoke(oldest.id)
    const session: KnownSession = {
      ...grant,
      ...visitor,
      id: this.#newId(),
      createdAt: wall,
      lastSeenAt: wall,
      expiresAt: grant.ttlMs === null ? null : wall + grant.ttlMs,
      hash: hashOf(token),
      seenMono: mono,
      endMono: grant.ttlMs === null ? Infinity : mono + grant.ttlMs,
      streams: new Set(),
    }
    this.#sessions.set(session.hash.toString('hex'), session)
    this.#onChange()
    return { token, session }
  }

  /** Finds the session of a token, and counts this as its use. Null: no session has this token and this way. */
  find(token: string, way: WebWay): WebSession | null {
    this.endOld()
    const hash = hashOf(token)
    const session = this.#sessions.get(hash.toString('hex'))
    if (!session || session.way !== way || !timingSafeEqual(session.hash, hash)) return null
    this.#touch(session)
    return session
  }

  /** The key with which the daemon proves that it knows a session: the hash of its token. Null: there is no such session. */
  proofKey(id: string): Buffer | null {
    this.endOld()
    return this.#byId(id)?.hash ?? null
  }

  /** What is kept for the next daemon: the remembered sessions, and those whose page is open now. */
  get kept(): KeptSession[] {
    this.endOld()
    const { mono } = this.#clock.now()
    return [...this.#sessions.values()]
      .filter(({ streams, remembered }) => remembered || streams.size > 0)
      .map(({ hash, seenMono, endMono, streams, ...session }) => ({
        ...session,
        hash: hash.toString('hex'),
        leftMs: endMono === Infinity ? null : endMono - mono,
        idleMs: streams.size > 0 ? 0 : mono - seenMono,
      }))
  }

  /** Takes up what the last daemon has kept, `elapsedMs` ago. Sessions whose time is over stay ended. */
  takeUp(sessions: readonly KeptSession[], elapsedMs: number): void {
    const { mono } = this.#clock.now()
    for (const { hash, leftMs, idleMs, ...session } of sessions)
      this.#sessions.set(hash, {
        ...session,
        hash: Buffer.from(hash, 'hex'),
        seenMono: mono - idleMs - elapsedMs,
        endMono: leftMs === null ? Infinity : mono + leftMs - elapsedMs,
        streams: new Set(),
      })
    this.endOld()
  }

  /** The sessions, oldest first. */
  get all(): readonly WebSession[] {
    this.endOld()
    return [...this.#sessions.values()]
  }

  /** Ends one session, or all, with their open answers. Returns their number. */
  revoke(id: string | null): number {
    const ending = [...this.#sessions].filter(([, session]) => id === null || session.id === id)
    for (const [hash, { streams }] of ending) {
      this.#sessions.delete(hash)
      for (const end of streams) end()
    }
    if (ending.length > 0) this.#onChange()
    return ending.length
  }

  /** Keeps a session in use while an answer to it is open. `end` is called if the session ends first. Returns what to call afterwards. */
  holdOpen(id: string, end: () => void): () => void {
    const session = this.#byId(id)
    session?.streams.add(end)
    this.#onChange()
    return () => {
      if (!session?.streams.delete(end)) return
      this.#touch(session)
      this.#onChange()
    }
  }

  /** Ends the sessions whose time is over. */
  endOld(): void {
    const { mono } = this.#clock.now()
    for (const { id, seenMono, endMono, streams, remembered } of [...this.#sessions.values()]) {
      const isIdle = streams.size === 0 && mono - seenMono >= idleLimit(remembered)
      if (isIdle || mono >= endMono) this.revoke(id)
    }
  }

  /** The next moment at which `endOld` may have something to do, on the monotonic clock; Infinity if there is no session. */
  get nextEnd(): number {
    const { mono } = this.#clock.now()
    const ends = [...this.#sessions.values()].map(({ seenMono, endMono, streams, remembered }) =>
      Math.min(endMono, (streams.size > 0 ? mono : seenMono) + idleLimit(remembered)),
    )
    return Math.min(Infinity, ...ends)
  }

  #byId(id: string): KnownSession | undefined {
    return [...this.#sessions.values()].find((session) => session.id === id)
  }

  #touch(session: KnownSession): void {
    const { wall, mono } = this.#clock.now()
    session.seenMono = mono
    session.lastSeenAt = wall
  }

  /** A short name, which no other session has. */
  #newId(): string {
    for (;;) {
      const id = randomBytes(2).toString('hex')
      if (this.#byId(id) === undefined) return id
    }
  }
}

function idleLimit(isRemembered: boolean): number {
  return isRemembered ? REMEMBERED_IDLE_MS : IDLE_MS
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
