// The library: `connect()` returns a client of the daemon, whose methods have the names of the API. The command line talks to the daemon
// only through this library. Must stay quick to load, without a schema library, a server or a store. Test:
// test/tables/api/client/http.test.ts.
import { resolve } from 'node:path'
import { knownCostSum } from './api/known-cost.ts'
import { clientSocket, withAbsoluteHome, pathsFrom } from './config/paths.ts'
import { ApiError } from './api/client/api-error.ts'
import { Client } from './api/client/client.ts'
import { readHolder } from './api/client/daemon-holder.ts'
import { Compose } from './api/client/compose.ts'
import { Crews } from './api/client/crews.ts'
import { Web } from './api/client/web.ts'
import type { AgentsView, PlacesView, PlaceView } from './api/views/agents.ts'
import type {
  AnswerBody,
  LogLine,
  PauseBody,
  ProcessView,
  RemovedView,
  LabelBody,
  RenameBody,
  ResumeBody,
  SendBody,
  SignalBody,
  SignalsBody,
  SignalsView,
  SpawnBody,
  SpawnedView,
  SteerView,
  StepView,
  UsageField,
  PinBody,
  SnoozeBody,
} from './api/views/process.ts'
import type { CheckView, DaemonView, DoctorModelsBody, ModelsBody, ProviderCheckView, ProviderModelsView } from './api/views/daemon.ts'
import type { CommitBody, CommittedView, MergePlanView, ProcessDiffView, ProcessFilesView } from './api/views/diff.ts'
import type { ReeveEvent } from './api/events.ts'
import type { RowEvent } from './api/row-events.ts'
import type { RowsView } from './api/views/rows.ts'
import type { HeartbeatView } from './api/views/heartbeat.ts'
import type { DirBody, ExportedView, ImportedView } from './api/views/archive.ts'
import type { GcView } from './api/views/gc.ts'
import type { CompareView, LineageView } from './api/views/lineage.ts'
import type { ResumablesView } from './api/views/resume.ts'
import type { NeedView, NeedsView } from './api/views/needs.ts'
import type { SearchView } from './api/views/search.ts'
import type { StakesView } from './api/views/stakes.ts'
import type { BriefStepsView, StepDetailView, StepPartView } from './api/views/steps.ts'
import type { Handler, Signal, StakesAction, WaitTarget } from './kernel/model/words.ts'
import type { BatchBody, BatchResultView, BatchView } from './api/views/batch.ts'
import type { ContextView } from './api/views/context.ts'
import type { SpansView } from './api/views/spans.ts'
import type { UsageBy, UsageRateView, UsageReportView, UsageSumView } from './api/views/usage.ts'

export { ApiError } from './api/client/api-error.ts'
export type { Compose } from './api/client/compose.ts'
export type {
  ComposeBody,
  NodeProcessView,
  NodeStateWord,
  NodeView,
  OneRunView,
  PlannedNodeView,
  PlanView,
  ResumeNodeBody,
  RunView,
} from './api/views/compose.ts'
export type { Crews } from './api/client/crews.ts'
export type { Web } from './api/client/web.ts'
export type { WebOpenBody, WebOpenedView, WebSessionView, WebView } from './api/views/web.ts'
export type { ExportedView, ImportedView } from './api/views/archive.ts'
export type { GcEntryView, GcSkippedView, GcView } from './api/views/gc.ts'
export type {
  ChangedFileView,
  CommittedView,
  DiffFileView,
  DiffSideView,
  MergePlanView,
  ProcessDiffView,
  ProcessFilesView,
} from './api/views/diff.ts'
export type { HeartbeatRowView, HeartbeatView, ThresholdsView } from './api/views/heartbeat.ts'
export type { CompareView, LineageNodeView, LineageView } from './api/views/lineage.ts'
export type { ResumableView, ResumablesView, ResumeModesView } from './api/views/resume.ts'
export type { RoleProblem, RoleView, RolesView } from './api/views/crew-up.ts'
export type { NeedTaskView, NeedView, NeedsView } from './api/views/needs.ts'
export type { SearchMatchView, SearchView } from './api/views/search.ts'
export type { InFlightView, StakesView } from './api/views/stakes.ts'
export type { BatchBody, BatchResultView } from './api/views/batch.ts'
export type { PlaceView, AgentProblem, AgentsView, AgentView, KeyState } from './api/views/agents.ts'
export type { ContextBlockView, ContextView } from './api/views/context.ts'
export type { ProcessSpansView, SpanView, SpansView } from './api/views/spans.ts'
export type { UsageBy, UsageRateView, UsageReportView, UsageRowView, UsageSumView } from './api/views/usage.ts'
export { STEP_FLAGS } from './api/step-flags.ts'
export type { BriefStepsView, StepAttemptView, StepDetailView, StepPartView, StepToolView } from './api/views/steps.ts'
export type { ErrorCode } from './kernel/model/errors.ts'
export type { Effort } from './kernel/model/spec-parts.ts'
export type {
  AnswerBody,
  AskDiffView,
  AskToolView,
  AskView,
  CapabilitiesView,
  HoldView,
  LivenessView,
  LogLine,
  PendingSignalView,
  PauseBody,
  PermitsView,
  ProcessView,
  RemovedView,
  ResumeBody,
  SentSignalView,
  SignalsView,
  SpawnBody,
  SteerView,
  StepView,
  SupervisedView,
  SupervisorBody,
  SupervisorView,
  UsageField,
  UsageView,
} from './api/views/process.ts'
export type { EventImage, EventSpec, FactEvent, LiveEvent, ReeveEvent } from './api/events.ts'
export { applyRowEvent, needsAfter } from './api/row-events.ts'
export type { RowEvent, RowPatch } from './api/row-events.ts'
export type { DoingView, WhyView } from './api/views/heartbeat.ts'
export type { RowBudgetView, RowColumnsView, RowsView, RowView, SubtreeSumsView, SumsView } from './api/views/rows.ts'
export type { CheckView, DaemonView, EventView, ModelView, ProviderCheckView, ProviderModelsView } from './api/views/daemon.ts'
export type { Status } from './kernel/model/status.ts'
export type { Activity, ContainmentKind, DriverName, Handler, HoldReason, Limits, Signal, StakesAction } from './kernel/model/words.ts'

