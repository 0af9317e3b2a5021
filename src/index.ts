// The library: `connect()` gives the daemon's processes the names that the API has. The command line uses it, nothing else.
// Must stay light to load: no schema library, no server, no store. Test: test/tables/cli-client.test.ts.
import { resolve } from 'node:path'
import { clientSocket, fromHere, paths } from './config/paths.ts'
import { ApiError, Client } from './api/client.ts'
import { Compose } from './api/compose-client.ts'
import { Crews } from './api/crews-client.ts'
import type {
  AgentsView, AnswerBody, CheckView, DaemonView, DoctorModelsBody, EventView, PauseBody, ProcessView, ProviderCheckView, RemovedView, ResumeBody, SendBody, SignalBody, SignalsBody, SignalsView, SpawnBody, SpawnedView, SteerView, StepView, UsageField,
} from './api/views.ts'
import type { HeartbeatView } from './api/heartbeat-views.ts'
import type { DirBody, ExportedView, GcView, ImportedView, PinBody } from './api/history-views.ts'
import type { LineageView, ResumablesView } from './api/resume-views.ts'
import type { LogLine } from './api/log-lines.ts'
import type { UsageBy, UsageReportView, UsageSum } from './api/usage-views.ts'
import type { Handler, Signal } from './kernel/types.ts'

export { ApiError } from './api/client.ts'
export type { Compose } from './api/compose-client.ts'
export type { ComposeBody, NodeProcessView, NodeStateWord, NodeView, OneRunView, PlannedNodeView, PlanView, ResumeNodeBody, RunView } from './api/compose-views.ts'
export type { Crews } from './api/crews-client.ts'
export type { ExportedView, GcEntryView, GcSkippedView, GcView, ImportedView } from './api/history-views.ts'
export type { HeartbeatRowView, HeartbeatView, ThresholdsView } from './api/heartbeat-views.ts'
export type { LineageNodeView, LineageView, ResumableView, ResumablesView, ResumeModesView } from './api/resume-views.ts'
export type { RoleProblem, RoleView, RolesView } from './api/role-views.ts'
export type { LogLine } from './api/log-lines.ts'
export type { UsageBy, UsageReportView, UsageRowView, UsageSum, UsageSumView } from './api/usage-views.ts'
export type { ErrorCode } from './kernel/errors.ts'
export type { Activity, ContainmentKind, DriverName, Effort, Handler, HoldReason, Limits, Signal } from './kernel/types.ts'
export type {
  AgentProblem, AgentsView, AgentView, AnswerBody, AskView, CapabilitiesView, CheckView, DaemonView, EventView, HoldView, LivenessView, PendingSignalView, KeyState, PauseBody, PermitsView, ProcessView, ProviderCheckView, RemovedView, ResumeBody, SentSignalView, SignalsView, SpawnBody, Status, SteerView, StepView, SupervisedView, SupervisorBody, SupervisorView, UsageField, UsageView,
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
  /** what this program calls itself in the records of what it did to processes; default `library` */
  readonly client?: string
  /** told when it begins to start the daemon */
  readonly onStart?: (started: Promise<void>) => unknown
}

/**
 * Every call takes a `signal`: when it aborts, the call rejects with its reason. A request that changes something may have been
 * done all the same: look before you ask again.
 */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export interface EventsOptions extends CallOptions {
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
  /** told `false` when the daemon has not answered for a second, and `true` when it does again */
  readonly onLink?: (isUp: boolean) => void
}

/** The longest wait of one request, in ms; `wait` asks again until its own time is over. */
const POLL_MS = 60_000

/** How long a check of the whole store may take, in ms. */
const VERIFY_MS = 3_600_000
/** How long a collection, an export or an import may take, in ms. */
const GC_MS = 3_600_000
/** How long the first look at what a large store has used may take. */
const USAGE_MS = 600_000
/** How long the user's command may take to give keys. */
const KEYS_MS = 60_000

/** Makes a client of the daemon of this home. Connects at the first call, and starts the daemon then if none answers. */
export function connect(options: ConnectOptions = {}): Reeve {
  const { socket, client: name } = options
  if (socket !== undefined) return new Reeve(new Client({ socketPath: () => socket, name }))
  const env = fromHere(options.home === undefined ? process.env : { ...process.env, REEVE_HOME: options.home })
  const where = paths(env)
  const start = async (): Promise<void> => {
    const started = import('./cli/start-daemon.ts').then(({ startDaemon }) => startDaemon(env))
    options.onStart?.(started)
    await started
  }
  return new Reeve(new Client({ socketPath: () => clientSocket(where), name, start: options.start === false ? undefined : start }))
}

