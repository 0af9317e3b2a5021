// Records every event of a daemon from now on. A daemon sends an event only when its fact is durable, so each recorded event must be in
// the store, even after a crash. The client connects again after a crash, so the recorder ends only when a test closes it.
import type { Client } from '../../../src/api/client/client.ts'

export class EventRecorder {
  readonly #abort = new AbortController()
  readonly #lines: string[] = []
  readonly #finished: Promise<void>

  constructor(client: Client) {
    this.#finished = this.#record(client)
  }

  /** Stops recording. Returns `SEQ UUID FACT` of each received event, where FACT is the type of its fact. */
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
