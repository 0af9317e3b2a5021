// The client for compose runs: `connect().compose`. Must stay quick to load, like the library. Test: test/e2e/cli/compose.test.ts.
import type { Client } from './client.ts'
import type { ComposeBody, OneRunView, PlanView, ResumeNodeBody, RunsView, RunView } from '../views/compose.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

type ComposeRequest = Omit<ComposeBody, 'cwd'> & { cwd?: string }

export class Compose {
  readonly #client: Client
  readonly #env: () => Record<string, string>

  /** `env`: returns the environment that is sent if a call names none */
  constructor(client: Client, env = () => process.env as Record<string, string>) {
    this.#client = client
    this.#env = env
  }

  /**
   * Starts a run of the agents of a file. The default file is the nearest reeve.yaml in or above `cwd`; the default `cwd` is that of this
   * program. Resolves when the start has been written to disk. `onNote` receives remarks for the user. Nothing runs after an error.
   * Errors: `AGENT_INVALID` with the line, `CREDENTIALS_MISSING`, and those of a spawn.
   */
  async up(
    body: ComposeRequest = {},
    { onNote, ...options }: CallOptions & { readonly onNote?: (note: string) => void } = {},
  ): Promise<RunView> {
    const { run, note } = await this.#client.post<OneRunView>('/v1/compose', { cwd: process.cwd(), env: this.#env(), ...body }, options)
    if (note !== undefined) onNote?.(note)
    return run
  }

  /** Returns what `up` would run, in rows of nodes that can run in parallel. */
  plan(body: ComposeRequest = {}, options: CallOptions = {}): Promise<PlanView> {
    return this.#client.post('/v1/compose/plan', { cwd: process.cwd(), env: this.#env(), ...body }, options)
  }

  /** Returns the living runs and the newest ended ones, newest first. `limit`: the number of ended runs (default 20). */
  async list({ limit, ...options }: CallOptions & { readonly limit?: number } = {}): Promise<RunView[]> {
    return (await this.#client.get<RunsView>('/v1/compose', { limit }, options)).runs
  }

  /** Returns a run with its nodes. `ref`: the name, PID or UUID of the run. */
  async get(ref: string, options: CallOptions = {}): Promise<RunView> {
    return (await this.#client.get<OneRunView>(runPath(ref), {}, options)).run
  }

  /** Resumes a node, or replaces its process by a fork; then runs its dependents again. `note`: a remark for the user, if there is one. */
  resume(ref: string, body: ResumeNodeBody, options: CallOptions = {}): Promise<OneRunView> {
    return this.#client.post(`${runPath(ref)}/resume`, { env: this.#env(), ...body }, options)
  }
}

function runPath(ref: string): string {
  return `/v1/compose/${encodeURIComponent(ref)}`
}
