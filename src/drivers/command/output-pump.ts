// Reads one stream of a program, and passes its text on in batches. Each batch is acknowledged before more is read. So a program that
// writes faster than the disk blocks at its pipe. Once the receiver accepts no more, the rest is read and dropped: a full pipe must never
// block a program. Tests: test/processes/command/command.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { OutputLineSplitter } from './output-splitters.ts'
import type { StreamSplitter } from './output-splitters.ts'

/** How long whole lines wait for further lines. */
const COALESCE_MS = 50
/** How long the beginning of a line, such as a prompt, waits for the end of that line. */
const PARTIAL_MS = 500
/** The size at which text is reported at once. */
const REPORT_BYTES = 32 * 1024

/**
 * Sends the stream to `deliver`. Resolves when the stream has ended and all of it is acknowledged. Once `deliver` has rejected, it
 * is not called again.
 */
export async function pumpOutput(
  stream: Readable,
  deliver: (text: string) => Promise<unknown>,
  splitter: StreamSplitter = new OutputLineSplitter(),
): Promise<void> {
  const batch = new Batch(splitter)
  const chunks: AsyncIterator<Buffer> = stream.iterator()
  let isAccepting = true
  const send = async (text: string) => {
    if (text !== '' && isAccepting)
      isAccepting = await deliver(text).then(
        () => true,
        () => false,
      )
  }
  let next = chunks.next()
  for (;;) {
    const result = await valueWithin(next, batch.dueMs())
    if (result?.done === true) break
    if (result !== null) {
      batch.add(result.value)
      next = chunks.next()
    }
    await send(batch.take(result === null))
  }
  await send(batch.takeAll())
}

/** Text that waits to be reported. */
class Batch {
  readonly #splitter: StreamSplitter
  #lines = ''
  #oldestAt = performance.now()

  constructor(splitter: StreamSplitter) {
    this.#splitter = splitter
  }

  add(chunk: Buffer): void {
    if (this.#lines === '') this.#oldestAt = performance.now()
    this.#lines += this.#splitter.feed(chunk).join('')
  }

  /** Returns the time in ms until the text must be reported; null if no text waits. */
  dueMs(): number | null {
    if (this.#lines === '' && this.#splitter.bufferedBytes === 0) return null
    const wait = this.#lines === '' ? PARTIAL_MS : COALESCE_MS
    return Math.max(0, this.#oldestAt + wait - performance.now())
  }

  /** Returns the text that must be reported now, because of its age or its size; empty if there is none. */
  take(isDue: boolean): string {
    if (!isDue && Buffer.byteLength(this.#lines) < REPORT_BYTES) return ''
    const text = this.#lines === '' ? this.#splitter.flush() : this.#lines
    this.#lines = ''
    this.#oldestAt = performance.now()
    return text
  }

  takeAll(): string {
    const text = this.#lines + this.#splitter.end()
    this.#lines = ''
    return text
  }
}

/** Returns the promise's value, or null if it takes longer than `ms`. */
async function valueWithin<T>(promise: Promise<T>, ms: number | null): Promise<T | null> {
  if (ms === null) return promise
  const stopWait = new AbortController()
  try {
    // The abort of the wait is not an error.
    return await Promise.race([promise, sleep(ms, null, { signal: stopWait.signal }).catch(() => null)])
  } finally {
    stopWait.abort()
  }
}
