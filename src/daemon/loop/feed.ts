// The feed: sends committed facts and live events to the viewers of event streams, in bounded memory. A slow viewer loses no durable event,
// because it reads the events after its cursor from the store. A slow viewer may lose live events, and receives their number. A viewer that
// begins in the middle of a step receives the text of the step so far, or the number of its pieces. Must never delay or change a commit.
// Tests: test/tables/daemon/loop/feed.test.ts, test/e2e/daemon/events.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventOf, liveEvent } from './events.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { LiveOutput } from '../../drivers/port.ts'
import type { FactType, StoredFact } from '../../kernel/model/facts.ts'
import type { Store } from '../../store/store.ts'
import { isoTime } from '../views/format-times.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

/** The largest number of events that wait for one viewer. */
const MAX_WAITING = 250
/** The largest length of an unfinished text that is kept for new viewers, in characters. */
const MAX_OPEN_TEXT = 65_536
/** The facts that end the text of a step: the text has been stored, or it is discarded. */
const TEXT_ENDING_FACTS: ReadonlySet<FactType> = new Set(['model.finished', 'model.failed', 'process.ready', 'process.exited'])
/** Facts per page of history; each slow viewer has one page in memory. */
const PAGE_FACTS = 32
/** With more viewers than this, each viewer pauses for `PAUSE_MS` after a delivery, so that its next delivery has more events. */
const FEW_VIEWERS = 8
const PAUSE_MS = 20

export interface Subscription {
  /** the process whose events are sent; null: all processes */
  readonly uuid: Uuid | null
  /** the cursor of the last event before the stream */
  readonly after: number
  /** true: also sends live events, which are not stored, such as text while a model writes it */
  readonly live: boolean
  /** true: waits for new events; false: ends after the newest event */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/** The text of an unfinished step. */
interface OpenText {
  readonly pid: Pid
  readonly step: number
  /** null: too long to keep */
  readonly text: string | null
  /** the number of pieces so far */
  readonly pieces: number
}

class Viewer {
  readonly subscription: Subscription
  waiting: EventView[] = []
  /** true if facts were not added to `waiting`, so that the viewer must read the store from its cursor */
  isBehind = true
  /** true while the viewer reads pages of the store */
  isReading = false
  /** the number of live events that did not fit into `waiting` */
  lostLive = 0
  /** resolves when the viewer has events, or its subscription ends */
  wake = Promise.withResolvers<void>()

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  wants(uuid: Uuid): boolean {
    return this.subscription.uuid === null || this.subscription.uuid === uuid
  }

  get hasEvents(): boolean {
    return this.isBehind || this.isReading || this.waiting.length > 0
  }

