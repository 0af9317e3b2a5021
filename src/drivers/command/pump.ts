// Carries one stream of a program to the kernel as `output` reports: coalesced, and each acknowledged before more is read,
// so that a program which writes faster than the disk waits at its pipe. If the kernel no longer listens the rest is read
// and dropped: a full pipe never hangs a program. Tests: test/processes/command.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { LineCutter } from './lines.ts'
import type { Cutter } from './lines.ts'

/** Whole lines wait this long for company. */
const COALESCE_MS = 50
/** The beginning of a line, a prompt say, waits this long for its end. */
const PARTIAL_MS = 500
/** A report is made at once when it has this much. */
const REPORT_BYTES = 32 * 1024

/** Resolves when the stream has ended and all of it is acknowledged. Once `deliver` rejects it is not called again. */
export async function pump(stream: Readable, deliver: (text: string) => Promise<unknown>, cutter: Cutter = new LineCutter()): Promise<void> {
  const batch = new Batch(cutter)
  const chunks: AsyncIterator<Buffer> = stream.iterator()
  let heard = true
  const tell = async (text: string) => {
    if (text !== '' && heard) heard = await deliver(text).then(() => true, () => false)
  }
  let next = chunks.next()
  for (;;) {
    const result = await beforeDue(next, batch.dueMs())
    if (result?.done === true) break
    if (result !== null) {
      batch.add(result.value)
      next = chunks.next()
    }
    await tell(batch.take(result === null))
  }
  await tell(batch.takeAll())
}

/** Text that waits to be reported, and since when. */
class Batch {
  readonly #cutter: Cutter
  #lines = ''
  #since = performance.now()

  constructor(cutter: Cutter) {
    this.#cutter = cutter
  }

  add(chunk: Buffer): void {
    if (this.#lines === '') this.#since = performance.now()
    this.#lines += this.#cutter.feed(chunk).join('')
  }

  /** ms until something is due; null if nothing waits. */
  dueMs(): number | null {
    if (this.#lines === '' && this.#cutter.restBytes === 0) return null
    const wait = this.#lines === '' ? PARTIAL_MS : COALESCE_MS
    return Math.max(0, this.#since + wait - performance.now())
  }

  /** What is due: because the time has come, or because it is enough. */
  take(timeIsUp: boolean): string {
    if (!timeIsUp && Buffer.byteLength(this.#lines) < REPORT_BYTES) return ''
    const text = this.#lines === '' ? this.#cutter.flush() : this.#lines
    this.#lines = ''
    this.#since = performance.now()
    return text
  }

  takeAll(): string {
    const text = this.#lines + this.#cutter.end()
    this.#lines = ''
    return text
  }
}

/** The promise's value, or null if it takes longer than `ms`. */
async function beforeDue<T>(promise: Promise<T>, ms: number | null): Promise<T | null> {
  if (ms === null) return promise
  const over = new AbortController()
  try {
    return await Promise.race([promise, sleep(ms, null, { signal: over.signal }).catch(() => null)])
  } finally {
    over.abort()
  }
}
