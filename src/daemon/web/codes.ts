// One-time codes of links: 128 random bits, valid for a minute and for one use. Only their hashes are kept. A code that was used stays
// known for a while, so that a second use is noticed: the link may have leaked. A link for a proxy is valid for five
// minutes, but needs a number as well, which only the terminal shows. After three wrong numbers it is void.
// Test: test/tables/daemon/web/codes.test.ts.
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { WebWay } from '../../kernel/model/words.ts'
import type { Clock } from '../loop/clock.ts'
import type { Grant } from './pass.ts'

const CODE_BYTES = 16
/** how long a code is valid, in ms */
export const CODE_MS = 60_000
/** longer, because a link with a number is typed on another device */
const NUMBERED_CODE_MS = 300_000
const MAX_WRONG_NUMBERS = 3
/** how long a code stays known after its end, in ms */
const KNOWN_MS = 12 * 3_600_000
/** the largest number of codes; a further one replaces the oldest */
const MAX_CODES = 1_000

/** A link: a code with what it grants. */
export interface Link {
  /** names the link; not a part of its code */
  readonly id: string
  readonly grant: Grant
  /** how often the code was used, including uses that were refused because of an earlier one */
  readonly uses: number
  /** how often the code was sent with a wrong number */
  readonly wrongNumbers: number
  /** the code starts a session until then, on the monotonic clock; three wrong numbers end it at once */
  readonly endsAt: number
}

type KnownLink = { -readonly [K in keyof Link]: Link[K] } & {
  /** the hash of its number; null: it has none */
  readonly numberHash: Buffer | null
}

/** What a browser sends to use a link, and by which way. */
export interface Redemption {
  readonly code: string
  readonly number?: string
  readonly way: WebWay
}

export class Codes {
  readonly #clock: Pick<Clock, 'now'>
  readonly #links = new Map<string, KnownLink>()
  readonly #onUse: (link: Link) => void

  /** `onUse` is called at each use of a code, even if it is refused because of an earlier use or a wrong number */
  constructor(clock: Pick<Clock, 'now'>, onUse: (link: Link) => void) {
    this.#clock = clock
    this.#onUse = onUse
  }

  /** Makes a code. */
  create(grant: Grant): { readonly code: string; readonly number: string | null; readonly link: Link } {
    this.#forgetOld()
    if (this.#links.size >= MAX_CODES) this.#links.delete(this.#links.keys().next().value ?? '')
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const number = grant.way === 'proxy' ? String(randomInt(1_000_000)).padStart(6, '0') : null
    const link: KnownLink = {
      id: randomBytes(4).toString('hex'),
      grant,
      uses: 0,
      endsAt: this.#clock.now().mono + (number === null ? CODE_MS : NUMBERED_CODE_MS),
      numberHash: number === null ? null : digest(number),
      wrongNumbers: 0,
    }
    this.#links.set(hashOf(code), link)
    return { code, number, link }
  }

  /** Uses a code. Returns what it grants; null if it is unknown, too old, of another way, or was used before, or if its number is wrong. */
  redeem({ code, number, way }: Redemption): Grant | null {
    this.#forgetOld()
    const link = this.#links.get(hashOf(code))
    if (!link || link.grant.way !== way || link.wrongNumbers >= MAX_WRONG_NUMBERS) return null
    if (link.numberHash !== null && !timingSafeEqual(link.numberHash, digest(number ?? ''))) {
      link.wrongNumbers += 1
      if (link.wrongNumbers >= MAX_WRONG_NUMBERS) link.endsAt = Math.min(link.endsAt, this.#clock.now().mono)
      this.#onUse(link)
      return null
    }
    const isValid = link.uses === 0 && this.#clock.now().mono < link.endsAt
    // A code that came too late has started nothing, so a second attempt is not a second use.
    if (!isValid && link.uses === 0) return null
    link.uses += 1
    this.#onUse(link)
    return isValid ? link.grant : null
  }

  find(id: string): Link | undefined {
    return [...this.#links.values()].find((link) => link.id === id)
  }

  /** Whether a code can still start a session. */
  get isAnyOpen(): boolean {
    const { mono } = this.#clock.now()
    return [...this.#links.values()].some(({ uses, endsAt }) => uses === 0 && mono < endsAt)
  }

  /** The links that were used more than once. */
  get reused(): Link[] {
    return [...this.#links.values()].filter(({ uses }) => uses > 1)
  }

  /** Forgets all codes. */
  clear(): void {
    this.#links.clear()
  }

  #forgetOld(): void {
    const { mono } = this.#clock.now()
    for (const [hash, { endsAt }] of this.#links) if (mono > endsAt + KNOWN_MS) this.#links.delete(hash)
  }
}

/** The codes are found by their hash, so that the time of a look-up reveals nothing about a code. */
function hashOf(code: string): string {
  return digest(code).toString('hex')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
