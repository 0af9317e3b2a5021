// The feed: facts after their commit and live events, to whoever looks. Bounded: a slow viewer loses nothing that is
// kept, as it goes back to the store at its cursor; of live events it loses what it cannot take, and is told so.
// Owns the subscriptions. Durable facts never depend on it. Test: test/e2e/events.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventOf, liveEvent, memberWords } from './events.ts'
import type { EventView } from '../api/views.ts'
import type { Live } from '../drivers/port.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Pid, Uuid } from '../kernel/types.ts'
import type { View } from '../kernel/view.ts'
import type { Store } from '../store/store.ts'
import { iso } from './times.ts'

/** events that may wait for one viewer */
const MAX_WAITING = 250
/** facts per page of history; a slow viewer holds one page */
const PAGE = 32
/** With more viewers than this each rests after what it was given, in ms, so that the next is worth waking it for. */
const FEW_VIEWERS = 8
const REST_MS = 20

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
  /** pages of the store are being read */
  isReading = false
  lostLive = 0
  wake = Promise.withResolvers<void>()

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  wants(uuid: Uuid): boolean {
    return this.subscription.uuid === null || this.subscription.uuid === uuid
  }

  get hasNews(): boolean {
    return this.behind || this.isReading || this.waiting.length > 0
  }

  poke(): void {
    this.wake.resolve()
  }
}

export class Feed {
  readonly #store: Store
  readonly #viewers = new Set<Viewer>()
  readonly #now: () => number
  readonly #table: Pick<View, 'get'>

  constructor(store: Store, now: () => number, table: Pick<View, 'get'>) {
    this.#store = store
    this.#now = now
    this.#table = table
  }

  publish(facts: readonly StoredFact[]): void {
    if (this.#viewers.size === 0) return
    const events = facts.map((fact) => this.#event(fact))
    for (const viewer of this.#viewers) {
      for (const event of events) if (viewer.wants(event.uuid)) offer(viewer, event)
      if (viewer.hasNews) viewer.poke()
    }
  }

  #event(fact: StoredFact): EventView {
    return { ...memberWords(this.#table, fact.uuid), ...eventOf(fact) }
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
    const { signal, follow } = subscription
    const stop = (): void => viewer.poke()
    signal.addEventListener('abort', stop)
    this.#viewers.add(viewer)
    try {
      let cursor = subscription.after
      while (!signal.aborted) {
        for (const event of await this.#next(viewer, cursor)) {
          if (event.seq > 0) cursor = event.seq
          yield event
          if (signal.aborted) return
        }
        if (!follow && !viewer.isReading) return
        if (this.#viewers.size > FEW_VIEWERS && !viewer.isReading) await sleep(REST_MS)
        if (!viewer.hasNews) await viewer.wake.promise
        viewer.wake = Promise.withResolvers()
      }
    } finally {
      this.#viewers.delete(viewer)
      signal.removeEventListener('abort', stop)
    }
  }

  /** What waits for the viewer; then, while it is behind that, pages of the store. */
  async #next(viewer: Viewer, cursor: number): Promise<readonly EventView[]> {
    if (!viewer.isReading) {
      viewer.isReading = viewer.behind
      if (!viewer.isReading || viewer.waiting.length > 0 || viewer.lostLive > 0) return this.#waiting(viewer, cursor)
    }
    if (viewer.behind) {
      viewer.waiting = viewer.waiting.filter((event) => event.seq === 0)
      viewer.behind = false
    }
    const { uuid } = viewer.subscription
    const page = await this.#store.since({ afterCursor: cursor, limit: PAGE, ...(uuid === null ? {} : { uuid }) })
    viewer.isReading = page.length === PAGE
    return page.map((fact) => this.#event(fact))
  }

  #waiting(viewer: Viewer, cursor: number): readonly EventView[] {
    const events = viewer.waiting.filter((event) => event.seq === 0 || event.seq > cursor)
    viewer.waiting = []
    const { lostLive: lost, subscription: { uuid } } = viewer
    if (lost === 0) return events
    viewer.lostLive = 0
    return [...events, { version: 1, seq: 0, uuid: uuid ?? '', pid: 0, at: iso(this.#now()), type: 'live.gap', lost }]
  }
}

/** What does not fit is not queued: the viewer is behind, and reads it from the store. */
function offer(viewer: Viewer, event: EventView): void {
  if (viewer.behind) return
  if (viewer.waiting.length < MAX_WAITING) viewer.waiting.push(event)
  else viewer.behind = true
}
