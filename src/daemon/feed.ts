// The feed: facts after their commit and live events, to whoever looks. Bounded: a slow viewer loses nothing that is
// kept, as it goes back to the store at its cursor; of live events it loses what it cannot take, and is told so.
// Owns the subscriptions. Durable facts never depend on it. Test: test/e2e/events.test.ts.
import { eventOf, liveEvent } from './events.ts'
import type { EventView } from '../api/views.ts'
import type { Live } from '../drivers/port.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Pid, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'

/** events that may wait for one viewer */
const MAX_WAITING = 250
/** facts per page of history; a slow viewer holds one page */
const PAGE = 32

export interface Subscription {
  /** null: all processes */
  readonly uuid: Uuid | null
  /** cursor after which to begin */
  readonly after: number
  /** with what is not kept: text as it is written */
  readonly live: boolean
  /** end at the present instead of waiting */
  readonly follow: boolean
  readonly signal: AbortSignal
}

class Viewer {
  readonly subscription: Subscription
  waiting: EventView[] = []
  /** facts were passed over: they are in the store after the cursor */
  behind = true
  lostLive = 0
  ended = false
  wake = Promise.withResolvers<void>()

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  wants(uuid: Uuid): boolean {
    return this.subscription.uuid === null || this.subscription.uuid === uuid
  }

  get hasNews(): boolean {
    return this.behind || this.waiting.length > 0
  }

  poke(): void {
    this.wake.resolve()
  }
}

export class Feed {
  readonly #store: Store
  readonly #viewers = new Set<Viewer>()
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  publish(facts: readonly StoredFact[]): void {
    if (this.#viewers.size === 0) return
    const events = facts.map(eventOf)
    for (const viewer of this.#viewers) {
      for (const event of events) if (viewer.wants(event.uuid)) offer(viewer, event)
      if (viewer.hasNews) viewer.poke()
    }
  }

  live(uuid: Uuid, pid: Pid, event: Live): void {
    for (const viewer of this.#viewers) {
      if (!viewer.subscription.live || !viewer.wants(uuid)) continue
      if (viewer.waiting.length >= MAX_WAITING) viewer.lostLive += 1
      else viewer.waiting.push(liveEvent(uuid, pid, this.#now(), event))
      viewer.poke()
    }
  }

  /** The live channel of a process is closed; its viewers see what is left and end if they follow just that one. */
  end(uuid: Uuid): void {
    for (const viewer of this.#viewers) {
      if (viewer.subscription.uuid === uuid) viewer.poke()
    }
  }

  /** All events after the cursor, without gap or repetition, then what comes. Ends at the abort, or at the present. */
  async *subscribe(subscription: Subscription): AsyncGenerator<EventView> {
    const viewer = new Viewer(subscription)
    const { signal } = subscription
    const stop = (): void => viewer.poke()
    signal.addEventListener('abort', stop)
    this.#viewers.add(viewer)
    try {
      let cursor = subscription.after
      while (!signal.aborted) {
        for await (const event of this.#next(viewer, cursor)) {
          if (event.seq > 0) cursor = event.seq
          yield event
          if (signal.aborted) return
        }
        if (!subscription.follow) return
        if (!viewer.hasNews) await viewer.wake.promise
        viewer.wake = Promise.withResolvers()
      }
    } finally {
      this.#viewers.delete(viewer)
      signal.removeEventListener('abort', stop)
    }
  }

  /** From the store while the viewer is behind, else what waits for it. */
  async *#next(viewer: Viewer, cursor: number): AsyncGenerator<EventView> {
    let last = cursor
    if (viewer.behind) {
      const { uuid } = viewer.subscription
      viewer.waiting = viewer.waiting.filter((event) => event.seq === 0)
      viewer.behind = false
      for (;;) {
        const page = await this.#store.since({ afterCursor: last, limit: PAGE, ...(uuid === null ? {} : { uuid }) })
        for (const fact of page) {
          last = fact.cursor
          yield eventOf(fact)
        }
        if (page.length < PAGE) break
      }
    }
    yield* this.#waiting(viewer, last)
  }

  *#waiting(viewer: Viewer, cursor: number): Generator<EventView> {
    const events = viewer.waiting
    viewer.waiting = []
    for (const event of events) if (event.seq === 0 || event.seq > cursor) yield event
    if (viewer.lostLive === 0) return
    const { uuid } = viewer.subscription
    yield { version: 1, seq: 0, uuid: uuid ?? '', pid: 0, at: new Date(this.#now()).toISOString(), type: 'live.gap', lost: viewer.lostLive }
    viewer.lostLive = 0
  }
}

/** What does not fit is not queued: the viewer is behind, and reads it from the store. */
function offer(viewer: Viewer, event: EventView): void {
  if (viewer.behind) return
  if (viewer.waiting.length < MAX_WAITING) viewer.waiting.push(event)
  else viewer.behind = true
}
