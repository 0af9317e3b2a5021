// Finds the facts of which the last daemon did not notify the user before it ended. Each channel, such as the desktop, has a mark: a
// cursor. The notices of all facts up to the mark were sent or lost. A later fact causes a notice if it is still true. The mark is written
// after each delivery, so that a crash may repeat a notice, and loses none. Test: test/e2e/daemon/notifications.test.ts.
import { isStillTrue } from './notices.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** Older facts are no longer reported. */
const MAX_AGE_MS = 24 * 3_600_000
const PAGE_FACTS = 200
/**
 * The largest number of facts between the mark and the newest fact, if none of them needs a notice. A start reads at most twice as many.
 */
const MAX_BEHIND = 10_000

export interface MissedDeps {
  readonly store: Pick<Store, 'since' | 'process' | 'notifiedUpTo' | 'setNotifiedUpTo'>
  readonly get: (uuid: Uuid) => Process | undefined
  /** returns the time now in wall ms */
  readonly now: () => number
}

/** A fact, with the process in its current state. */
export interface FactWithProcess {
  readonly fact: StoredFact
  readonly process: Process | undefined
}

/** Yields the facts between two cursors that are still true, in pages. */
export async function* missedFacts(
  { store, get, now }: MissedDeps,
  after: number,
  upTo: number,
): AsyncGenerator<readonly FactWithProcess[]> {
  for (let cursor = Math.max(after, upTo - 2 * MAX_BEHIND); cursor < upTo;) {
    const page = await store.since({ afterCursor: cursor, limit: PAGE_FACTS })
    const recent = page.filter((fact) => fact.cursor <= upTo && now() - fact.at <= MAX_AGE_MS)
    const found = await Promise.all(recent.map(async (fact) => ({ fact, process: get(fact.uuid) ?? (await store.process(fact.uuid)) })))
    yield found.filter(({ fact, process }) => process !== undefined && isStillTrue(fact, process))
    if (page.length < PAGE_FACTS) return
    cursor = page.at(-1)?.cursor ?? upTo
  }
}

/** The mark of one channel: the cursor up to which all facts were handled. */
export class NotifiedMark {
  readonly #store: MissedDeps['store']
  readonly #channel: string
  /** the mark in the store */
  #storedCursor = 0

  constructor(store: MissedDeps['store'], channel: string) {
    this.#store = store
    this.#channel = channel
  }

  /** Reads the mark of the last daemon. The mark of a new channel is set to `newestCursor`. */
  async read(newestCursor: number): Promise<number> {
    const stored = await this.#store.notifiedUpTo(this.#channel)
    this.#storedCursor = Math.min(stored ?? newestCursor, newestCursor)
    if (stored === null) await this.#store.setNotifiedUpTo(this.#channel, newestCursor)
    return this.#storedCursor
  }

  /** True if the mark should be written even without a notice. */
  isFarBehind(newestCursor: number): boolean {
    return newestCursor - this.#storedCursor >= MAX_BEHIND
  }

  /**
   * Moves the mark to the newest fact up to which all facts were handled. `firstOpen`: the cursor of the first fact that is not reported
   * yet.
   */
  async advance(newestCursor: number, firstOpen: number | null): Promise<void> {
    const cursor = firstOpen === null ? newestCursor : firstOpen - 1
    if (cursor <= this.#storedCursor) return
    this.#storedCursor = cursor
    await this.#store.setNotifiedUpTo(this.#channel, cursor)
  }
}
