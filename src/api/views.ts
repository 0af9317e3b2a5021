// The JSON that users see: the views and bodies of the API. Types only, so that the command line can name them for nothing.
// Times are ISO 8601 with offset, durations are ms, money is USD. Fields may be added; none is renamed within version 1. Test: test/e2e/api.test.ts.
import type { CrewKeptView } from './crew-report-views.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import type { Disposition } from '../kernel/signals.ts'
import type { Status } from '../kernel/status.ts'
import type { OnComplete, RestartAsked, RestartPolicy, RestartType, RestartWord, SupervisorAsked, SupervisorSpec } from '../kernel/supervision.ts'
import type { Ask, AskOption } from '../kernel/asking.ts'
import type { Activity, ContainmentKind, DriverName, Effort, Handler, HoldReason, LimitAction, LimitName, Limits, OutputFormat, Signal, Usage } from '../kernel/types.ts'

export type { Status }

/** `until`: when its cause will be gone, as far as that is known; with `wake` it then goes by itself. */
export interface HoldView { reason: HoldReason; root?: string; by: string; at: string; until?: string; wake?: true }

/** A signal that was sent to a process. `via` is what the client calls itself; `escalatedMs`: SIGKILL had to follow, after so long. */
export interface SentSignalView { signal: Signal; by: string; via: string | null; root: string | null; disposition: Disposition; at: string; escalatedMs: number | null }

/** A signal that waits; one of a person for `dueInMs` at most. */
export interface PendingSignalView { signal: Signal; by: string; via: string | null; root: string | null; dueInMs: number | null }

/** What becomes of the signals of a process. */
export interface SignalsView {
  version: 1
  uuid: string
  pid: number
  mask: Signal[]
  handlers: Partial<Record<Signal, Handler>>
  pending: PendingSignalView[]
  recent: SentSignalView[]
}

/** What a process asks of a person. Without options it is answered by a text. */
export interface AskView { id: string; kind: Ask['kind']; text: string; options: AskOption[]; at: string }

/** What is not as it should be with a process that runs, since when, and what it was doing. */
export interface LivenessView { word: 'silent' | 'stalled' | 'waiting' | 'stopped'; since: string; evidence: string }

/** The git worktree of a process; it is there as soon as the process has begun. `recordedStep`: the newest step whose files are recorded. */
export interface WorktreeView { dir: string; branch: string; base: string; recordedStep: number | null }

export interface UsageView extends Omit<Usage, 'cpuTimeMs' | 'rssBytes' | 'peakRssBytes' | 'outputBytes'> {
  contextWindow: number | null
  turnCostUsd: number | null
  /** of its programs, as they were measured; null: there were none, or nobody has measured. `rssBytes`: null while none runs */
  cpuTimeMs: number | null
  rssBytes: number | null
  peakRssBytes: number | null
  outputBytes: number | null
  updatedAt: string
}

/** What a process and all below it have used, in the lineage of the spawns; `reserved` is what calls that are open may still take. */
export interface SubtreeUsageView {
  steps: number
  turns: number
  messagesSent: number
  toolCalls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number
  cpuTimeMs: number
  outputBytes: number
  rssBytes: number
  unpriced: boolean
  estimated: boolean
  openCalls: number
  reservedTokens: number
  reservedUsd: number
}

/** `scope`: whose limit it is, if not its own. `refuse`: whoever asks for more is refused. */
export interface LimitUseView { limit: LimitName; used: number; of: number; action: LimitAction | 'refuse'; scope: string | null }

/** What a list can be asked for instead of all of `usage`: it is most of a row. */
export type UsageField = `usage.${'costUsd' | 'inputTokens' | 'unpriced'}`

/** `yes`: whatever it tries; `asked`: where its agent asks before it acts; `part`: not for all that it has; `no`. */
export type HeldView = 'yes' | 'asked' | 'part' | 'no'

/** What it may do beside its tools; null: not limited. */
export interface PermitsView {
  paths: { read: string[] | null; write: string[] | null }
  network: 'on' | 'off'
  signals: 'none' | 'children' | 'subtree'
  spawns: string[] | null
}