  wakeUp(): void {
    this.wake.resolve()
  }
}

export class Feed {
  readonly #store: Store
  readonly #viewers = new Set<Viewer>()
  readonly #openTexts = new Map<Uuid, OpenText>()
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Sends committed facts to the viewers. */
  publish(facts: readonly StoredFact[]): void {
    if (this.#openTexts.size > 0) for (const { uuid, body } of facts) if (TEXT_ENDING_FACTS.has(body.type)) this.#openTexts.delete(uuid)
    if (this.#viewers.size === 0) return
    const events = facts.map((fact) => eventOf(fact))
    for (const viewer of this.#viewers) {
      for (const event of events) if (viewer.wants(event.uuid)) enqueue(viewer, event)
      if (viewer.hasEvents) viewer.wakeUp()
    }
  }

  /** Sends an event that is not stored to the viewers that asked for live events. */
  publishLive(uuid: Uuid, pid: Pid, event: LiveOutput): void {
    if (event.type === 'text') this.#keepOpenText(uuid, pid, event)
    for (const viewer of this.#viewers) {
      if (!viewer.subscription.live || !viewer.wants(uuid)) continue
      if (viewer.waiting.length >= MAX_WAITING) viewer.lostLive += 1
      else viewer.waiting.push(liveEvent(uuid, pid, this.#now(), event))
      viewer.wakeUp()
    }
  }

  /** Wakes the viewers of one ended process, so that they send their last events and end. */
  endStreamsOf(uuid: Uuid): void {
    this.#openTexts.delete(uuid)
    for (const viewer of this.#viewers) {
      if (viewer.subscription.uuid === uuid) viewer.wakeUp()
    }
  }

  /**
   * Yields all events after the cursor, and then new ones, without a gap or a repetition. Ends when the signal aborts. Without `follow`
   * it ends after the newest event.
   */
  async *subscribe(subscription: Subscription): AsyncGenerator<EventView> {
    const viewer = new Viewer(subscription)
    const { signal, follow } = subscription
    const stop = (): void => viewer.wakeUp()
    signal.addEventListener('abort', stop)
    if (subscription.live) viewer.waiting.push(...this.#openTextEvents(viewer))
    this.#viewers.add(viewer)
    try {
      let cursor = subscription.after
      while (!signal.aborted) {
        for (const event of await this.#nextEvents(viewer, cursor)) {
          if (event.seq > 0) cursor = event.seq
          yield event
          if (signal.aborted) return
        }
        if (!follow && !viewer.isReading) return
        if (this.#viewers.size > FEW_VIEWERS && !viewer.isReading) await sleep(PAUSE_MS)
        if (!viewer.hasEvents) await viewer.wake.promise
        viewer.wake = Promise.withResolvers()
      }
    } finally {
      this.#viewers.delete(viewer)
      signal.removeEventListener('abort', stop)
    }
  }

  /** Appends a piece to the unfinished text of a step. A new step begins a new text. */
  #keepOpenText(uuid: Uuid, pid: Pid, { step, text }: { readonly step: number; readonly text: string }): void {
    const open = this.#openTexts.get(uuid)
    const before = open?.step === step ? open : { text: '', pieces: 0 }
    const openText = before.text === null || before.text.length + text.length > MAX_OPEN_TEXT ? null : before.text + text
    this.#openTexts.set(uuid, { pid, step, text: openText, pieces: before.pieces + 1 })
  }

  /**
   * Returns one event for each unfinished text that the viewer wants. If a text was too long to keep, its event has the number of pieces.
   */
  #openTextEvents(viewer: Viewer): EventView[] {
    return [...this.#openTexts]
      .filter(([uuid]) => viewer.wants(uuid))
      .map(([uuid, { pid, step, text, pieces }]) =>
        text === null
          ? { ...gapEvent(uuid, pid, this.#now(), pieces), step }
          : { ...liveEvent(uuid, pid, this.#now(), { type: 'text', step, text }), whole: true },
      )
  }

  /** Returns the viewer's waiting events. For a viewer that is behind, returns the next page of the store. */
  async #nextEvents(viewer: Viewer, cursor: number): Promise<readonly EventView[]> {
    if (!viewer.isReading) {
      viewer.isReading = viewer.isBehind
      if (!viewer.isReading || viewer.waiting.length > 0 || viewer.lostLive > 0) return this.#takeWaiting(viewer, cursor)
    }
    if (viewer.isBehind) {
      viewer.waiting = viewer.waiting.filter((event) => event.seq === 0)
      viewer.isBehind = false
    }
    const { uuid } = viewer.subscription
    const page = await this.#store.since({ afterCursor: cursor, limit: PAGE_FACTS, ...(uuid === null ? {} : { uuid }) })
    viewer.isReading = page.length === PAGE_FACTS
    return page.map((fact) => eventOf(fact))
  }

  #takeWaiting(viewer: Viewer, cursor: number): readonly EventView[] {
    const events = viewer.waiting.filter((event) => event.seq === 0 || event.seq > cursor)
    viewer.waiting = []
    const {
      lostLive: lost,
      subscription: { uuid },
    } = viewer
    if (lost === 0) return events
    viewer.lostLive = 0
    return [...events, gapEvent(uuid ?? '', 0, this.#now(), lost)]
  }
}

function gapEvent(uuid: string, pid: Pid, now: number, lost: number): EventView {
  return { version: 1, seq: 0, uuid, pid, at: isoTime(now), type: 'live.gap', lost }
}

/** Queues an event for a viewer. If the queue is full, the event is dropped: the viewer is then behind, and reads the store. */
function enqueue(viewer: Viewer, event: EventView): void {
  if (viewer.isBehind) return
  if (viewer.waiting.length < MAX_WAITING) viewer.waiting.push(event)
  else viewer.isBehind = true
}
