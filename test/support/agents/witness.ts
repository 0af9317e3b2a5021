// A client that records every event of a daemon until the daemon is gone. A daemon sends an event only when its fact is durable:
// each recorded event must be in the store, even after a crash.
import type { Client } from '../../../src/api/client/client.ts'

export class Witness {
  readonly #abort = new AbortController()
  readonly #seen: string[] = []
  readonly #over: Promise<void>

  constructor(client: Client) {
    this.#over = this.#watch(client)
  }

  /** Stops recording; returns `cursor uuid type` of each received event. */
  async close(): Promise<readonly string[]> {
    this.#abort.abort()
    await this.#over
    return this.#seen
  }

  async #watch(client: Client): Promise<void> {
    const events = client.events('/v1/events', { query: { follow: true }, signal: this.#abort.signal })
    for await (const { seq, uuid, fact } of events) this.#seen.push(`${seq} ${uuid} ${String(fact)}`)
  }
}
