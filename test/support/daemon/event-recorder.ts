// Records every event of a daemon until the daemon ends. A daemon sends an event only when its fact is durable, so each recorded
// event must be in the store, even after a crash.
import type { Client } from '../../../src/api/client/client.ts'

export class EventRecorder {
  readonly #abort = new AbortController()
  readonly #lines: string[] = []
  readonly #finished: Promise<void>

  constructor(client: Client) {
    this.#finished = this.#record(client)
  }

  /** Stops recording; returns `cursor uuid type` of each received event. */
  async close(): Promise<readonly string[]> {
    this.#abort.abort()
    await this.#finished
    return this.#lines
  }

  async #record(client: Client): Promise<void> {
    const events = client.events('/v1/events', { query: { follow: true }, signal: this.#abort.signal })
    for await (const { seq, uuid, fact } of events) this.#lines.push(`${seq} ${uuid} ${String(fact)}`)
  }
}
