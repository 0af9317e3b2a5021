// A client that looks on: remembers each event that the daemon has told it of, until the daemon is gone.
// What it saw was acknowledged, so that it must be in the store whatever happened then.
import type { Client } from '../../src/api/client.ts'

export class Witness {
  readonly #abort = new AbortController()
  readonly #seen: string[] = []
  readonly #over: Promise<void>

  constructor(client: Client) {
    this.#over = this.#watch(client)
  }

  /** Looks no more; gives `cursor uuid type` of all that it was told. */
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
