// A fake daemon of thousands of processes for `reeve top`: it sends their rows, changes on demand, and a sign of life every 2.5 s.
import type { ServerResponse } from 'node:http'
import type { RowEvent } from '../../../src/api/row-events.ts'
import type { RowView } from '../../../src/api/views/rows.ts'
import { startFakeDaemon, type FakeDaemon } from '../daemon/fake-daemon.ts'
import { manyChanges, manyRows, sumsOf } from './rows.ts'

const ALIVE_MS = 2_500

export class ManyRowsDaemon implements AsyncDisposable {
  readonly #rows: readonly RowView[]
  readonly #streams = new Set<ServerResponse>()
  readonly #alive = setInterval(() => this.#send({ ...this.#state(), type: 'alive', now: new Date().toISOString() }), ALIVE_MS)
  #daemon: FakeDaemon | undefined
  #round = 0

  private constructor(rows: readonly RowView[]) {
    this.#rows = rows
  }

  /** `rows`: the rows, or how many */
  static async start(home: string, rows: number | readonly RowView[]): Promise<ManyRowsDaemon> {
    const made = new ManyRowsDaemon(typeof rows === 'number' ? manyRows(rows) : rows)
    made.#daemon = await startFakeDaemon(home, {
      'GET /v1/daemon': () => ({ json: { version: 1, cursor: 1 } }),
      'GET /v1/needs': () => ({ json: { version: 1, needs: [], total: 0, snoozed: 0 } }),
      'GET /v1/usage/rate': () => ({ json: { version: 1, since: new Date().toISOString(), total: [], trees: [] } }),
      'GET /v1/usage': () => ({ json: { version: 1, rows: [] } }),
      'GET /v1/rows': () => ({ stream: (response) => made.#open(response) }),
    })
    return made
  }

  /** Changes this number of rows in one event. */
  change(changed: number): void {
    this.#round += 1
    this.#send({ ...this.#state(), type: 'rows', up: manyChanges(this.#rows.length, changed, this.#round), gone: [] })
  }

  #open(response: ServerResponse): void {
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
    const now = new Date().toISOString()
    write(response, { ...this.#state(), type: 'reset', needs: [], now, rows: this.#rows, sums: sumsOf(this.#rows.length) })
  }

  #state(): { readonly cursor: string; readonly seq: number } {
    return { cursor: `a.${this.#round}`, seq: this.#round }
  }

  #send(event: RowEvent): void {
    for (const response of this.#streams) write(response, event)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#alive)
    await this.#daemon?.[Symbol.asyncDispose]()
  }
}

function write(response: ServerResponse, event: RowEvent): void {
  response.write(`id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}