/** The total usage of several processes, in tokens and USD. */
export type UsageSum = Readonly<UsageSumView>

/** A condition of a process for which `wait` can wait. */
export type WaitFor = WaitTarget

export interface ConnectOptions {
  /** the directory of configuration and state; default: `$REEVE_HOME`, else the XDG directories */
  readonly home?: string
  /** the socket of the daemon; default: the socket of `home`. With this option no daemon is started */
  readonly socket?: string
  /** whether to start the daemon when none answers; default: true */
  readonly start?: boolean
  /** the name of this program in the records of its actions; default: `library` */
  readonly client?: string
  /** called when the client begins to start the daemon; `started` resolves when the daemon answers, and rejects if the start fails */
  readonly onStart?: (started: Promise<void>) => unknown
  /** called once, if the daemon runs another build than this program */
  readonly onOtherBuild?: () => void
  /** called once for each outdated PID in a call: a resume has given the process a new one, `pid` */
  readonly onPresentPid?: (retiredPid: number, pid: number) => void
  /** called when a call has had no answer for two seconds, apart from `wait` and `web.waitForLink`; `answered` settles with the call */
  readonly onSlow?: (answered: Promise<unknown>) => void
}

/**
 * The options of every call. When `signal` aborts, the call rejects with the reason of the signal. A request that changes something may
 * still have been executed, so check the state before you repeat it.
 */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** The processes whose rows are wanted; see `rows`. */
export type RowScopeName = 'live' | 'recent' | 'all' | `subtree:${string}`

export interface FollowRowsOptions extends CallOptions {
  readonly scope?: RowScopeName
  /** the cursor of the rows that the caller has; absent: the stream begins with all rows */
  readonly after?: string
  /** called with `false` when the daemon has not answered for a second, and with `true` when it answers again */
  readonly onLink?: (isUp: boolean) => void
}

export interface EventsOptions extends CallOptions {
  /** the PID, the name or a part of the UUID of a process; absent: events of all processes */
  readonly process?: string
  /** start after this `seq`; absent: with the first event, or with `follow` and without `process` with the next event */
  readonly after?: number
  /** start with the last `tail` events */
  readonly tail?: number
  /** start with events since this time: wall ms, or ISO 8601 */
  readonly since?: number | string
  /** continue with new events, even after a broken connection, until `process` has ended or `signal` aborts */
  readonly follow?: boolean
  /** include events that are not stored: text while a model writes it (`live.text`), and output of tools */
  readonly live?: boolean
  /** called with `false` when the daemon has not answered for a second, and with `true` when it answers again */
  readonly onLink?: (isUp: boolean) => void
}

/** Which lines of a log are returned; see `logs`. */
export interface LogOptions {
  readonly tail?: number
  readonly since?: number | string
  readonly before?: string
  readonly match?: string
  readonly ignoreCase?: boolean
  readonly subtree?: boolean
}

/** Which usage is counted, and how it is grouped; see `usageReport`. */
export interface UsageOptions {
  readonly by?: UsageBy | `${UsageBy},${UsageBy}` | undefined
  /** the key of the label of the group `label` */
  readonly label?: string | undefined
  /** counts only processes with this label: `KEY=VALUE`, or `KEY` with any value */
  readonly labelled?: string | undefined
  readonly since?: number | string | undefined
  readonly until?: number | string | undefined
  readonly under?: string | undefined
}

/** What a diff compares. */
export interface DiffSides {
  /** the state before: `base` (default), `origin`, a step, `now`, or one of another process, such as `NAME@12` */
  readonly from?: string | number | undefined
  /** the state after, written as `from`; default `now` */
  readonly to?: string | number | undefined
  /** only this file, or the files below this directory */
  readonly path?: string | undefined
}

/** the longest wait of one request, in ms; `wait` sends further requests until its own time limit */
const POLL_MS = 60_000

/** the time limit for a request that may read many files or log lines, in ms */
const LONG_READ_MS = 600_000
/** the time limit for a check of the whole store, in ms */
const VERIFY_MS = 3_600_000
/** the time limit for a collection, an export or an import, in ms */
const GC_MS = 3_600_000
/** the time limit for a search, in ms: the daemon ends one after a minute */
const SEARCH_MS = 120_000
/** the time limit for a usage report, in ms; the first one of a large store takes long */
const USAGE_MS = 600_000
/** the longest PATH that is sent: the head of a request may have 16 KB, and each encoded slash takes three bytes */
const MAX_PATH_CHARS = 4_000
/** the time limit for the user's `keyCommand`, in ms */
const KEYS_MS = 60_000

