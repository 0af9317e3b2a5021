// The worker that all tabs share: it holds the one stream to the daemon, opens it again when it breaks, keeps the rows, and passes each
// event to each tab. Must never keep a token that no tab has. Test: test/e2e/web/page.test.ts, test/e2e/web/access/return.test.ts.
import { applyRowEvent, type RowEvent } from '../src/api/row-events.ts'
import type { RowView } from '../src/api/views/rows.ts'
import { readStream } from './api.ts'
import { RequestError } from './request-error.ts'
import { ForeignPeerError, noteProof, type Credentials } from './peer.ts'
import type { FromWorker, LinkState, ToWorker } from './shared.ts'

const STREAM = '/v1/rows?follow=1&scope=recent&shape=objects'
const RETRY_MS = 1_000
/** without a byte for this time, twice the daemon's sign of life, the stream is opened again */
const SILENCE_MS = 5_000
/** a tab that was closed says nothing, so its port is dropped when the browser has collected it */
const ports = new Map<MessagePort, Credentials>()
let link: LinkState = { state: 'opening', lastByteAt: null }
let stream: AbortController | null = null

/** the rows of the last stream, for tabs that come later; null: none yet */
let newest: Extract<RowEvent, { type: 'reset' }> | null = null
const rows = new Map<string, RowView>()

function broadcast(message: FromWorker): void {
  for (const port of ports.keys()) port.postMessage(message)
}

function setLink(next: Partial<LinkState>): void {
  link = { ...link, ...next }
  broadcast({ type: 'link', link })
}

function takeEvent(event: RowEvent): void {
  applyRowEvent(rows, event)
  if (event.type === 'reset') newest = { ...event, rows: [] }
  else if (newest) {
    const { cursor, seq } = event
    const sums = event.type === 'rows' ? (event.sums ?? newest.sums) : newest.sums
    newest = { ...newest, cursor, seq, sums, now: event.type === 'alive' ? event.now : newest.now }
  }
  broadcast({ type: 'rows', event })
}

/** The stream goes on after the last event, or begins with all rows. */
function streamPath(): string {
  return newest === null ? STREAM : `${STREAM}&after=${encodeURIComponent(newest.cursor)}`
}

/** Follows the stream with a token until it is refused or replaced. */
async function follow(credentials: Credentials, { signal }: AbortController): Promise<void> {
  while (!signal.aborted) {
    // A stream that is opened anew may meet another program.
    noteProof(null)
    let state: LinkState['state'] = 'lost'
    const silence = new AbortController()
    const watch = setInterval(() => Date.now() - (link.lastByteAt ?? 0) > SILENCE_MS && link.state === 'open' && silence.abort(), 1_000)
    try {
      await readStream(credentials, streamPath(), {
        signal: AbortSignal.any([signal, silence.signal]),
        onByte: () => setLink({ state: 'open', lastByteAt: Date.now() }),
        onEvent: ({ data }) => takeEvent(JSON.parse(data) as RowEvent),
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof RequestError && error.isRefused) {
        stream = null
        setLink({ state: 'refused' })
        return
      }
      if (error instanceof ForeignPeerError) state = 'foreign'
    } finally {
      clearInterval(watch)
    }
    setLink({ state })
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** Follows with the token of the tab that came last: an older one may have been revoked. */
function start(credentials: Credentials): void {
  stream?.abort()
  stream = new AbortController()
  newest = null
  rows.clear()
  setLink({ state: 'opening' })
  follow(credentials, stream).catch(() => setLink({ state: 'lost' }))
}

function onMessage(port: MessagePort, message: ToWorker): void {
  if (message.type === 'bye') {
    ports.delete(port)
    if (ports.size > 0) return
    stream?.abort()
    stream = null
    return
  }
  const { credentials } = message
  const isNew = ![...ports.values()].some(({ token }) => token === credentials.token)
  ports.set(port, credentials)
  if (stream === null || isNew) return start(credentials)
  port.postMessage({ type: 'link', link } satisfies FromWorker)
  if (newest) port.postMessage({ type: 'rows', event: { ...newest, rows: [...rows.values()] } } satisfies FromWorker)
}

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  port?.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => onMessage(port, data))
  port?.start()
})
