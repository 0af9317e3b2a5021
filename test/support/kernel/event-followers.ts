// Clients that follow the events of a simulated daemon, each from a cursor on. At the end each must have received all events in
// order; a missing event must belong to a removed process. The process of each cursor is recorded, across restarts of the daemon.
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Core } from './daemon-core.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

/** limited, because followers wait in real time between pages */
const MAX_FOLLOWERS = 5

interface EventFollower {
  readonly after: number
  readonly received: number[]
  readonly abort: AbortController
}

export class EventFollowers {
  readonly #removed: ReadonlySet<Uuid>
  readonly #reportViolation: (description: string) => void
  readonly #owners = new Map<number, Uuid>()
  #followers: EventFollower[] = []

  /** `removed`: all processes that were removed so far */
  constructor(removed: ReadonlySet<Uuid>, reportViolation: (description: string) => void) {
    this.#removed = removed
    this.#reportViolation = reportViolation
  }

  /** Follows the feed from a cursor on. */
  add(core: Core, after: number): void {
    if (this.#followers.length >= MAX_FOLLOWERS) return
    const received: number[] = []
    const abort = new AbortController()
    this.#followers.push({ after, received, abort })
    const followFeed = async (): Promise<void> => {
      for await (const { seq } of core.feed.subscribe({ uuid: null, after, live: false, follow: true, signal: abort.signal })) {
        if (seq > 0) received.push(seq)
      }
    }
    followFeed().catch((error: unknown) => this.#reportViolation(`the feed failed: ${String(error)}`))
  }

  dropAll(): void {
    for (const { abort } of this.#followers) abort.abort()
    this.#followers = []
  }

  /** Records the process of a fact. The facts since cursor `before` that are missing must belong to removed processes. */
  recordFact({ cursor, uuid }: StoredFact, before: number): void {
    for (let missing = before + 1; missing < cursor; missing += 1) this.#checkMissing(missing)
    this.#owners.set(cursor, uuid)
  }

  /** Checks that each follower has received all facts of existing processes, in order. */
  check(core: Core): void {
    for (const { cursor, uuid } of core.published) this.#owners.set(cursor, uuid)
    for (const { after, received } of this.#followers) {
      const cursors = new Set(received)
      if (received.some((cursor, index) => cursor <= (received[index - 1] ?? after)))
        this.#reportViolation(`a follower after ${after} received facts out of order`)
      for (let cursor = after + 1; cursor <= core.pipeline.cursor; cursor += 1) if (!cursors.has(cursor)) this.#checkMissing(cursor)
    }
  }

  #checkMissing(cursor: number): void {
    const owner = this.#owners.get(cursor)
    if (owner === undefined ? this.#removed.size === 0 : !this.#removed.has(owner))
      this.#reportViolation(`fact ${cursor} of ${owner ?? 'an unknown process'} is missing`)
  }
}