/**
 * The processes of one daemon. `ref` is a PID, an exact name, or a part (the first or last 4 digits or more) of a UUID.
 * Every call rejects with `ApiError`, whose `code` is one of the closed table in docs/errors.md: calls with a `ref` with
 * `NOT_FOUND`, `AMBIGUOUS` or `COLLECTED` (it was removed), and every call with `UNAVAILABLE` when no daemon answers.
 */
export class Reeve implements AsyncDisposable {
  readonly #client: Client
  /** made with the first call that lasts */
  #closing: AbortController | null = null

  /** crews: a coordinator, its workers and their tasks */
  readonly crews: Crews
  /** runs of compose files: agents that depend on each other */
  readonly compose: Compose

  constructor(client: Client) {
    this.#client = client
    this.crews = new Crews(client, clientEnv)
    this.compose = new Compose(client, clientEnv)
  }

  /**
   * Starts a process; resolves when that is on disk, and before it has done anything. `intent` is for an agent, `argv` is a plain
   * command. `onNote` is told what there is to know, as that a file of the directory took a built-in agent's place. `cwd` and `env` are this program's unless given; what looks like a secret in `env` is kept in memory, never written.
   * Errors: `INVALID`, `AGENT_INVALID`, `CREDENTIALS_MISSING`, `CONFLICT` (the name is taken), `RESOURCE_EXHAUSTED`, `DISK_FULL`.
   * That a command cannot be found or run is its exit, with the code 127 or 126.
   */
  async spawn(body: Omit<SpawnBody, 'cwd'> & { cwd?: string }, { onNote, ...options }: CallOptions & { readonly onNote?: (note: string) => unknown } = {}): Promise<ProcessView> {
    const whole: SpawnBody = { cwd: process.cwd(), env: clientEnv(), ...body }
    const { process: spawned, note } = await this.#client.post<SpawnedView>('/v1/processes', whole, options)
    if (note !== undefined) onNote?.(note)
    return spawned
  }

