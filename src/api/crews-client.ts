// What a program can ask of crews: `connect().crews`. The names are those of the API. Must stay light to load, as the library.
// Test: test/e2e/crew-up.test.ts.
import type { Client } from './client.ts'
import type { CrewReportView } from './crew-report-views.ts'
import type { CrewUpBody, CrewUpView } from './crew-up-views.ts'
import type { CrewCommandBody, CrewSteerView, CrewView, TaskDetailView } from './crew-views.ts'
import type { RolesView } from './role-views.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export class Crews {
  readonly #client: Client
  readonly #env: () => Record<string, string>

  /** `env`: what is given to the daemon where a call says nothing else */
  constructor(client: Client, env = () => process.env as Record<string, string>) {
    this.#client = client
    this.#env = env
  }

  /**
   * Starts a crew with its tasks; resolves when that is on disk. `cwd` and `env` are this program's unless given.
   * Errors: those of a spawn, and `AGENT_INVALID` with the place for a file that cannot be used.
   */
  up(body: Omit<CrewUpBody, 'cwd'> & { cwd?: string }, options: CallOptions = {}): Promise<CrewUpView> {
    return this.#client.post('/v1/crews', { cwd: process.cwd(), env: this.#env(), ...body } satisfies CrewUpBody, options)
  }

  /** The crews that live; with `all` those that have ended before them. */
  async list(options: CallOptions & { all?: boolean } = {}): Promise<CrewView[]> {
    const { signal, all } = options
    return (await this.#client.get<{ crews: CrewView[] }>('/v1/crews', { all: all ? 1 : undefined }, { signal })).crews
  }

  /** A crew with its tasks and members, dead or alive. Errors: `INVALID` where it is no crew. */
  async get(ref: string, options: CallOptions = {}): Promise<CrewView> {
    return (await this.#client.get<{ crew: CrewView }>(at(ref), {}, options)).crew
  }

  /** A task with its texts, its thread and what happened to it. Errors: `NOT_FOUND`. */
  async task(ref: string, id: string, options: CallOptions = {}): Promise<TaskDetailView> {
    return (await this.#client.get<{ task: TaskDetailView }>(`${at(ref)}/task`, { id }, options)).task
  }

  /** What became of each task, who did it, what it cost, and what is left for a person. Errors: `INVALID` where it is no crew. */
  report(ref: string, options: CallOptions = {}): Promise<CrewReportView> {
    return this.#client.get(`${at(ref)}/report`, {}, options)
  }

  /** Says something to a crew, as a person. Errors: those of the command, with what can be done instead. */
  command(ref: string, command: CrewCommandBody, options: CallOptions = {}): Promise<CrewSteerView> {
    return this.#client.post(`${at(ref)}/commands`, command, options)
  }

  /** What the members of a crew are told in a directory (default: this program's), by their role; `errors` has the files that cannot be used. */
  roles(cwd = process.cwd(), options: CallOptions = {}): Promise<RolesView> {
    return this.#client.get('/v1/roles', { cwd }, options)
  }
}

function at(ref: string): string {
  return `/v1/crews/${encodeURIComponent(ref)}`
}
