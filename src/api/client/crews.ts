// The client for crews: `connect().crews`. Must stay quick to load, like the library. Test: test/e2e/crew/up.test.ts.
import type { Client } from './client.ts'
import type { CrewDiffView } from '../views/crew-diff.ts'
import type { CrewReportView } from '../views/crew-report.ts'
import type { CrewPlanView, CrewUpBody, CrewUpView, RolesView } from '../views/crew-up.ts'
import type { CrewCommandBody, CrewSteerView, CrewsView, CrewView, TaskDetailView } from '../views/crew.ts'
import type { DiffSelection } from '../../kernel/model/crew/words.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export class Crews {
  readonly #client: Client
  readonly #env: () => Record<string, string>

  /** `env`: returns the environment that is sent if a call names none */
  constructor(client: Client, env = () => process.env as Record<string, string>) {
    this.#client = client
    this.#env = env
  }

  /**
   * Starts a crew with its tasks. Resolves when the start has been written to disk. `cwd` and `env` default to those of this program.
   * Errors: those of a spawn, and `AGENT_INVALID` with file and line for an invalid file.
   */
  up(body: Omit<CrewUpBody, 'cwd'> & { cwd?: string }, options: CallOptions = {}): Promise<CrewUpView> {
    return this.#client.post('/v1/crews', { cwd: process.cwd(), env: this.#env(), ...body } satisfies CrewUpBody, options)
  }

  /** Returns what `up` with the same request would start, with the same errors. Starts and creates nothing. */
  plan(body: Omit<CrewUpBody, 'cwd'> & { cwd?: string }, options: CallOptions = {}): Promise<CrewPlanView> {
    return this.#client.post('/v1/crews/plan', { cwd: process.cwd(), env: this.#env(), ...body } satisfies CrewUpBody, options)
  }

  /** Returns the living crews. With `all`, the ended crews precede them. */
  async list(options: CallOptions & { all?: boolean } = {}): Promise<CrewView[]> {
    const { signal, all } = options
    return (await this.#client.get<CrewsView>('/v1/crews', { all: all ? 1 : undefined }, { signal })).crews
  }

  /** Returns a living or ended crew, with its tasks and members. Errors: `INVALID` for a process that is not a crew. */
  async get(ref: string, options: CallOptions = {}): Promise<CrewView> {
    return (await this.#client.get<{ crew: CrewView }>(crewPath(ref), {}, options)).crew
  }

  /** Returns a task with its texts, messages and history. Errors: `NOT_FOUND`. */
  async task(ref: string, id: string, options: CallOptions = {}): Promise<TaskDetailView> {
    return (await this.#client.get<{ task: TaskDetailView }>(`${crewPath(ref)}/task`, { id }, options)).task
  }

  /**
   * Returns the change of a task: the version under review, the committed one, or the merged one. The field `of` of the answer is null if
   * there is no change. `lines`: the greatest number of lines of the diff (default 4,000; 0: only the files). Errors: `NOT_FOUND`.
   */
  diff(ref: string, task: string, options: CallOptions & { which?: DiffSelection; lines?: number } = {}): Promise<CrewDiffView> {
    const { signal, which, lines } = options
    return this.#client.get(`${crewPath(ref)}/diff`, { task, which, lines }, { signal })
  }

  /**
   * Returns the report of a crew: the outcome of each task, with its workers and cost, and the open points for the user. Errors: `INVALID`
   * for a process that is not a crew.
   */
  report(ref: string, options: CallOptions = {}): Promise<CrewReportView> {
    return this.#client.get(`${crewPath(ref)}/report`, {}, options)
  }

  /** Sends a command of the user to a crew. A refusal names the alternatives. */
  command(ref: string, command: CrewCommandBody, options: CallOptions = {}): Promise<CrewSteerView> {
    return this.#client.post(`${crewPath(ref)}/commands`, command, options)
  }

  /** Returns the prompts of the roles in a directory (default: that of this program). `errors` contains the invalid files. */
  roles(cwd = process.cwd(), options: CallOptions = {}): Promise<RolesView> {
    return this.#client.get('/v1/roles', { cwd }, options)
  }
}

function crewPath(ref: string): string {
  return `/v1/crews/${encodeURIComponent(ref)}`
}