/** What it may do; null: not limited. `mcp`: the names of the MCP servers that it may use. `notes`: what is limited and does not hold, in words. */
export interface CapabilitiesView extends PermitsView {
  tools: string[] | null
  deny: string[]
  mcp: string[]
  enforced: { tools: HeldView; paths: HeldView; network: HeldView }
  notes: string[]
}

export interface ProcessView {
  uuid: string
  pid: number
  ppid: number
  parentUuid: string | null
  name: string | null
  agent: string
  driver: DriverName
  /** the JSON lines of a command that is an agent, if they are understood */
  format: OutputFormat | null
  state: 'created' | 'running' | 'zombie' | 'dead'
  status: Status
  activity: Activity | null
  holds: HoldView[]
  /** what it asks and nobody has answered */
  asks: AskView[]
  /** when what holds it will be over, as far as that is known */
  resumeAt: string | null
  /** null: alive, or it does not run */
  liveness: LivenessView | null
  intent: string
  cwd: string
  /** null unless it was started with a worktree of its own */
  worktree: WorktreeView | null
  host: string
  containment: ContainmentKind | null
  /** whether its models are called through the gateway, and why not; null: its driver calls them itself, or nobody knows that it could be led there */
  gateway: { on: boolean; why: string | null } | null
  createdAt: string
  startedAt: string | null
  pausedAt: string | null
  exitedAt: string | null
  elapsedMs: number
  exit: { code: number; reason: string; signal?: Signal; error?: string } | null
  stopping: { signal: Signal; by: string; at: string; graceMs: number; wrapsUp: boolean } | null
  /** `recent`: the last few that were sent to it */
  signals: { mask: Signal[]; pending: Signal[]; handlers: Partial<Record<Signal, Handler>>; recent: SentSignalView[] }
  step: number
  turn: number
  /** it takes messages after a turn, instead of ending */
  interactive: boolean
  originUuid: string | null
  originStep: number | null
  resumedFromStep: number | null
  /** the step of its newest checkpoint */
  checkpointStep: number | null
  model: string | null
  /** models that are asked when the first cannot answer */
  fallback: string[]
  effort: Effort | null
  sessionId: string | null
  role: string | null
  phase: string | null
  taskId: string | null
  queueCount: number
  retiredAt: string | null
  updatedAt: string
  lastActivityAt: string
  usage: UsageView
  subtreeUsage: SubtreeUsageView
  limits: Limits
  /** how much of its limits, and of those above it that it counts for, is used */
  limitUse: LimitUseView[]
  /** when its model calls are counted: before each call, when it tells of it, or not at all */
  metering: 'call' | 'report' | 'none'
  /** who sees to its memory limit: the system, so that it never has more, or reeve, which measures every second; null: it has none, or has not begun */
  memoryLimit: 'held' | 'measured' | null
  /** null: it does not come back by itself */
  restart: RestartPolicy | null
  /** of a new incarnation that waits: which restart it is, how the last one ended, and when it may begin (null: when its supervisor says so) */
  pendingRestart: { attempt: number; cause: string; at: string | null } | null
  /** its name among the children of its supervisor */
  childId: string | null
  /** null unless it is a supervisor */
  supervisor: SupervisorView | null
  capabilities: CapabilitiesView
  children: string[]
  pinned: boolean
  /** what the NOTE column says */
  note: string | null
  /** the last assistant text, cut to 500 characters */
  lastText: string | null
}

/** One step, as `reeve steps` shows it. */
export interface StepView {
  step: number
  startedAt: string
  finishedAt: string | null
  model: string
  attempts: number
  text: string | null
  tools: { callId: string; name: string; input: unknown; outcome: string | null; result: string | null; durationMs: number | null }[]
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** what happened to the context after it, in words */
  notes: string[]
}

/** One event: the envelope of every fact that is seen from outside. Other fields depend on `type`. */
export interface EventView {
  version: 1
  /** the place in the order of the whole store; the SSE id. 0 for live events, which are not kept */
  seq: number
  uuid: string
  pid: number
  at: string
  type: string
  /** of a member of a crew that lives: as it is when the event is read; `taskId` also of events of tasks */
  role?: string
  phase?: string
  taskId?: string
  queueCount?: number
  [field: string]: unknown
}