/** Returns a client for the daemon of a home. The client connects at its first call, and starts the daemon if none answers. */
export function connect(options: ConnectOptions = {}): Reeve {
  const { socket, client: name } = options
  if (socket !== undefined) return new Reeve(new Client({ socketPath: () => socket, name }))
  const env = withAbsoluteHome(options.home === undefined ? process.env : { ...process.env, REEVE_HOME: options.home })
  const where = pathsFrom(env)
  const start = async (): Promise<void> => {
    const started = import('./cli/service/start-daemon.ts').then(({ startDaemon }) => startDaemon(env))
    options.onStart?.(started)
    await started
  }
  return new Reeve(
    new Client({
      socketPath: () => clientSocket(where),
      holder: () => readHolder(where.holderFile),
      onOtherBuild: options.onOtherBuild,
      onPresentPid: options.onPresentPid,
      onSlow: options.onSlow,
      name,
      start: options.start === false ? undefined : start,
    }),
  )
}

/**
 * The client of a daemon. `ref` is a PID, an exact name, or the first or last 4 or more digits of a UUID. Every call rejects with an
 * `ApiError`, whose `code` is one of those in docs/reference/errors.md. Any call can fail with `UNAVAILABLE` (no daemon answers). A call
 * with a `ref` can also fail with `NOT_FOUND`, `AMBIGUOUS` and `COLLECTED` (the process was removed).
 */
export class Reeve implements AsyncDisposable {
  readonly #client: Client
  /** aborts when this client is disposed; created by the first stream or wait */
  #closing: AbortController | null = null

  /** the calls for crews: coordinators with workers and tasks */
  readonly crews: Crews
  /** the calls for runs of compose files: agents that depend on each other */
  readonly compose: Compose
  /** the calls for the page: its links and its sessions */
  readonly web: Web

  constructor(client: Client) {
    this.#client = client
    this.crews = new Crews(client, clientEnv)
    this.compose = new Compose(client, clientEnv)
    this.web = new Web(client)
  }

  /**
   * Starts a process: an agent with an `intent`, or a plain command (`argv`). Resolves when the start has been written to disk, before the
   * process does anything. `cwd` and `env` default to those of this program. Values in `env` that look like secrets are kept in memory, and
   * never written. `onNote` receives remarks for the user, such as that a file replaces a built-in agent. Errors: `INVALID`,
   * `AGENT_INVALID`, `CREDENTIALS_MISSING`, `CONFLICT` (the name is taken), `RESOURCE_EXHAUSTED`, `DISK_FULL`. A command that is not found
   * or cannot run is not an error: its process exits with 127 or 126.
   */
  async spawn(
    body: Omit<SpawnBody, 'cwd'> & { cwd?: string },
    { onNote, ...options }: CallOptions & { readonly onNote?: (note: string) => unknown } = {},
  ): Promise<ProcessView> {
    const fullBody: SpawnBody = { cwd: process.cwd(), env: clientEnv(), ...body }
    const { process: spawned, note } = await this.#client.post<SpawnedView>('/v1/processes', fullBody, options)
    if (note !== undefined) onNote?.(note)
    return spawned
  }

  /** Returns a living or ended process; with `changes` also the changes in its worktree. */
  async get(ref: string, { changes, ...options }: CallOptions & { readonly changes?: boolean } = {}): Promise<ProcessView> {
    return (await this.#client.get<{ process: ProcessView }>(processPath(ref), { changes }, options)).process
  }

  /**
   * Returns what an action would cost, and changes nothing: the work that is lost, what is kept, and what happens to other processes.
   * `stop` is SIGTERM with a grace, `kill` is SIGKILL. `subtree`: the action includes all its descendants. `files: false`: git does not
   * examine its worktree. `filesMs`: the time limit for git, in ms (default: 300, at most 10,000). After it, `unrecorded` is null.
   */
  stakes(
    ref: string,
    action: StakesAction,
    {
      subtree,
      files,
      filesMs,
      ...options
    }: CallOptions & { readonly subtree?: boolean; readonly files?: boolean; readonly filesMs?: number } = {},
  ): Promise<StakesView> {
    const query = { action, subtree, files: files === false ? 0 : undefined, filesMs }
    return this.#client.get<StakesView>(`${processPath(ref)}/stakes`, query, options)
  }

  /**
   * Returns the living processes by PID. With `all`, the ended processes precede them, oldest first: the `limit` newest ones (at most
   * 10,000). `fields` selects fields, even single parts of `usage`, which is much faster than all fields.
   */
  async list<K extends keyof ProcessView = keyof ProcessView>(
    options: CallOptions & { all?: boolean; limit?: number; fields?: readonly (K | UsageField)[] } = {},
  ): Promise<Pick<ProcessView, K>[]> {
    const { fields, signal, ...query } = options
    const answer = await this.#client.get<{ processes: Pick<ProcessView, K>[] }>(
      '/v1/processes',
      { ...query, fields: fields?.join(',') },
      { signal },
    )
    return answer.processes
  }

  /**
   * Returns the rows of processes as lists show them, in the order of their creation. `scope`: `live`, `recent` (default: the living
   * processes, those that ended in the last 24 hours, and the ancestors of all these), `all`, or `subtree:REF`.
   */
  async rows({ signal, ...query }: CallOptions & { readonly scope?: RowScopeName } = {}): Promise<RowsView> {
    return this.#client.get<RowsView>('/v1/rows', { ...query, shape: 'objects' }, { signal })
  }

