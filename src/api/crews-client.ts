// What a program can ask of crews: `connect().crews`. The names are those of the API. Must stay light to load, as the library.
// Test: test/e2e/crew-up.test.ts.
import type { Client } from './client.ts'
import type { RolesView } from './role-views.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export class Crews {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** What the members of a crew are told in a directory (default: this program's), by their role. Errors: `AGENT_INVALID`. */
  roles(cwd = process.cwd(), options: CallOptions = {}): Promise<RolesView> {
    return this.#client.get('/v1/roles', { cwd }, options)
  }
}