export interface ErrorBody { version: 1; error: { code: ErrorCode; message: string; hint: string; details?: Record<string, unknown> } }

/** POST /v1/processes. What the command line knows of its own place comes along. */
export interface SpawnBody {
  intent?: string
  argv?: string[]
  /** an agent's name; default `default`, the built-in one */
  agent?: string
  model?: string
  name?: string
  cwd: string
  /** it works in a git worktree of its own, on a branch of its own, and its files are recorded */
  worktree?: boolean
  parent?: string
  interactive?: boolean
  /** names of tools, `read:PATH`, `write:PATH`, `network`, `spawn`, `spawn:AGENT`, `signal`: what it may, in place of what its agent says */
  allow?: string[]
  /** names of tools, `network`, `spawn`, `signal` */
  deny?: string[]
  containment?: ContainmentKind | 'auto'
  limits?: Limits
  /** how hard a reasoning model thinks */
  effort?: Effort
  /** models that are asked when the first cannot answer, in order */
  fallback?: string[]
  /** the MCP servers that it may use, by name; default: all that are configured, [] none */
  mcp?: string[]
  /** what an agent that asks may do without asking; what its file says of single tools holds */
  permissions?: 'ask' | 'allow' | 'deny'
  /** of an agent of others or a command: whether its models are called through the gateway; default: as configured */
  gateway?: 'auto' | 'on' | 'off'
  /** it goes on by itself when a rate limit is over; default: as its agent says, else a person resumes it */
  wake?: boolean
  /** it has reeve's own tools, by which it starts and leads other processes; default: as its agent says */
  reeve?: boolean
  /** whether it comes back by itself: `no`, `on-failure`, `always`, or with its intensity */
  restart?: RestartWord | RestartAsked
  /** its name among the children of its supervisor, which is its `parent` */
  childId?: string
  /** it is a supervisor: a name in reeve.yaml, or what it is to be, with its children */
  supervisor?: string | SupervisorBody
  /** the client's environment: what is not a secret is recorded, keys stay in memory */
  env?: Record<string, string>
}

/** A supervisor with its children, in the order of their start. */
export interface SupervisorBody extends SupervisorAsked { children?: ChildBody[] }
export type ChildBody = Omit<SpawnBody, 'cwd' | 'parent' | 'supervisor' | 'env' | 'childId'> & { childId: string; cwd?: string }

/** What a supervisor knows of a child. `restarts`: those within its window; `nextStart`: when it comes back; status and PID are null once it has ended. */
export interface SupervisedView { id: string; uuid: string; restart: RestartType; onComplete: OnComplete | null; restarts: number; nextStart: string | null; status: Status | null; pid: number | null }
export interface SupervisorView extends SupervisorSpec { children: SupervisedView[] }

/** `leastGraceMs` is for a sender that gives no grace: what was seen to clean up for longer gets that instead. */
export interface SignalBody { signal: string | number; subtree?: boolean; graceMs?: number; leastGraceMs?: number }
/** POST /v1/processes/:ref/signals, done in this order: handlers, then the mask, which is `set`, or changed by `block` and `unblock`. Names, or the kernel's numbers. */
export interface SignalsBody { handlers?: Partial<Record<Signal, Handler>>; set?: (string | number)[]; block?: (string | number)[]; unblock?: (string | number)[] }
export interface PauseBody { subtree?: boolean; now?: boolean }
export interface ResumeBody {
  subtree?: boolean
  only?: boolean
  message?: string
  rerun?: boolean
  env?: Record<string, string>
  /** overrides, for an ended process; limits that are not named stay as they were, and can be changed on a suspended one too */
  model?: string
  effort?: Effort
  limits?: Limits
  /** what is added to limits that it has */
  raise?: { [L in LimitName]?: number }
  /** what it may beside what it might already, in the words of a spawn; never more than its parent while that lives */
  allow?: string[]
  deny?: string[]
  /** of an agent of others or a command: whether its models are called through the gateway from now on */
  gateway?: 'auto' | 'on' | 'off'
  /** makes a new process that goes on from the history of this one, which stays as it is */
  fork?: boolean
  /** the step after which a fork goes on: from 0 to the last whole one */
  fromStep?: number
  /** insists on the newest checkpoint; a fork then begins at its step */
  fromCheckpoint?: boolean
  /** a fork starts in a worktree with the files of its step */
  withFiles?: boolean
  name?: string
  cwd?: string
}
export interface SendBody { text: string }
/** `id` is not needed where it asks one thing. An ask with options takes one of them, any other a text. */
export interface AnswerBody { id?: string; option?: string; text?: string }