  /**
   * Yields all rows (`reset`), then their changes (`rows`), and a sign of life every 2.5 s (`alive`), until the signal aborts.
   * `applyRowEvent` keeps a map of rows up to date. `after`: the cursor of rows that the caller has. After a broken connection, it tries
   * for 30 s to connect again.
   */
  followRows({ signal, onLink, ...query }: FollowRowsOptions = {}): AsyncGenerator<RowEvent, void> {
    return this.#client.events('/v1/rows', { query: { ...query, shape: 'objects', follow: true }, signal: this.#whileOpen(signal), onLink })
  }

  /** Returns the number of live processes, the number of suspended ones, and the maximum number of live ones. */
  async count(options: CallOptions = {}): Promise<DaemonView['processes']> {
    return (await this.daemon(options)).processes
  }

  /**
   * Waits until the process meets one of the conditions (default: it has exited), or has ended without meeting any. After `timeoutMs`
   * (default: no limit) it resolves with `timedOut`. The wait survives a restart of the daemon.
   */
  async wait(
    ref: string,
    options: CallOptions & { for?: WaitFor | readonly WaitFor[]; timeoutMs?: number } = {},
  ): Promise<{ process: ProcessView; timedOut: boolean }> {
    const deadline = performance.now() + (options.timeoutMs ?? Infinity)
    const signal = this.#whileOpen(options.signal)
    for (;;) {
      const left = Math.max(0, deadline - performance.now())
      const timeoutMs = Math.ceil(Math.min(POLL_MS, left))
      const query = { for: [options.for ?? 'exited'].join(), timeoutMs }
      const answer = await this.#client.get<{ process: ProcessView; timedOut: boolean }>(`${processPath(ref)}/wait`, query, {
        signal,
        extraMs: timeoutMs,
        isPoll: true,
        isRepeatable: true,
      })
      if (!answer.timedOut || left <= POLL_MS) return { process: answer.process, timedOut: answer.timedOut }
    }
  }

  /**
   * Sends a signal. `graceMs`: the time between SIGTERM and SIGKILL. If it is absent, the process gets the time that its agent needs, and
   * at least `leastGraceMs` (default 300). `affected` of the answer counts the processes that got the signal. Errors: `NOT_FOUND`, even for
   * an ended process; `PERMISSION`.
   */
  signal(ref: string, signal: Signal, options: CallOptions & Pick<SignalBody, 'graceMs' | 'leastGraceMs'> = {}): Promise<SteerView> {
    const { signal: aborting, ...more } = options
    return this.#client.post(`${processPath(ref)}/signal`, { signal, ...more } satisfies SignalBody, { signal: aborting })
  }

  /** Sends a signal to a process and all its living descendants, including those that are being started. */
  signalTree(ref: string, signal: Signal, options: CallOptions & Pick<SignalBody, 'graceMs' | 'leastGraceMs'> = {}): Promise<SteerView> {
    const { signal: aborting, ...more } = options
    return this.#client.post(`${processPath(ref)}/signal`, { signal, subtree: true, ...more } satisfies SignalBody, { signal: aborting })
  }

  /** Returns the signal state of a process: its mask, its handlers, the pending signals, and the latest signals sent to it. */
  signals(ref: string, options: CallOptions = {}): Promise<SignalsView> {
    return this.#client.get(`${processPath(ref)}/signals`, {}, options)
  }

  /**
   * Changes the blocked signals: replaces all (`set`), adds some (`block`) or removes some (`unblock`). Pending signals that are no
   * longer blocked are delivered. Errors: `INVALID` for SIGKILL.
   */
  sigmask(
    ref: string,
    options: CallOptions & { set?: readonly Signal[]; block?: readonly Signal[]; unblock?: readonly Signal[] } = {},
  ): Promise<SignalsView> {
    const { signal, set, block, unblock } = options
    const body = {
      ...(set ? { set: [...set] } : {}),
      ...(block ? { block: [...block] } : {}),
      ...(unblock ? { unblock: [...unblock] } : {}),
    }
    return this.#client.post(`${processPath(ref)}/signals`, body satisfies SignalsBody, { signal })
  }

  /**
   * Sets the handler of a signal: `default`, `ignore`, or `message` (the agent gets the signal as a message). Errors: `INVALID` for
   * SIGKILL, and for `message` if the process takes no messages.
   */
  sighandle(ref: string, signal: Signal, handler: Handler, options: CallOptions = {}): Promise<SignalsView> {
    return this.#client.post(`${processPath(ref)}/signals`, { handlers: { [signal]: handler } } satisfies SignalsBody, options)
  }

  /** Adds the hold `user`: the process stops at its next boundary, or at once with `now`. `subtree`: also all its living descendants. */
  pause(ref: string, options: CallOptions & PauseBody = {}): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${processPath(ref)}/pause`, body satisfies PauseBody, { signal })
  }

  /**
   * Resumes a suspended process and its paused ancestors. `only`: not the ancestors. `subtree`: also the processes that were paused
   * together with it. An ended process gets a new incarnation, with the `message` and the changed settings of the request. Errors:
   * `NOT_RESUMABLE` (a plain command needs `rerun`), `INVALID`, `CONFLICT`, `RESOURCE_EXHAUSTED`, `DISK_FULL`.
   */
  resume(ref: string, options: CallOptions & ResumeBody = {}): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${processPath(ref)}/resume`, { env: clientEnv(), ...body } satisfies ResumeBody, { signal })
  }

  /**
   * Creates a process that continues from the history of another one: from its current state, or from the end of a step.
   * `fromStep`: the number of the step; 0 is before the first step. The original is not changed, and may be alive. Errors:
   * `NOT_RESUMABLE`, `INVALID` with the available steps, `COLLECTED`.
   */
  fork(ref: string, options: CallOptions & Omit<ResumeBody, 'fork' | 'subtree' | 'only' | 'rerun'> = {}): Promise<SteerView> {
    return this.resume(ref, { ...options, fork: true })
  }

  /** Returns a page of suspended and ended processes, with the ways to resume each. `after`: the field `next` of the previous page. */
  resumable(options: CallOptions & { after?: string; limit?: number } = {}): Promise<ResumablesView> {
    const { signal, ...query } = options
    return this.#client.get('/v1/resumable', query, { signal })
  }

  /** Returns the tree of forks that a process belongs to, oldest first. */
  lineage(ref: string, options: CallOptions = {}): Promise<LineageView> {
    return this.#client.get(`${processPath(ref)}/lineage`, {}, options)
  }

  /**
   * Queues a message for a process, which starts a new turn. `now`: delivers it in the current turn, if the agent can read it there.
   * Errors: `NOT_FOUND` for an ended process, `RESOURCE_EXHAUSTED`.
   */
  send(
    ref: string,
    text: string,
    { now, ...options }: CallOptions & { readonly now?: boolean } = {},
  ): Promise<{ id: string; queueCount: number; note?: string }> {
    return this.#client.post(`${processPath(ref)}/send`, { text, ...(now ? { now } : {}) } satisfies SendBody, options)
  }

  /**
   * Answers a question of a process, one of `asks` in its view: with an `option` if the question has options, else with a `text`. `id`
   * selects one of several questions. `seen`: the `hash` of the question that the user saw, so that the answer counts for that question
   * only. While the process is suspended, the answer is kept. `undoMs`: the agent gets the answer after this time. `undo` of the result
   * states how the answer can be taken back. Errors: `INVALID` with the questions in `details`; `CONFLICT` if the question with this hash
   * is no longer open; `NOT_FOUND` for an ended process.
   */
  answer(ref: string, options: CallOptions & AnswerBody): Promise<SteerView> {
    const { signal, ...body } = options
    return this.#client.post(`${processPath(ref)}/answer`, body satisfies AnswerBody, { signal })
  }

  /**
   * Takes back the answer to the question `id`, so that the question is open again. Possible until the agent gets the answer: while the
   * process is suspended, or within the `undoMs` of the answer. Errors: `CONFLICT` if the agent has it already, or if there is no answer.
   */
  withdrawAnswer(ref: string, id: string, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.delete(`${processPath(ref)}/answer/${encodeURIComponent(id)}`, options)
  }

  /**
   * Removes an ended process for good, with its journal and files. Errors: `CONFLICT` if it is alive, is being exported, or is pinned.
   * `force` removes even a pinned process. `unchanged` refuses a process whose worktree has changes.
   */
  remove(ref: string, { force, unchanged, signal }: CallOptions & { force?: boolean; unchanged?: boolean } = {}): Promise<RemovedView> {
    const query = [...(force ? ['force=1'] : []), ...(unchanged ? ['unchanged=1'] : [])].join('&')
    return this.#client.delete(`${processPath(ref)}${query === '' ? '' : `?${query}`}`, { signal })
  }

  /**
   * Stops a child of a supervisor, and removes it from the children. `id`: the id of the child. Errors: `NOT_FOUND` for an unknown child.
   */
  removeChild(ref: string, id: string, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.delete(`${processPath(ref)}/children?id=${encodeURIComponent(id)}`, { signal: options.signal })
  }

  /**
   * Lists what waits for the user, the most urgent first: questions, holds, silences, and ends that the user has not seen. `under`: only of
   * a process and all below it. `all`: also the snoozed needs. `limit`: default 200, at most 1,000.
   */
  needs({
    under,
    all,
    limit,
    ...options
  }: CallOptions & { readonly under?: string; readonly all?: boolean; readonly limit?: number } = {}): Promise<NeedsView> {
    const query = { ...(under === undefined ? {} : { under }), ...(all ? { all: '1' } : {}), ...(limit === undefined ? {} : { limit }) }
    return this.#client.get('/v1/needs', query, options)
  }

  /** Returns one of the needs with its whole evidence, such as the change of a task. Errors: `NOT_FOUND` if it no longer exists. */
  async need(id: string, options: CallOptions = {}): Promise<NeedView> {
    return (await this.#client.get<{ need: NeedView }>(`/v1/needs/${encodeURIComponent(id)}`, {}, options)).need
  }

  /** Records that the user has seen what a process asks, or how it ended. The answer has a `note` if there was nothing new. */
  markSeen(ref: string, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.post(`${processPath(ref)}/seen`, {}, options)
  }

  /**
   * Hides the present needs of a process until a time (ISO 8601); null: shows them again. An answer to the process also shows them again.
   */
  snooze(ref: string, until: string | null, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.post(`${processPath(ref)}/snooze`, { until } satisfies SnoozeBody, options)
  }

  /** Protects a process from collection; `pinned: false` removes the protection. The answer has a `note` if nothing changed. */
  pin(ref: string, options: CallOptions & Partial<PinBody> = {}): Promise<SteerView> {
    return this.#client.post(`${processPath(ref)}/pin`, { pinned: options.pinned ?? true } satisfies PinBody, { signal: options.signal })
  }

  /**
   * Gives a process, dead or alive, a new name. The answer has a `note` if it already has this name. Errors: `CONFLICT` if a living process
   * has the name, `INVALID` for a crew and its members.
   */
  rename(ref: string, name: string, options: CallOptions = {}): Promise<SteerView> {
    return this.#client.post(`${processPath(ref)}/rename`, { name } satisfies RenameBody, options)
  }

  /** Changes labels of a process, dead or alive; null removes one. Errors: `INVALID` if it would have more than 32. */
  label(ref: string, labels: LabelBody['labels'], options: CallOptions = {}): Promise<SteerView> {
    return this.#client.post(`${processPath(ref)}/labels`, { labels } satisfies LabelBody, options)
  }

  /**
   * Writes the whole history of a process to a new directory `dir`/steps/UUID. Errors: `CONFLICT` (it exists), `INVALID` (it cannot be
   * written), `DISK_FULL`.
   */
  export(ref: string, dir: string, options: CallOptions = {}): Promise<ExportedView> {
    return this.#client.post(`${processPath(ref)}/export`, { dir: resolve(dir) } satisfies DirBody, { ...options, extraMs: GC_MS })
  }

  /**
   * Restores processes that `export` has written. `dir` contains `steps`, or is the directory steps/UUID of one process. Errors: `CONFLICT`
   * (a process exists here), `INVALID` with the position of the damage, `DISK_FULL`.
   */
  import(dir: string, options: CallOptions = {}): Promise<ImportedView> {
    return this.#client.post('/v1/import', { dir: resolve(dir) } satisfies DirBody, { ...options, extraMs: GC_MS })
  }

  /**
   * Collects ended processes by the rules of the configuration, and resolves when their space in the store is free. `dryRun`: only lists
   * the processes.
   */
  gc(options: CallOptions & { dryRun?: boolean } = {}): Promise<GcView> {
    const { signal, dryRun } = options
    return dryRun ? this.#client.get('/v1/gc', {}, { signal, extraMs: GC_MS }) : this.#client.post('/v1/gc', {}, { signal, extraMs: GC_MS })
  }

  /**
   * Yields the recorded events in order, each once. With `follow` it continues with new events, until the process has ended or the signal
   * aborts; neither is an error. After a broken connection, it tries for 30 s to connect again, so that a restart of the daemon loses no
   * event.
   */
  events(options: EventsOptions = {}): AsyncGenerator<ReeveEvent, void> {
    const { process: ref, signal, onLink, ...query } = options
    const until = this.#whileOpen(signal)
    if (ref === undefined) return this.#client.events('/v1/events', { query, signal: until, onLink })
    return this.#client.events(`${processPath(ref)}/events`, {
      query,
      signal: until,
      onLink,
      isLast: ({ fact }) => fact === 'process.reaped',
    })
  }

  /** Returns a page of steps, oldest first, after the step number `after`. `limit`: default 100, at most 1,000. */
  async steps(ref: string, options: CallOptions & { after?: number; limit?: number } = {}): Promise<StepView[]> {
    const { signal, ...query } = options
    return (await this.#client.get<{ steps: StepView[] }>(`${processPath(ref)}/steps`, query, { signal })).steps
  }

  /**
   * Returns steps as columns: times, tokens, cost, flags (`STEP_FLAGS`), tools and the beginning of each text. `limit`: at most 5,000,
   * which is the default. `before` without `after`: the last ones before that step.
   */
  stepColumns(ref: string, options: CallOptions & { after?: number; before?: number; limit?: number } = {}): Promise<BriefStepsView> {
    const { signal, ...query } = options
    return this.#client.get<BriefStepsView>(`${processPath(ref)}/steps`, { ...query, brief: true }, { signal })
  }

  /** Returns one step with all that is known about it. Errors: `NOT_FOUND` without such a step. */
  async step(ref: string, step: number, options: CallOptions = {}): Promise<StepDetailView> {
    return (await this.#client.get<{ step: StepDetailView }>(`${processPath(ref)}/steps`, { at: step }, options)).step
  }

  /**
   * Returns at most 1,000,000 characters of a tool call. `part`: its `result` (default), its `input`, or an image such as `image:0` in
   * base64. `offset`: the `next` of the previous answer.
   */
  stepPart(
    ref: string,
    { step, callId, ...query }: { readonly step: number; readonly callId: string; readonly part?: string; readonly offset?: number },
    options: CallOptions = {},
  ): Promise<StepPartView> {
    return this.#client.get<StepPartView>(`${processPath(ref)}/steps/${step}/tools/${encodeURIComponent(callId)}`, query, options)
  }

  /**
   * Returns what a process changed in its worktree. Default: from the commit from which the worktree began, to the present files. `format:
   * 'stat'`: only the list of files; `'view'`: at most 400 kB of a file and 2 MB in all. `context`: the number of unchanged lines around a
   * change. `left` of the answer: files whose diff is missing or incomplete. Errors: `INVALID` without a worktree or a record of the step,
   * `NOT_FOUND` if nothing is left of the worktree.
   */
  diff(
    ref: string,
    options: CallOptions & DiffSides & { step?: number | undefined; format?: 'patch' | 'view' | 'stat'; context?: number } = {},
  ): Promise<ProcessDiffView> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/diff`, query, { signal, extraMs: LONG_READ_MS })
  }

  /** Lists the files that a process changed, with the steps that changed them. Options and errors: those of `diff`. */
  files(ref: string, options: CallOptions & DiffSides = {}): Promise<ProcessFilesView> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/files`, query, { signal, extraMs: LONG_READ_MS })
  }

  /**
   * Plans a merge of what a process did in its worktree, and changes nothing. `onto`: the commit into which the work would be merged;
   * `repository`: its git directory; `top`: its checkout. Errors: `INVALID` without a worktree or for another repository, `NOT_FOUND` if
   * nothing is left of the worktree.
   */
  planMerge(ref: string, options: CallOptions & { onto: string; repository: string; top: string }): Promise<MergePlanView> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/merge`, query, { signal, extraMs: LONG_READ_MS })
  }

  /**
   * Commits the uncommitted files of a process to the branch of its worktree, in the name of `author`. The commit of the answer has all
   * work of the process. `unfinished`: even if the process has not ended; without it, such a process is refused with
   * `CONFLICT`. Other errors: those of `planMerge`.
   */
  commitWork(ref: string, options: CallOptions & CommitBody): Promise<CommittedView> {
    const { signal, ...body } = options
    return this.#client.post(`${processPath(ref)}/commit`, body satisfies CommitBody, { signal, extraMs: LONG_READ_MS })
  }

  /**
   * Returns the last lines of text and output. `tail`: their number (default 100, at most 10,000). `since`: only lines since this time
   * (wall ms, or ISO 8601). `match`: only lines with this text. `subtree`: also all processes below, as one log. `before` of the answer:
   * the option for the lines before these; null if there are none. `cursor` of the answer: the events after it are not among the lines.
   */
  logs(ref: string, options: CallOptions & LogOptions = {}): Promise<{ lines: LogLine[]; cursor: number; before: string | null }> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/logs`, query, { signal, extraMs: LONG_READ_MS })
  }

  /**
   * Searches the transcripts of `processes` (absent or empty: all) for a text: messages, texts of agents, inputs and results of tools,
   * output of programs. `since`: only from this time on (wall ms, or ISO 8601). `limit`: default 100, at most 1,000. `cutBy` of the answer:
   * why the search is incomplete.
   */
  search(
    text: string,
    options: CallOptions & {
      processes?: readonly string[]
      since?: number | string | undefined
      limit?: number | undefined
      ignoreCase?: boolean
    } = {},
  ): Promise<SearchView> {
    const { signal, processes, ...query } = options
    return this.#client.get('/v1/search', { text, ...query, in: processes?.join(',') || undefined }, { signal, extraMs: SEARCH_MS })
  }

  /**
   * Returns the usage of a process and all its descendants. Only the 10,000 newest of all ended processes count. Without `ref`, returns the
   * usage of all processes, including removed ones.
   */
  async usage(ref?: string, options: CallOptions = {}): Promise<UsageSum> {
    if (ref === undefined) return (await this.usageReport(options)).total
    const root = (await this.get(ref, options)).uuid
    return sumOf(root, await this.list({ all: true, fields: ['uuid', 'parentUuid', 'usage'], ...options }))
  }

  /**
   * Returns the usage of all processes, including removed ones. `by`: the groups: `agent` (default), `model`, `day`, `hour`, `tree`,
   * `process`, `project` or `label`, or two of these. `since`, `until`: only in this time (wall ms, or ISO 8601), in whole hours. `under`:
   * only this process and all below it. `labelled`: only processes with this label, `KEY=VALUE` or `KEY`.
   */
  usageReport(options: CallOptions & UsageOptions = {}): Promise<UsageReportView> {
    const { signal, ...query } = options
    return this.#client.get('/v1/usage', query, { signal, extraMs: USAGE_MS })
  }

  /** Performs one action on many processes: `pause`, `resume`, `stop`, `kill`, `send` (with `text`), `remove`, `pin` or `unpin`. */
  async batch(body: BatchBody, options: CallOptions = {}): Promise<BatchResultView[]> {
    return (await this.#client.post<BatchView>('/v1/batch', body, options)).results
  }

  /** Lists the directories in which processes were started, the most recently used one first. */
  async places(options: CallOptions = {}): Promise<PlaceView[]> {
    return (await this.#client.get<PlacesView>('/v1/places', {}, options)).places
  }

  /** Returns what processes spend per minute now, in total and by tree. */
  usageRate(options: CallOptions = {}): Promise<UsageRateView> {
    return this.#client.get('/v1/usage/rate', {}, options)
  }

  /** Compares two processes: the last step that both have in common, and the settings in which they differ. */
  compare(a: string, b: string, options: CallOptions = {}): Promise<CompareView> {
    return this.#client.get('/v1/compare', { a, b }, options)
  }

  /** Returns what the model of a process sees now. `text`: with the beginning of each text. */
  context(ref: string, options: CallOptions & { text?: boolean } = {}): Promise<ContextView> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/context`, query, { signal })
  }

  /**
   * Returns the times in which a process had each status; with `subtree`, also for each process below. `max`: the largest number of spans
   * per process.
   */
  spans(
    ref: string,
    options: CallOptions & { subtree?: boolean; since?: number | string; until?: number | string; max?: number } = {},
  ): Promise<SpansView> {
    const { signal, ...query } = options
    return this.#client.get(`${processPath(ref)}/spans`, query, { signal })
  }

  /**
   * Returns the agents available in a directory (default: that of this program), and the invalid files. Each agent shows whether it can
   * run with the keys of this program.
   */
  async agents(cwd = process.cwd(), options: CallOptions = {}): Promise<AgentsView> {
    const path = process.env['PATH']
    const answer = await this.#client.get<AgentsView>(
      '/v1/agents',
      { cwd, path: path && path.length <= MAX_PATH_CHARS ? path : undefined, model: process.env['REEVE_MODEL'] || undefined },
      options,
    )
    return (await import('./api/client/mark-client-keys.ts')).markClientKeys(answer, process.env)
  }

  /** Returns the daemon itself: its version, its home, and its position in the order of all facts (`cursor`). */
  daemon(options: CallOptions = {}): Promise<DaemonView> {
    return this.#client.get('/v1/daemon', {}, options)
  }

  /** Returns the liveness of each living process, with the time since its last output and its last progress. */
  heartbeat(options: CallOptions = {}): Promise<HeartbeatView> {
    return this.#client.get('/v1/heartbeat', {}, options)
  }

  /** Checks the system, and returns the result of each check. `verify`: also checks the whole store, which can take long. */
  async doctor(options: CallOptions & { verify?: boolean } = {}): Promise<CheckView[]> {
    const { signal, verify } = options
    return (
      await this.#client.get<{ checks: CheckView[] }>('/v1/doctor', { verify }, { signal, ...(verify ? { extraMs: VERIFY_MS } : {}) })
    ).checks
  }

  /**
   * Checks whether models can be called: requests the list of models from each provider that needs no key, or whose key is known. The keys
   * in the environment of this program are known. Errors: `AGENT_INVALID`.
   */
  async doctorModels(options: CallOptions = {}): Promise<ProviderCheckView[]> {
    const answer = await this.#client.post<{ providers: ProviderCheckView[] }>(
      '/v1/doctor/models',
      { env: clientEnv() } satisfies DoctorModelsBody,
      { ...options, extraMs: KEYS_MS },
    )
    return answer.providers
  }

  /**
   * Requests the models of all providers, or of one, with their windows and prices. A provider is asked if it needs no key, or if its key
   * is known. The keys in the environment of this program are known. Errors: `INVALID` for an unknown provider, `AGENT_INVALID`.
   */
  async models({ provider, ...options }: CallOptions & { provider?: string | undefined } = {}): Promise<ProviderModelsView[]> {
    const body: ModelsBody = { env: clientEnv(), ...(provider === undefined ? {} : { provider }) }
    const answer = await this.#client.post<{ providers: ProviderModelsView[] }>('/v1/models', body, { ...options, extraMs: KEYS_MS })
    return answer.providers
  }

  /**
   * Requests that the daemon ends after a drain of at most `drainMs` (default 10 s). Resolves before the daemon has ended. A second call
   * can only shorten the drain. `restart`: another daemon starts afterwards, so the page comes back with its sessions.
   */
  async stopDaemon(options: CallOptions & { drainMs?: number; restart?: boolean } = {}): Promise<void> {
    const { signal, ...body } = options
    await this.#client.post('/v1/daemon/stop', body, { signal })
  }

  /** Ends the streams and waits of this client: streams end, and waits reject with `UNAVAILABLE`. Processes and the daemon keep running. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= new AbortController()
    this.#closing.abort(new ApiError('UNAVAILABLE', 'this client was closed'))
  }

  /** Returns a signal that aborts with the given one, or when this client is disposed. */
  #whileOpen(signal: AbortSignal | undefined): AbortSignal {
    this.#closing ??= new AbortController()
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
  }
}

/** Adds up the usage of `root` and its descendants. */
function sumOf(root: string, processes: readonly Pick<ProcessView, 'uuid' | 'parentUuid' | 'usage'>[]): UsageSum {
  const children = Map.groupBy(processes, ({ parentUuid }) => parentUuid)
  const wanted = processes.filter(({ uuid }) => uuid === root)
  // The loop also visits the descendants that it adds.
  for (const { uuid } of wanted) wanted.push(...(children.get(uuid) ?? []))
  const add = (field: 'steps' | `${'input' | 'output' | 'cacheRead' | 'cacheWrite'}Tokens`): number =>
    wanted.reduce((sum, { usage }) => sum + usage[field], 0)
  return {
    processes: wanted.length,
    steps: add('steps'),
    inputTokens: add('inputTokens'),
    outputTokens: add('outputTokens'),
    cacheReadTokens: add('cacheReadTokens'),
    cacheWriteTokens: add('cacheWriteTokens'),
    ...knownCostSum(wanted.map(({ usage }) => usage)),
    estimated: wanted.some(({ usage }) => usage.estimated),
  }
}

function processPath(ref: string): string {
  return `/v1/processes/${encodeURIComponent(ref)}`
}

function clientEnv(): Record<string, string> {
  return withAbsoluteHome(process.env) as Record<string, string>
}
