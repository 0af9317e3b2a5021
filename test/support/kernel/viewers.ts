// Those who follow a simulated daemon's events, each from a cursor on; and what they must have seen when all is quiet.
// Knows whose fact each cursor is, over all daemons: one that is missing must have been of a process that was removed.
import type { StoredFact } from '../../../src/kernel/facts.ts'
import type { Uuid } from '../../../src/kernel/types.ts'
import type { Core } from './daemon-core.ts'

/** more would rest between pages, in real time */
const MAX_VIEWERS = 5

interface Viewer {
  readonly after: number
  readonly seen: number[]
  readonly gone: AbortController
}

export class Viewers {
  readonly #gone: ReadonlySet<Uuid>
  readonly #broken: (words: string) => void
  readonly #owners = new Map<number, Uuid>()
  #viewers: Viewer[] = []

  /** `gone`: all that were removed so far */
  constructor(gone: ReadonlySet<Uuid>, broken: (words: string) => void) {
    this.#gone = gone
    this.#broken = broken
  }

  /** Follows the feed from a cursor on. */
  add(core: Core, after: number): void {
    if (this.#viewers.length >= MAX_VIEWERS) return
    const seen: number[] = []
    const gone = new AbortController()
    this.#viewers.push({ after, seen, gone })
    const follow = async (): Promise<void> => {
      for await (const { seq } of core.feed.subscribe({ uuid: null, after, live: false, follow: true, signal: gone.signal })) {
        if (seq > 0) seen.push(seq)
      }
    }
    follow().catch((error: unknown) => this.#broken(`the feed failed: ${String(error)}`))
  }

  dropAll(): void {
    for (const { gone } of this.#viewers) gone.abort()
    this.#viewers = []
  }

  /** A fact that is there, and the one that was read before it. */
  note({ cursor, uuid }: StoredFact, before: number): void {
    for (let missing = before + 1; missing < cursor; missing += 1) this.#gap(missing)
    this.#owners.set(cursor, uuid)
  }

  /** Who follows has seen all that is of processes that are there, in order; what was removed before it was read is not seen. */
  check(core: Core): void {
    for (const { cursor, uuid } of core.published) this.#owners.set(cursor, uuid)
    for (const { after, seen } of this.#viewers) {
      const told = new Set(seen)
      if (seen.some((cursor, index) => cursor <= (seen[index - 1] ?? after))) this.#broken(`a viewer after ${after} has seen facts out of order`)
      for (let cursor = after + 1; cursor <= core.pipeline.cursor; cursor += 1) if (!told.has(cursor)) this.#gap(cursor)
    }
  }

  #gap(cursor: number): void {
    const owner = this.#owners.get(cursor)
    if (owner === undefined ? this.#gone.size === 0 : !this.#gone.has(owner)) this.#broken(`${cursor} of ${owner ?? 'nobody'}`)
  }
}