/** The answer of a signal, a pause, a resume or an answer. */
export interface SteerView { version: 1; affected: number; process: ProcessView; note?: string; childrenGoOn?: number }
export interface SpawnedView { version: 1; process: ProcessView; note?: string }
/** What is left of a process that was removed. */
export interface RemovedView { version: 1; uuid: string; pid: number; name: string | null; removedAt: string; worktree?: WorktreeEndView; crew?: CrewKeptView }

/** What became of a worktree: `kept` says why it is still there, `salvaged` is the ref of what was not committed, `branch` one that stays as it has commits of its own. */
export interface WorktreeEndView { dir: string; kept?: string; salvaged?: string; branch?: string }

/** An agent that can be run; `unsupported` is what its file asks for and reeve does not do. */
export interface AgentView {
  name: string
  description: string
  driver: DriverName
  /** null: the configured default */
  model: string | null
  /** the command line of an agent that others wrote */
  command: string[] | null
  /** the model that it would have here; null if none is configured */
  usesModel: string | null
  /** the names of the keys that this model needs */
  needs: string[]
  /** it could run, as far as one can see without starting it; else `reason` says what is in the way */
  usable: boolean
  reason: string | null
  /** what would install its program, which is not there */
  install: string | null
  /** what an ended process of it can do: go on with its history or session, and be forked. `asked`: it says so when it is started */
  resumes: 'context' | 'session' | 'rerun'
  forks: 'any step' | 'now' | 'asked' | 'no'
  fallback: string[] | null
  effort: Effort | null
  /** null: the driver's default set */
  tools: string[] | null
  deny: string[]
  /** names of MCP servers; null: all that are configured */
  mcp: string[] | null
  /** as its file says: paths are relative to where it will work */
  capabilities: PermitsView
  limits: Limits
  source: 'project' | 'claude' | 'user' | 'built-in'
  /** null for the built-in ones */
  file: string | null
  unsupported: string[]
}

/** Where a key is. `keyCommand`: the user's command is there for it, and was not asked. */
export type KeyState = 'environment' | 'credentials.yaml' | 'keyCommand' | 'missing'

/** The agents, and where the keys are that they need. The daemon knows of no client's environment: the library adds its own. */
export interface AgentsView { version: 1; agents: AgentView[]; errors: AgentProblem[]; keys: Record<string, KeyState> }

/** An agent file that cannot be used; line 0 is the file as a whole. */
export interface AgentProblem { file: string; line: number; message: string }

/** One thing that `doctor` looks at; that an `optional` one is not ok is no fault. */
export interface CheckView { name: string; ok: boolean; detail: string; hint?: string; optional?: true }

/** A provider of models, asked for its list of them. That an `optional` one is not ok is no fault. */
export interface ProviderCheckView {
  name: string
  kind: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  baseURL: string
  /** null: it wants none */
  key: { name: string; from: KeyState } | null
  ok: boolean
  detail: string
  /** how many it has; null if that is not known */
  models: number | null
  optional?: true
}

/** POST /v1/doctor/models. */
export interface DoctorModelsBody {
  /** the client's environment: its keys are used for this request alone */
  env?: Record<string, string>
}

export interface DaemonView {
  version: 1
  pid: number
  reeve: string
  home: string
  socket: string
  startedAt: string
  uptimeMs: number
  containment: ContainmentKind
  processes: { live: number; suspended: number; max: number }
  cursor: number
  /** it drains before it ends: the PIDs that it waits for, and for how long at most */
  stopping?: { leftMs: number; waitsFor: number[] }
}