  /** One process, dead or alive. */
  async get(ref: string, options: CallOptions = {}): Promise<ProcessView> {
    return (await this.#client.get<{ process: ProcessView }>(at(ref), {}, options)).process
  }

  /**
   * The dead (with `all`: the `limit` newest of them, 10,000 at most, oldest first), then the live by PID. `fields` are all, unless
   * some are named, which is much cheaper; with parts of `usage` it has these alone.
   */
  async list<K extends keyof ProcessView = keyof ProcessView>(options: CallOptions & { all?: boolean; limit?: number; fields?: readonly (K | UsageField)[] } = {}): Promise<Pick<ProcessView, K>[]> {
    const { fields, signal, ...query } = options
    const answer = await this.#client.get<{ processes: Pick<ProcessView, K>[] }>('/v1/processes', { ...query, fields: fields?.join(',') }, { signal })
    return answer.processes
  }

  /** How many processes live (`suspended` of them are paused), and how many may be active at a time. */
  async count(options: CallOptions = {}): Promise<DaemonView['processes']> {
    return (await this.daemon(options)).processes
  }

  /**
   * Waits until the process is as asked (default: has exited), or has ended and cannot be so any more, or `timeoutMs` is over
   * (default: never; then `timedOut` is true). It waits on through a restart of the daemon.
   */
  async wait(ref: string, options: CallOptions & { for?: WaitFor; timeoutMs?: number } = {}): Promise<{ process: ProcessView; timedOut: boolean }> {
    const deadline = performance.now() + (options.timeoutMs ?? Infinity)
    const signal = this.#whileOpen(options.signal)
    for (;;) {
      const left = Math.max(0, deadline - performance.now())
      const timeoutMs = Math.ceil(Math.min(POLL_MS, left))
      const query = { for: options.for ?? 'exited', timeoutMs }
      const answer = await this.#client.get<{ process: ProcessView; timedOut: boolean }>(`${at(ref)}/wait`, query, { signal, extraMs: timeoutMs, again: true })
      if (!answer.timedOut || left <= POLL_MS) return { process: answer.process, timedOut: answer.timedOut }
    }
  }

  /**
   * Sends a signal. `graceMs` is how long SIGTERM leaves it to end by itself before it is killed; without it an agent that was seen to clean up
   * for longer has that time, and at least `leastGraceMs` (default 300). `affected` says how many it reached.
   * Errors: `NOT_FOUND` also for what has ended, `PERMISSION`.
   */
  signal(ref: string, signal: Signal, options: CallOptions & Pick<SignalBody, 'graceMs' | 'leastGraceMs'> = {}): Promise<SteerView> {
    const { signal: aborting, ...more } = options
    return this.#client.post(`${at(ref)}/signal`, { signal, ...more } satisfies SignalBody, { signal: aborting })
  }

  /** Sends a signal to a process and all its living descendants; none that is being born at that moment escapes it. */
  signalTree(ref: string, signal: Signal, options: CallOptions & Pick<SignalBody, 'graceMs' | 'leastGraceMs'> = {}): Promise<SteerView> {
    const { signal: aborting, ...more } = options
    return this.#client.post(`${at(ref)}/signal`, { signal, subtree: true, ...more } satisfies SignalBody, { signal: aborting })
  }

  /** What becomes of its signals: mask, handlers, what waits, and the last that were sent. */
  signals(ref: string, options: CallOptions = {}): Promise<SignalsView> {
    return this.#client.get(`${at(ref)}/signals`, {}, options)
  }

  /** Changes which signals are blocked: those of `set` alone, or these too (`block`) and those no more (`unblock`), which are delivered then. Errors: `INVALID` for SIGKILL. */
  sigmask(ref: string, options: CallOptions & { set?: readonly Signal[]; block?: readonly Signal[]; unblock?: readonly Signal[] } = {}): Promise<SignalsView> {
    const { signal, set, block, unblock } = options
    const body = { ...(set ? { set: [...set] } : {}), ...(block ? { block: [...block] } : {}), ...(unblock ? { unblock: [...unblock] } : {}) }
    return this.#client.post(`${at(ref)}/signals`, body satisfies SignalsBody, { signal })
  }

  /** What a signal does: its `default`, nothing (`ignore`), or the agent is told (`message`). Errors: `INVALID` for SIGKILL, and for a `message` to what takes none. */
  sighandle(ref: string, signal: Signal, handler: Handler, options: CallOptions = {}): Promise<SignalsView> {
    return this.#client.post(`${at(ref)}/signals`, { handlers: { [signal]: handler } } satisfies SignalsBody, options)
  }

  /** Adds the hold `user` (`subtree`: to all its living descendants as well): softly at the next boundary, or at once with `now`. */
  pause(ref: string, options: CallOptions & PauseBody = {}): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${at(ref)}/pause`, body satisfies PauseBody, { signal })
  }

  /**
   * Wakes a suspended process and the chain above it (`only`: just it; `subtree`: also what was paused with it), or begins a new
   * incarnation of one that has ended, with `message` and overrides. Errors: `NOT_RESUMABLE` (a plain command needs `rerun`),
   * `INVALID`, `CONFLICT`, `RESOURCE_EXHAUSTED`, `DISK_FULL`.
   */
  resume(ref: string, options: CallOptions & ResumeBody = {}): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${at(ref)}/resume`, { env: clientEnv(), ...body } satisfies ResumeBody, { signal })
  }

  /**
   * Makes a new process that goes on from the history of this one: from now, or from the end of any step (`fromStep`, 0 is before the
   * first). The origin is not touched, and may live. Errors: `NOT_RESUMABLE`, `INVALID` with the steps that there are, `COLLECTED`.
   */
  fork(ref: string, options: CallOptions & Omit<ResumeBody, 'fork' | 'subtree' | 'only' | 'rerun'> = {}): Promise<SteerView> {
    return this.resume(ref, { ...options, fork: true })
  }

  /** What is suspended or has ended, and how each can go on; `after` is the `next` of the page before. */
  resumable(options: CallOptions & { after?: string; limit?: number } = {}): Promise<ResumablesView> {
    const { signal, ...query } = options
    return this.#client.get('/v1/resumable', query, { signal })
  }

  /** The family of forks that a process belongs to, the eldest first. */
  lineage(ref: string, options: CallOptions = {}): Promise<LineageView> {
    return this.#client.get(`${at(ref)}/lineage`, {}, options)
  }

  /** Queues a message for the process; it is delivered as a turn of its own. Errors: `NOT_FOUND` for what has ended, `RESOURCE_EXHAUSTED`. */
  send(ref: string, text: string, options: CallOptions = {}): Promise<{ id: string; queueCount: number }> {
    return this.#client.post(`${at(ref)}/send`, { text } satisfies SendBody, options)
  }

  /**
   * Answers what a process asks (`asks` of its view): `option` where it gives options, else `text`; `id` where it asks more than one
   * thing. While it is suspended the answer is kept. Errors: `INVALID` with what is asked in `details`, `NOT_FOUND` for what has ended.
   */
  answer(ref: string, options: CallOptions & AnswerBody): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${at(ref)}/answer`, body satisfies AnswerBody, { signal })
  }

  /** Removes an ended process for good, with its journal and all that it wrote. Errors: `CONFLICT` for one that has not ended, that is being exported, or that is pinned (unless `force`). */
  remove(ref: string, options: CallOptions & { force?: boolean } = {}): Promise<RemovedView> {
    return this.#client.delete(`${at(ref)}${options.force ? '?force=1' : ''}`, { signal: options.signal })
  }

  /** A supervisor gives up the child of that id, which is stopped. Errors: `NOT_FOUND` where it has none. */
  removeChild(ref: string, id: string, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.delete(`${at(ref)}/children?id=${encodeURIComponent(id)}`, { signal: options.signal })
  }

  /** Keeps a process from being collected, dead or alive; `pinned: false` takes that back. `note` says if it was so already. */
  pin(ref: string, options: CallOptions & Partial<PinBody> = {}): Promise<SteerView> {
    return this.#client.post(`${at(ref)}/pin`, { pinned: options.pinned ?? true } satisfies PinBody, { signal: options.signal })
  }

  /** Writes the whole history of a process to `dir`/steps/UUID, where nothing may be yet. Errors: `CONFLICT`, `INVALID` (it cannot be written), `DISK_FULL`. */
  export(ref: string, dir: string, options: CallOptions = {}): Promise<ExportedView> {
    return this.#client.post(`${at(ref)}/export`, { dir: resolve(dir) } satisfies DirBody, { ...options, extraMs: GC_MS })
  }

  /** Brings back what `export` wrote: `dir`/steps, or one steps/UUID. Errors: `CONFLICT` (it is here), `INVALID` with the place of what is damaged, `DISK_FULL`. */
  import(dir: string, options: CallOptions = {}): Promise<ImportedView> {
    return this.#client.post('/v1/import', { dir: resolve(dir) } satisfies DirBody, { ...options, extraMs: GC_MS })
  }

  /** Collects ended processes by the rules of the configuration, and resolves when the store has room for what they took; with `dryRun` it only says which. */
  gc(options: CallOptions & { dryRun?: boolean } = {}): Promise<GcView> {
    const { signal, dryRun } = options
    return dryRun ? this.#client.get('/v1/gc', {}, { signal, extraMs: GC_MS }) : this.#client.post('/v1/gc', {}, { signal, extraMs: GC_MS })
  }

  /**
   * Events in order, each once, until the present, or with `follow` until the process has ended or the signal aborts: then the
   * iteration ends without an error. Broken connections and restarts of the daemon are bridged for 30 s.
   */
  events(options: EventsOptions = {}): AsyncGenerator<EventView, void> {
    const { process: ref, signal, onLink, ...query } = options
    const until = this.#whileOpen(signal)
    if (ref === undefined) return this.#client.events('/v1/events', { query, signal: until, onLink })
    return this.#client.events(`${at(ref)}/events`, { query, signal: until, onLink, isLast: (event) => event['fact'] === 'process.reaped' })
  }

  /** A page of the steps (`limit`: 100, at most 1,000), oldest first, after the step `after`. */
  async steps(ref: string, options: CallOptions & { after?: number; limit?: number } = {}): Promise<StepView[]> {
    const { signal, ...query } = options
    return (await this.#client.get<{ steps: StepView[] }>(`${at(ref)}/steps`, query, { signal })).steps
  }

  /** The last lines (`tail`: 100, at most 10,000) that it said and printed, since a time (wall ms, or ISO 8601); events after `cursor` are not in them yet. */
  logs(ref: string, options: CallOptions & { tail?: number; since?: number | string } = {}): Promise<{ lines: LogLine[]; cursor: number }> {
    const { signal, ...query } = options
    return this.#client.get(`${at(ref)}/logs`, query, { signal })
  }

  /** What a process and all that descend from it have used, the ended ones too (of these the 10,000 newest); without `ref` all processes, the removed ones too. */
  async usage(ref?: string, options: CallOptions = {}): Promise<UsageSum> {
    if (ref === undefined) return (await this.usageReport(options)).total
    const root = (await this.get(ref, options)).uuid
    return sumOf(root, await this.list({ all: true, fields: ['uuid', 'parentUuid', 'usage'], ...options }))
  }

  /** What all processes have used, the removed ones too, by `agent` (default), `model`, `day` or `tree`, since a time (wall ms, or ISO 8601; whole hours). */
  usageReport(options: CallOptions & { by?: UsageBy | undefined; since?: number | string | undefined } = {}): Promise<UsageReportView> {
    const { signal, ...query } = options
    return this.#client.get('/v1/usage', query, { signal, extraMs: USAGE_MS })
  }

  /** The agents that there are for a directory (default: this program's), whether each could run with this program's keys, and the files that cannot be used. */
  async agents(cwd = process.cwd(), options: CallOptions = {}): Promise<AgentsView> {
    const answer = await this.#client.get<AgentsView>('/v1/agents', { cwd, model: process.env['REEVE_MODEL'] || undefined }, options)
    return (await import('./api/own-keys.ts')).withOwnKeys(answer, process.env)
  }

  /** The daemon itself: its version, its home, its place in the order of all facts. */
  daemon(options: CallOptions = {}): Promise<DaemonView> {
    return this.#client.get('/v1/daemon', {}, options)
  }

  /** What is seen of each living process: whether it is alive, and since when it is not. */
  heartbeat(options: CallOptions = {}): Promise<HeartbeatView> {
    return this.#client.get('/v1/heartbeat', {}, options)
  }

  /** What the daemon finds about its surroundings; `verify` also checks the whole store, which may take long. */
  async doctor(options: CallOptions & { verify?: boolean } = {}): Promise<CheckView[]> {
    const { signal, verify } = options
    return (await this.#client.get<{ checks: CheckView[] }>('/v1/doctor', { verify }, { signal, ...(verify ? { extraMs: VERIFY_MS } : {}) })).checks
  }

  /** Whether models can be called: asks the providers, those whose key is there (or in this program's environment) and those that need none, for their models. Errors: `AGENT_INVALID`. */
  async doctorModels(options: CallOptions = {}): Promise<ProviderCheckView[]> {
    const answer = await this.#client.post<{ providers: ProviderCheckView[] }>('/v1/doctor/models', { env: clientEnv() } satisfies DoctorModelsBody, { ...options, extraMs: KEYS_MS })
    return answer.providers
  }

  /** Asks the daemon to drain (for `drainMs` at most, default 10 s) and end; it has not ended yet when this resolves. A second time can only shorten the drain. */
  async stopDaemon(options: CallOptions & { drainMs?: number } = {}): Promise<void> {
    const { signal, ...body } = options
    await this.#client.post('/v1/daemon/stop', body, { signal })
  }

  /** Ends the streams and the waits of this client: iterations end, waits reject with `UNAVAILABLE`. Processes go on, and so does the daemon. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= new AbortController()
    this.#closing.abort(new ApiError('UNAVAILABLE', 'this client was closed'))
  }

  #whileOpen(signal: AbortSignal | undefined): AbortSignal {
    this.#closing ??= new AbortController()
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
  }
}

/** Adds up `root` and what descends from it. */
function sumOf(root: string, processes: readonly Pick<ProcessView, 'uuid' | 'parentUuid' | 'usage'>[]): UsageSum {
  const children = Map.groupBy(processes, ({ parentUuid }) => parentUuid)
  const wanted = processes.filter(({ uuid }) => uuid === root)
  for (const { uuid } of wanted) wanted.push(...(children.get(uuid) ?? []))
  const add = (field: 'steps' | 'costUsd' | `${'input' | 'output' | 'cacheRead' | 'cacheWrite'}Tokens`): number => wanted.reduce((sum, { usage }) => sum + usage[field], 0)
  return {
    processes: wanted.length,
    steps: add('steps'),
    inputTokens: add('inputTokens'),
    outputTokens: add('outputTokens'),
    cacheReadTokens: add('cacheReadTokens'),
    cacheWriteTokens: add('cacheWriteTokens'),
    costUsd: add('costUsd'),
    unpriced: wanted.some(({ usage }) => usage.unpriced),
    estimated: wanted.some(({ usage }) => usage.estimated),
  }
}

function at(ref: string): string {
  return `/v1/processes/${encodeURIComponent(ref)}`
}

function clientEnv(): Record<string, string> {
  return fromHere(process.env) as Record<string, string>
}
