// Server-sent events: writes a subscription to a response, no faster than its reader takes it.
// Owns the wire format and the heartbeat; what is sent and where it resumes is the feed's. Test: test/e2e/events.test.ts.
import type { ServerResponse } from 'node:http'
import type { EventView } from '../../api/views.ts'

/** a comment goes out after so many ms of silence, so that a dead link is noticed */
const HEARTBEAT_MS = 15_000

/** characters that are put together to one write */
const MAX_BATCH = 64 * 1024

/** Writes all events; ends the response at their end, and stops when the reader has gone. */
export async function writeEvents(response: ServerResponse, events: AsyncIterable<EventView>, gone: AbortSignal): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.flushHeaders()
  const batch = new Batch(response)
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': still here\n\n')
  }, HEARTBEAT_MS)
  try {
    for await (const event of events) {
      batch.add(frameOf(event))
      if (response.writableNeedDrain && !gone.aborted) await drained(response, gone)
      if (gone.aborted) return
    }
    batch.flush()
    response.end()
  } finally {
    clearInterval(heartbeat)
    // Without its end a stream is broken off: its reader knows that there is more, and comes back.
    if (!response.writableEnded) response.destroy()
  }
}

/** What is there at one time goes out as one write: it costs a tenth of a write for each. */
class Batch {
  readonly #response: ServerResponse
  #text = ''

  constructor(response: ServerResponse) {
    this.#response = response
  }

  add(frame: string): void {
    // A tick comes after all that can be had without waiting.
    if (this.#text === '') process.nextTick(() => this.flush())
    this.#text += frame
    if (this.#text.length > MAX_BATCH) this.flush()
  }

  flush(): void {
    if (this.#text !== '' && !this.#response.destroyed) this.#response.write(this.#text)
    this.#text = ''
  }
}

/** One event goes to many viewers: it is written out once. */
const frames = new WeakMap<EventView, string>()

function frameOf(event: EventView): string {
  const known = frames.get(event)
  if (known !== undefined) return known
  const made = frame(event)
  frames.set(event, made)
  return made
}

/** Live events have no id: a reader that comes back goes on after the last one that is kept. */
function frame(event: EventView): string {
  const id = event.seq > 0 ? `id: ${event.seq}\n` : ''
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => {
    response.off('drain', done)
    gone.removeEventListener('abort', done)
    resolve()
  }
  response.on('drain', done)
  gone.addEventListener('abort', done)
  return promise
}
