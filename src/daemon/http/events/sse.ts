// Writes server-sent events to a response, no faster than the client reads them. Also sends the heartbeat. The caller decides which events
// are sent. Test: test/e2e/daemon/events.test.ts.
import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { beginStream } from '../compress.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { errorBody } from '../error-body.ts'
import type { EventView } from '../../../api/views/daemon.ts'

/** Interval in ms of comments, by which both sides notice a dead connection. */
const HEARTBEAT_MS = 15_000

/** A batch with more characters is written at once. */
const MAX_BATCH_CHARS = 64 * 1024

/** Writes all events, then ends the response. Stops when `clientGone` aborts. Errors: those of the events. */
export async function writeEvents(response: ServerResponse, events: AsyncIterable<EventView>, clientGone: AbortSignal): Promise<void> {
  const batch = new Batch(beginStream(response))
  await writeStream(response, events, clientGone, {
    output: batch.output,
    add: (event) => batch.add(frameOf(event)),
    flush: () => batch.flush(),
  })
}

/** Writes encoded events, like `writeEvents`. */
export async function writeFrames(response: ServerResponse, frames: AsyncIterable<Buffer>, clientGone: AbortSignal): Promise<void> {
  const output = beginStream(response)
  await writeStream(response, frames, clientGone, { output, add: (bytes) => output.write(bytes), flush: () => {} })
}

interface StreamWriter<T> {
  /** the response, or a compressor in front of it */
  readonly output: Writable
  readonly add: (item: T) => unknown
  readonly flush: () => void
}

async function writeStream<T>(
  response: ServerResponse,
  items: AsyncIterable<T>,
  clientGone: AbortSignal,
  writer: StreamWriter<T>,
): Promise<void> {
  const { output } = writer
  const heartbeat = setInterval(() => {
    if (!output.writableNeedDrain) output.write(': still here\n\n')
  }, HEARTBEAT_MS)
  try {
    for await (const item of items) {
      writer.add(item)
      if (output.writableNeedDrain && !clientGone.aborted) await waitForDrain(output, clientGone)
      if (clientGone.aborted) return
    }
    writer.flush()
    output.end()
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    // The client must learn why the stream ends: without the error it would reconnect.
    writer.flush()
    output.end(`event: error\ndata: ${JSON.stringify(errorBody(error))}\n\n`)
    throw error
  } finally {
    clearInterval(heartbeat)
    // Without a proper end the client knows that the stream was cut off, and reconnects.
    if (!output.writableEnded) response.destroy()
  }
}

/** Combines events that are available at the same time into one write, which costs a tenth of the separate writes. */
class Batch {
  readonly output: Writable
  #text = ''

  constructor(output: Writable) {
    this.output = output
  }

  add(frame: string): void {
    // The tick runs after all events that are available now have been added.
    if (this.#text === '') process.nextTick(() => this.flush())
    this.#text += frame
    if (this.#text.length > MAX_BATCH_CHARS) this.flush()
  }

  flush(): void {
    if (this.#text !== '' && !this.output.destroyed) this.output.write(this.#text)
    this.#text = ''
  }
}

/** Serialized events, because the same event is sent to many viewers. */
const frames = new WeakMap<EventView, string>()

function frameOf(event: EventView): string {
  const known = frames.get(event)
  if (known !== undefined) return known
  const frame = serialize(event)
  frames.set(event, frame)
  return frame
}

/** Formats an event. Live events get no id, so that a client that reconnects continues after the last durable event. */
function serialize(event: EventView): string {
  const id = event.seq > 0 ? `id: ${event.seq}\n` : ''
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Resolves when more data can be written, or the client has gone. */
function waitForDrain(output: Writable, clientGone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => {
    output.off('drain', done)
    clientGone.removeEventListener('abort', done)
    resolve()
  }
  output.on('drain', done)
  clientGone.addEventListener('abort', done)
  return promise
}
