// The library: `connect()` gives the daemon's processes the names that the API has. The command line uses it, nothing else.
// Must stay light to load: no schema library, no server, no store. Test: test/tables/cli-client.test.ts.
import { clientSocket, paths } from './config/paths.ts'
import { Client } from './api/client.ts'
import type {
  AgentProblem, AgentView, CheckView, DaemonView, EventView, PauseBody, ProcessView, RemovedView, ResumeBody, SendBody, SignalBody, SpawnBody, SteerView, StepView, UsageField,
} from './api/views.ts'
import type { LogLine } from './api/log-lines.ts'
import type { Signal } from './kernel/types.ts'

export { ApiError } from './api/client.ts'
export type { LogLine } from './api/log-lines.ts'
export type { ErrorCode } from './kernel/errors.ts'
export type { Limits, Signal } from './kernel/types.ts'
export type {
  AgentProblem, AgentView, CheckView, DaemonView, EventView, HoldView, PauseBody, ProcessView, RemovedView, ResumeBody, SpawnBody, Status, SteerView, StepView, UsageView,
} from './api/views.ts'

/** What a wait waits for. */
export type WaitFor = 'exited' | 'ready' | 'suspended' | 'waiting'

export interface ConnectOptions {
  /** the directory of configuration and state; default `$REEVE_HOME`, else the XDG directories */
  readonly home?: string
  /** the daemon's socket, if it is not the one of `home`; then no daemon is started */
  readonly socket?: string
  /** start the daemon when none answers; default true */
  readonly start?: boolean
  /** told when it begins to start the daemon */
  readonly onStart?: (started: Promise<void>) => unknown
}

export interface EventsOptions {
  /** events of one process: PID, name or UUID (part); absent: of all */
  readonly process?: string
  /** begin after this `seq`; absent: from the beginning, but with `follow` and no `process` from now on */
  readonly after?: number
  /** begin with the last so many */
  readonly tail?: number
  /** begin with what happened since: wall ms, or ISO 8601 */
  readonly since?: number | string
  /** go on when the present is reached, also through broken connections, until `process` has ended or `signal` aborts */
  readonly follow?: boolean
  /** also what is not kept: text while it is written (`live.text`), output of tools */
  readonly live?: boolean
  readonly signal?: AbortSignal
}

/** The longest wait of one request, in ms; `wait` asks again until its own time is over. */
const POLL_MS = 60_000

/** How long a check of the whole store may take, in ms. */
const VERIFY_MS = 3_600_000

/** Makes a client of the daemon of this home. Connects at the first call, and starts the daemon then if none answers. */
export function connect(options: ConnectOptions = {}): Reeve {
  const { socket } = options
  if (socket !== undefined) return new Reeve(new Client({ socketPath: () => socket }))
  const env = options.home === undefined ? process.env : { ...process.env, REEVE_HOME: options.home }
  const where = paths(env)
  const start = async (): Promise<void> => {
    const started = import('./cli/start-daemon.ts').then(({ startDaemon }) => startDaemon(env))
    options.onStart?.(started)
    await started
  }
  return new Reeve(new Client({ socketPath: () => clientSocket(where), start: options.start === false ? undefined : start }))
}

/**
 * The processes of one daemon. `ref` is a PID, an exact name, or a part (the first or last 4 digits or more) of a UUID.
 * Every call rejects with `ApiError`, whose `code` is one of the closed table in docs/errors.md.
 */
