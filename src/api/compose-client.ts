// What a program can ask of runs of compose files: `connect().compose`. The names are those of the API. Must stay light to load, as
// the library. Test: test/e2e/cli-compose.test.ts.
import type { Client } from './client.ts'
import type { ComposeBody, OneRunView, PlanView, ResumeNodeBody, RunsView, RunView } from './compose-views.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

type Asked = Omit<ComposeBody, 'cwd'> & { cwd?: string }

export class Compose {
  readonly #client: Client
  readonly #env: () => Record<string, string>

  /** `env`: what is given to the daemon where a call says nothing else */
  constructor(client: Client, env = () => process.env as Record<string, string>) {
    this.#client = client
    this.#env = env
  }

  /**
   * Starts a run of the agents of a file (default: the nearest reeve.yaml above `cwd`, which is this program's unless given); resolves
   * when that is on disk. Errors: `AGENT_INVALID` with the line, `CREDENTIALS_MISSING`, and those of a spawn; then nothing runs.
   */
  async up(body: Asked = {}, options: CallOptions = {}): Promise<RunView> {
    return (await this.#client.post<OneRunView>('/v1/compose', { cwd: process.cwd(), env: this.#env(), ...body }, options)).run
  }

  /** What `up` would run, in rows of what may run side by side. */
  plan(body: Asked = {}, options: CallOptions = {}): Promise<PlanView> {
    return this.#client.post('/v1/compose/plan', { cwd: process.cwd(), env: this.#env(), ...body }, options)
  }

  /** The runs that live, and the `limit` (20) newest that have ended; the newest first. */
  async list({ limit, ...options }: CallOptions & { readonly limit?: number } = {}): Promise<RunView[]> {
    return (await this.#client.get<RunsView>('/v1/compose', { limit }, options)).runs
  }

  /** A run with its nodes. */
  async get(ref: string, options: CallOptions = {}): Promise<RunView> {
    return (await this.#client.get<OneRunView>(at(ref), {}, options)).run
  }

  /** A node goes on, or a fork of it in its place; then what depends on it runs again. `note` says what else there is to know. */
  resume(ref: string, body: ResumeNodeBody, options: CallOptions = {}): Promise<OneRunView> {
    return this.#client.post(`${at(ref)}/resume`, { env: this.#env(), ...body }, options)
  }
}

function at(ref: string): string {
  return `/v1/compose/${encodeURIComponent(ref)}`
}
