// The worker that all tabs share; in a browser without shared workers each tab has its own. For each session it holds one stream to the
// daemon, and opens a broken one again. It keeps the rows, and passes each event to each tab of the session. Must never keep a token that
// no tab has. Test: test/e2e/web/page.test.ts, test/e2e/web/access/return.test.ts.
import { applyRowEvent, needsAfter, type RowEvent } from '../src/api/row-events.ts'
import type { RowView } from '../src/api/views/rows.ts'
import { readStream } from './api.ts'
import { setProvenAt, type Credentials } from './peer.ts'
import { stateAfter, type FromWorker, type LinkState, type ToWorker } from './worker-messages.ts'

const STREAM = '/v1/rows?follow=1&scope=recent&shape=objects'
const RETRY_MS = 1_000
/** after this time without a byte, twice the interval of the daemon's signs of life, the stream is opened again */
const SILENCE_MS = 5_000
/** the longest wait for the first byte of a stream, in ms; longer, because the daemon first proves itself and reads all rows */
const FIRST_BYTE_MS = 15_000

/** The connection to a tab: a port of a shared worker, or the scope of the tab's own worker. */
type TabPort = Pick<MessagePort, 'postMessage' | 'addEventListener'>

/** The stream of one session, and the tabs that show it. */
class Feed {
  readonly #credentials: Credentials
  readonly #ports = new Set<TabPort>()
  readonly #stream = new AbortController()
  /** the rows so far, for tabs that come later */
  readonly #rows = new Map<string, RowView>()
  /** the head of those rows; null: none yet */
  #newest: Extract<RowEvent, { type: 'reset' }> | null = null
  #link: LinkState = { state: 'opening', lastByteAt: null }

  constructor(credentials: Credentials) {
    this.#credentials = credentials
    this.#follow().catch(() => this.#setLink({ state: 'lost' }))
  }

  /** Adds a tab, and sends it all rows. */
  join(port: TabPort): void {
    this.#ports.add(port)
    port.postMessage({ type: 'link', link: this.#link } satisfies FromWorker)
    if (!this.#newest) return
    port.postMessage({ type: 'rows', event: { ...this.#newest, rows: [...this.#rows.values()] } } satisfies FromWorker)
  }

  /** Removes a tab. The last one ends the stream, and the token is forgotten. */
  leave(port: TabPort): void {
    if (!this.#ports.delete(port) || this.#ports.size > 0) return
    this.#stream.abort()
    this.#forget()
  }

  #forget(): void {
    if (feeds.get(this.#credentials.token) === this) feeds.delete(this.#credentials.token)
  }

  #broadcast(message: FromWorker): void {
    for (const port of this.#ports) port.postMessage(message)
  }

  #setLink(next: Partial<LinkState>): void {
    this.#link = { ...this.#link, ...next }
    this.#broadcast({ type: 'link', link: this.#link })
  }

  #takeEvent(event: RowEvent): void {
    applyRowEvent(this.#rows, event)
    if (event.type === 'reset') this.#newest = { ...event, rows: [] }
    else if (this.#newest) {
      const { cursor, seq } = event
      const sums = event.type === 'rows' ? (event.sums ?? this.#newest.sums) : this.#newest.sums
      const needs = needsAfter(this.#newest.needs, event)
      this.#newest = { ...this.#newest, cursor, seq, sums, needs, now: event.type === 'alive' ? event.now : this.#newest.now }
    }
    this.#broadcast({ type: 'rows', event })
  }

  /** The stream goes on after the last event, or begins with all rows. */
  #path(): string {
    return this.#newest === null ? STREAM : `${STREAM}&after=${encodeURIComponent(this.#newest.cursor)}`
  }

  /** Follows the stream until it is refused, or no tab is left. */
  async #follow(): Promise<void> {
    while (!this.#stream.signal.aborted) {
      const state = await this.#readOnce()
      if (this.#stream.signal.aborted) return
      if (state === 'refused') this.#forget()
      this.#setLink({ state })
      if (state === 'refused') return
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  /** Reads one stream to its end, and returns how it ended. */
  async #readOnce(): Promise<'lost' | 'refused' | 'foreign'> {
    // A stream that is opened anew may meet another program.
    setProvenAt(null)
    let deadline = Date.now() + FIRST_BYTE_MS
    const silence = new AbortController()
    const watch = setInterval(() => Date.now() > deadline && silence.abort(), 1_000)
    try {
      await readStream(this.#credentials, this.#path(), {
        signal: AbortSignal.any([this.#stream.signal, silence.signal]),
        onByte: () => {
          const lastByteAt = Date.now()
          deadline = lastByteAt + SILENCE_MS
          this.#setLink({ state: 'open', lastByteAt })
        },
        onEvent: ({ data }) => this.#takeEvent(JSON.parse(data) as RowEvent),
      })
    } catch (error) {
      return stateAfter(error)
    } finally {
      clearInterval(watch)
    }
    return 'lost'
  }
}

/** The streams by their tokens. */
const feeds = new Map<string, Feed>()

function leaveAll(port: TabPort): void {
  for (const feed of feeds.values()) feed.leave(port)
}

function onMessage(port: TabPort, message: ToWorker): void {
  leaveAll(port)
  if (message.type === 'bye') return
  const { credentials } = message
  const feed = feeds.get(credentials.token) ?? new Feed(credentials)
  feeds.set(credentials.token, feed)
  feed.join(port)
}

function serveTab(port: TabPort): void {
  port.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => onMessage(port, data))
  // A tab that crashes sends no `bye`.
  port.addEventListener('close', () => leaveAll(port))
}

if ('DedicatedWorkerGlobalScope' in globalThis) serveTab(globalThis as unknown as TabPort)
else
  addEventListener('connect', (event) => {
    const [port] = (event as MessageEvent).ports
    if (!port) return
    serveTab(port)
    port.start()
  })