export class Reeve {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Starts a process. `cwd` and `env` are this program's unless given. Errors: `INVALID`, `AGENT_INVALID`, `COMMAND_NOT_FOUND`, `NOT_RUNNABLE`, `CREDENTIALS_MISSING`, `CONFLICT`, `RESOURCE_EXHAUSTED`. */
  async spawn(body: Omit<SpawnBody, 'cwd'> & { cwd?: string }): Promise<ProcessView> {
    const whole: SpawnBody = { cwd: process.cwd(), env: clientEnv(), ...body }
    return (await this.#client.post<{ process: ProcessView }>('/v1/processes', whole)).process
  }

  /** One process, dead or alive. Errors: `NOT_FOUND`, `AMBIGUOUS`, `COLLECTED`. */
  async get(ref: string): Promise<ProcessView> {
    return (await this.#client.get<{ process: ProcessView }>(at(ref))).process
  }

  /** The dead (with `all`: the `limit` newest of them, oldest first), then the live by PID. `fields` are all, unless some are named; with parts of `usage` it has these alone. */
  async list<K extends keyof ProcessView = keyof ProcessView>(options: { all?: boolean; limit?: number; fields?: readonly (K | UsageField)[] } = {}): Promise<Pick<ProcessView, K>[]> {
    const { fields, ...query } = options
    const answer = await this.#client.get<{ processes: Pick<ProcessView, K>[] }>('/v1/processes', { ...query, fields: fields?.join(',') })
    return answer.processes
  }

  /** How many processes there are, and how many there may be. */
  async count(): Promise<DaemonView['processes']> {
    return (await this.daemon()).processes
  }

  /** Waits until the process is as asked (default: has exited), or has ended, or `timeoutMs` is over (default: never). */
  async wait(ref: string, options: { for?: WaitFor; timeoutMs?: number; signal?: AbortSignal } = {}): Promise<{ process: ProcessView; timedOut: boolean }> {
    const deadline = performance.now() + (options.timeoutMs ?? Infinity)
    for (;;) {
      const left = Math.max(0, deadline - performance.now())
      const timeoutMs = Math.ceil(Math.min(POLL_MS, left))
      const query = { for: options.for ?? 'exited', timeoutMs }
      const answer = await this.#client.get<{ process: ProcessView; timedOut: boolean }>(`${at(ref)}/wait`, query, { signal: options.signal, extraMs: timeoutMs, again: true })
      if (!answer.timedOut || left <= POLL_MS) return { process: answer.process, timedOut: answer.timedOut }
    }
  }

  /** Sends a signal. The answer says how many it reached. Errors: `NOT_FOUND` also for what has ended, `PERMISSION`. */
  signal(ref: string, signal: Signal, options: { graceMs?: number } = {}): Promise<SteerView> {
    return this.#client.post(`${at(ref)}/signal`, { signal, ...options } satisfies SignalBody)
  }

  /** Sends a signal to a process and all its living descendants. */
  signalTree(ref: string, signal: Signal, options: { graceMs?: number } = {}): Promise<SteerView> {
    return this.#client.post(`${at(ref)}/signal`, { signal, subtree: true, ...options } satisfies SignalBody)
  }

  /** Adds the hold `user` (`subtree` with it): softly at the next boundary, or at once with `now`. */
  pause(ref: string, options: PauseBody = {}): Promise<SteerView> {
    return this.#client.post(`${at(ref)}/pause`, options)
  }

  /** Wakes a suspended process, or begins a new incarnation of one that has ended. Errors: `NOT_RESUMABLE`, `INVALID`. */
  resume(ref: string, options: ResumeBody = {}): Promise<SteerView> {
    return this.#client.post(`${at(ref)}/resume`, { env: clientEnv(), ...options } satisfies ResumeBody)
  }

  /** Queues a message for the process; it is delivered as a turn of its own. */
  send(ref: string, text: string): Promise<{ id: string; queueCount: number }> {
    return this.#client.post(`${at(ref)}/send`, { text } satisfies SendBody)
  }

  /** Removes an ended process for good, with its journal and all that it wrote. Errors: `CONFLICT` for one that has not ended, `COLLECTED`. */
  remove(ref: string): Promise<RemovedView> {
    return this.#client.delete(at(ref))
  }

  /** Events in order, each once; of removed processes there are none any more. */
  events(options: EventsOptions = {}): AsyncGenerator<EventView, void> {
    const { process: ref, signal, ...query } = options
    if (ref === undefined) return this.#client.events('/v1/events', { query, signal })
    return this.#client.events(`${at(ref)}/events`, { query, signal, isLast: (event) => event['fact'] === 'process.reaped' })
  }

  /** A page of the steps, oldest first, after the step `after`. */
  async steps(ref: string, options: { after?: number; limit?: number } = {}): Promise<StepView[]> {
    return (await this.#client.get<{ steps: StepView[] }>(`${at(ref)}/steps`, { ...options })).steps
  }

  /** The last lines that it said and printed (since a time: wall ms, or ISO 8601); events after `cursor` are not in them yet. */
  logs(ref: string, options: { tail?: number; since?: number | string } = {}): Promise<{ lines: LogLine[]; cursor: number }> {
    return this.#client.get(`${at(ref)}/logs`, { ...options })
  }

  /** The agents that can be run from a directory (default: this program's), and the files that cannot. */
  agents(cwd = process.cwd()): Promise<{ agents: AgentView[]; errors: AgentProblem[] }> {
    return this.#client.get('/v1/agents', { cwd })
  }

  daemon(): Promise<DaemonView> {
    return this.#client.get('/v1/daemon')
  }

  /** What the daemon finds about its surroundings; `verify` also checks the whole store. */
  async doctor(options: { verify?: boolean } = {}): Promise<CheckView[]> {
    const answer = await this.#client.get<{ checks: CheckView[] }>('/v1/doctor', { ...options }, options.verify ? { extraMs: VERIFY_MS } : {})
    return answer.checks
  }

  /** Asks the daemon to drain (for `drainMs` at most, default 10 s) and end; it has not ended yet when this resolves. A second time can only shorten the drain. */
  async stopDaemon(options: { drainMs?: number } = {}): Promise<void> {
    await this.#client.post('/v1/daemon/stop', options)
  }
}

function at(ref: string): string {
  return `/v1/processes/${encodeURIComponent(ref)}`
}

function clientEnv(): Record<string, string> {
  return process.env as Record<string, string>
}
