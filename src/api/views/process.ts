// The JSON of the API: processes, and the requests that start and steer them. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/daemon/api.test.ts.
import type { Disposition } from '../../kernel/model/signals.ts'
import type { Effort } from '../../kernel/model/spec-parts.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { OnComplete, RestartType, RestartWord, Strategy } from '../../kernel/model/supervision.ts'
import type {
  Activity,
  ContainmentKind,
  DriverName,
  GatewayMode,
  Handler,
  HoldReason,
  LimitAction,
  LimitName,
  Limits,
  OutputFormat,
  PermissionPolicy,
  Signal,
  SignalScope,
} from '../../kernel/model/words.ts'
import type { DoingView, WhyView } from './heartbeat.ts'

/** A candidate for an ambiguous reference, in the details of `AMBIGUOUS`. */
export interface CandidateView {
  uuid: string
  pid: number
  name: string | null
  intent: string
  status: Status
  createdAt: string
  exitedAt: string | null
}

/** Why a process is paused. */
export interface HoldView {
  reason: HoldReason
  /** for the reason `subtree`: the process whose subtree was paused */
  root?: string
  by: string
  at: string
  /** when the cause of the hold ends, if known */
  until?: string
  /** the hold is released automatically at `until` */
  wake?: true
  /** for the reason `budget`: the limit or the budget of the home that is used up */
  limit?: LimitName | 'dailyUsd' | 'monthlyUsd'
  /** for the reason `budget`: the process that the limit belongs to; absent: the home */
  scope?: string
}

/** A signal that was sent to a process. */
export interface SentSignalView {
  signal: Signal
  by: string
  /** the name of the sending client */
  via: string | null
  /** the process whose subtree was signalled; null: the signal was sent only to this process */
  root: string | null
  disposition: Disposition
  at: string
  /** the time after which SIGKILL followed; null: no SIGKILL followed */
  escalatedMs: number | null
}

/** A signal that waits because it is blocked. */
export interface PendingSignalView {
  signal: Signal
  by: string
  via: string | null
  root: string | null
  /** the time until the signal is delivered although it is blocked; null: it waits until it is unblocked */
  dueInMs: number | null
}

/** The signal state of a process. */
export interface SignalsView {
  version: 1
  uuid: string
  pid: number
  mask: Signal[]
  handlers: Partial<Record<Signal, Handler>>
  pending: PendingSignalView[]
  /** the latest signals that were sent to the process */
  recent: SentSignalView[]
}

/** A question of a process for the user. Without options the answer is a text. */
export interface AskView {
  id: string
  /** `plan`: an approval sets the permissions of the process */
  kind: 'permission' | 'question' | 'plan'
  text: string
  at: string
  options: {
    id: string
    name: string
    /** `choice`: the option means neither yes nor no */
    kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'choice'
  }[]
  /** the tool call that it is about; null: none */
  callId: string | null
  /** the step that asks; null: not known */
  step: number | null
  /** the last text of the agent before the question, truncated; null: none */
  message: string | null
  /** `recorded`: reeve runs exactly this call; `said`: an external agent describes it; null: no call is known */
  source: 'recorded' | 'said' | null
  /** the call; null: not about a call, or not known */
  tool: AskToolView | null
  /** the changes of files that the call would make */
  diff: AskDiffView[]
  /** the number of further changed files that `diff` leaves out */
  moreFiles: number
  /** of the text, options, call and diff; an answer that gives it as `seen` counts only for a question with this hash */
  hash: string
}

/** The tool call that a question is about. */
export interface AskToolView {
  name: string
  kind: 'execute' | 'edit' | 'fetch' | 'read' | 'other'
  /** JSON; of a long input only the beginning */
  input: unknown
  /** true: a part of `input` is left out */
  cut: boolean
  /** the paths that the call works on */
  locations: string[]
}

/** A change of a file: the old and the new text of the whole file, or of the changed part. */
export interface AskDiffView {
  path: string
  /** null: the file is new */
  old: string | null
  new: string
  /** false: the file exists, but its old text could not be read */
  oldKnown: boolean
  /** equal lines before the texts that are left out */
  equalBefore: number
  /** equal lines after the texts that are left out */
  equalAfter: number
  /** characters that are left out at the ends of the texts */
  cut: number
}

/** A liveness problem of a running process. */
export interface LivenessView {
  word: 'silent' | 'stalled' | 'waiting' | 'stopped'
  since: string
  /** what the process was doing at that time */
  evidence: string
}

/** The git worktree of a process. It is created when the process starts. */
export interface WorktreeView {
  dir: string
  branch: string
  /** the commit from which the worktree was created */
  base: string
  /** the newest step with recorded files */
  recordedStep: number | null
  /** only present if requested; null while the process runs, or if git fails */
  changes?: {
    /** the number of commits after `base` */
    commits: number
    /** the number of uncommitted files */
    count: number
    /** the first 100 uncommitted files */
    files: string[]
  } | null
}

/** The usage of a process so far, over all its incarnations. */
export interface UsageView {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  steps: number
  turns: number
  messagesSent: number
  toolCalls: number
  contextTokens: number
  /** null if no price is known; a lower bound if `unpriced` is true */
  costUsd: number | null
  /** true: the price of some call is unknown, so the cost is a lower bound */
  unpriced: boolean
  /** true: some call was cut off, and its cost is an estimate */
  estimated: boolean
  contextWindow: number | null
  turnCostUsd: number | null
  /** the CPU time of its programs; null: it had none, or nothing was measured */
  cpuTimeMs: number | null
  /** the memory of its programs; null while none runs */
  rssBytes: number | null
  peakRssBytes: number | null
  outputBytes: number | null
  updatedAt: string
}

/** The parts of `usage` that a list can select one by one. */
export type UsageField = 'usage.costUsd' | 'usage.inputTokens' | 'usage.unpriced'

/** The usage of a process and all its descendants. `reservedTokens` and `reservedUsd`: the estimated cost of open calls. */
export interface SubtreeUsageView {
  steps: number
  turns: number
  messagesSent: number
  toolCalls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  cpuTimeMs: number
  outputBytes: number
  rssBytes: number
  unpriced: boolean
  estimated: boolean
  openCalls: number
  reservedTokens: number
  reservedUsd: number
}

/** How much of a limit is used. */
export interface LimitUseView {
  limit: LimitName
  /** the usage so far, in the unit of the limit */
  used: number
  /** the value of the limit */
  of: number
  /** `refuse`: requests beyond the limit are refused */
  action: LimitAction | 'refuse'
  /** the ancestor that the limit belongs to; null: the process itself */
  scope: string | null
  /** where the limit comes from. `process`: a flag, an agent file or a resume; `config`: `limits` of the user's config.yaml */
  source: 'process' | 'config'
}

/**
 * Whether a restriction is enforced. `yes`: always; `asked`: only when the agent asks for permission; `part`: only for some of its tools;
 * `no`: never.
 */
export type EnforcementLevelView = 'yes' | 'asked' | 'part' | 'no'

/** The permissions except those for tools; null: unrestricted. */
export interface PermitsView {
  paths: { read: string[] | null; write: string[] | null }
  network: 'on' | 'off'
  signals: SignalScope
  spawns: string[] | null
}

/** The permissions of a process. Null: not restricted. */
export interface CapabilitiesView {
  tools: string[] | null
  deny: string[]
  /** the names of the MCP servers that the process may use */
  mcp: string[]
  /** which calls of tools are allowed, denied or need the user's answer; null: a native agent without permissions, or a command */
  calls: {
    default: PermissionPolicy
    allow: string[]
    ask: string[]
    deny: string[]
    /** external agents: the policy for a kind, title or name of a tool */
    tools: Record<string, 'ask' | 'allow' | 'deny'>
  } | null
  paths: { read: string[] | null; write: string[] | null }
  network: 'on' | 'off'
  signals: SignalScope
  spawns: string[] | null
  enforced: {
    tools: EnforcementLevelView
    paths: EnforcementLevelView
    network: EnforcementLevelView
  }
  /** restrictions that are not enforced, as text */
  notes: string[]
}

/** A child of a supervisor. */
export interface SupervisedView {
  id: string
  uuid: string
  restart: RestartType
  onComplete: OnComplete | null
  /** the number of restarts within the window of its supervisor */
  restarts: number
  /** the times of these restarts, the oldest first */
  restartedAt: string[]
  /** the time of the next restart; null: none is pending */
  nextStart: string | null
  /** null: the child has ended */
  status: Status | null
  /** null: the child has ended */
  pid: number | null
}

/** A supervisor and its children, in start order. */
export interface SupervisorView {
  strategy: Strategy
  maxRestarts: number
  windowMs: number
  backoff: { initialMs: number; maxMs: number; factor: number }
  children: SupervisedView[]
}

/** A process in its current state. */
export interface ProcessView {
  uuid: string
  pid: number
  /** 0 is the kernel */
  ppid: number
  /** the process that spawned this one */
  parentUuid: string | null
  name: string | null
  agent: string
  driver: DriverName
  /** the format of the JSON lines that its program writes; null: reeve does not understand the output */
  format: OutputFormat | null
  state: 'created' | 'running' | 'zombie' | 'dead'
  status: Status
  activity: Activity | null
  holds: HoldView[]
  /** its unanswered questions */
  asks: AskView[]
  /** the time at which its holds end, if known */
  resumeAt: string | null
  /** its liveness problem; null: it has none, or it is not running */
  liveness: LivenessView | null
  intent: string
  /** the first line of the intent, truncated */
  about: string
  cwd: string
  /** the files with instructions of its repository that a native agent has, the nearest first */
  instructions: {
    name: string
    path: string
    sha256: string
    /** the end of the file is left out */
    cut: boolean
  }[]
  /** the skills that a native agent may load */
  skills: {
    name: string
    description: string
    path: string
    /** of its `SKILL.md`, when the process began */
    sha256: string
  }[]
  /** where it was started; for a worktree, the same place in the checkout that it was made from */
  directory: string
  /** null without `worktree` in the spawn request */
  worktree: WorktreeView | null
  host: string
  containment: ContainmentKind | null
  /** whether its model calls go through the gateway, and if not, why; null: its driver does not use the gateway */
  gateway: { on: boolean; why: string | null } | null
  createdAt: string
  startedAt: string | null
  pausedAt: string | null
  exitedAt: string | null
  /** the active time, which excludes the time in which it was suspended */
  elapsedMs: number
  exit: { code: number; reason: string; signal?: Signal; error?: string } | null
  stopping: {
    signal: Signal
    by: string
    at: string
    graceMs: number
    /** true: its agent may finish its work within `graceMs` */
    wrapsUp: boolean
  } | null
  signals: {
    mask: Signal[]
    pending: Signal[]
    handlers: Partial<Record<Signal, Handler>>
    /** the latest signals that were sent to the process */
    recent: SentSignalView[]
  }
  step: number
  turn: number
  /** true: it waits for messages after a turn, instead of ending */
  interactive: boolean
  /** true: a command that began with a text on stdin, which is not recorded; so it cannot run again */
  input: boolean
  originUuid: string | null
  originStep: number | null
  resumedFromStep: number | null
  /** the step of the newest checkpoint; null: no checkpoint */
  checkpointStep: number | null
  model: string | null
  /** models that are tried, in order, if the first one cannot answer */
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
  /** the usage of the limits of this process, and of its ancestors */
  limitUse: LimitUseView[]
  /** when model calls are counted: before each call (`call`), when the agent reports them (`report`), or never (`none`) */
  metering: 'call' | 'report' | 'none'
  /**
   * how its memory limit is enforced: `held` by the operating system, or `measured` by reeve every second; null: it has no limit, or has
   * not started
   */
  memoryLimit: 'held' | 'measured' | null
  /** the restart policy; null: it is not restarted */
  restart: {
    type: RestartType
    /** default: `fresh` for `permanent`, else `stop` */
    onComplete?: OnComplete
    maxRestarts?: number
    windowMs?: number
    backoff?: { initialMs: number; maxMs: number; factor: number }
  } | null
  /** the pending restart; null: none */
  pendingRestart: {
    /** the number of the restart */
    attempt: number
    /** how the last incarnation ended */
    cause: string
    /** the time of the restart; null: the supervisor decides */
    at: string | null
  } | null
  /** its id among the children of its supervisor */
  childId: string | null
  /** null for processes that are not supervisors */
  supervisor: SupervisorView | null
  capabilities: CapabilitiesView
  children: string[]
  pinned: boolean
  /** it is removed with its history when it has ended */
  removeAtEnd: boolean
  /** its labels, by key */
  labels: Record<string, string>
  /** when the status began; if that was before the start of the daemon, the nearest known time */
  since: string
  /** null: it has ended */
  why: WhyView | null
  /** null: no call is open */
  doing: DoingView | null
  /** the text of the NOTE column */
  note: string | null
  /** the last assistant text, truncated to 500 characters */
  lastText: string | null
}

/** A step: one model call, with the tool calls that it requested. */
export interface StepView {
  step: number
  startedAt: string
  finishedAt: string | null
  model: string
  attempts: number
  text: string | null
  tools: {
    callId: string
    name: string
    input: unknown
    outcome: string | null
    exitCode: number | null
    result: string | null
    durationMs: number | null
    /** the call has not started: it, or a call before it, waits for an answer or a resume, or waited when the process ended */
    unbegun?: true
  }[]
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** what changed the context after the step, as text */
  notes: string[]
}

/** A line of `reeve logs`. */
export interface LogLine {
  at: string
  stream: 'stdout' | 'stderr' | 'assistant' | 'user' | 'tool' | 'system'
  text: string
  /** the tool call that the line is about */
  call?: {
    id: string
    name: string
    /** its main field on one line, truncated */
    input: string
    /** absent: it has ended, or that is unknown */
    state?: 'open' | 'not begun'
  }
  /** the line is the beginning of the result of a failed tool call */
  failed?: true
  /** the process of the line, in the log of a tree */
  uuid?: string
  pid?: number
  name?: string | null
}

/** The response to a signal, a pause, a resume or an answer. */
export interface SteerView {
  version: 1
  /** the number of processes that the request concerned */
  affected: number
  process: ProcessView
  note?: string
  /** the number of living children of an ended process */
  childrenGoOn?: number
  /** the names of the keys that the process waits for */
  missing?: string[]
  /** the question whose answer can be taken back, and until when; absent: the answer counts at once */
  undo?: {
    id: string
    /** null: until the process resumes */
    until: string | null
  }
}

export interface SpawnedView {
  version: 1
  process: ProcessView
  /** a remark for the user, such as that an agent file hides another one */
  note?: string
}

/** What happened to the worktree of a removed process. */
export interface WorktreeEndView {
  dir: string
  /** why the worktree still exists; absent: it was removed */
  kept?: string
  /** the ref with its uncommitted files */
  salvaged?: string
  /** a branch that stays because it has commits of its own */
  branch?: string
}

/** What git still has of a removed crew: its branch, other branches, and refs. */
export interface CrewKeptView {
  branch: string
  /** the number of commits of the branch */
  commits: number
  /** branches that are not merged into it */
  unmerged: string[]
  /** refs with uncommitted files */
  salvaged: string[]
}

/** A process that was removed. */
export interface RemovedView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  removedAt: string
  worktree?: WorktreeEndView
  crew?: CrewKeptView
}

/** POST /v1/processes. `cwd` and `env` are those of the client. */
export interface SpawnBody {
  intent?: string
  argv?: string[]
  /** the name of an agent; default `default`, the built-in one */
  agent?: string
  model?: string
  name?: string
  /** true: it works in a git worktree of its own, on a branch of its own, and its files are recorded */
  worktree?: boolean
  interactive?: boolean
  /**
   * the permissions, which replace those of the agent file: names of tools, `read:PATH`, `write:PATH`, `network`, `spawn`, `spawn:AGENT`,
   * `signal`. Rules such as `bash(npm test:*)` are added to those of the file
   */
  allow?: string[]
  /** forbidden: names of tools, `network`, `spawn`, `signal`, and rules such as `bash(git push:*)` */
  deny?: string[]
  containment?: ContainmentKind | 'auto'
  /** true: it continues automatically when a rate limit is over; default: as in the agent file, else it waits for the user */
  wake?: boolean
  /** native agents: false: it does not get the `AGENTS.md` of its repository; default: as in the agent file, else true */
  instructions?: boolean
  /** native agents: false: it gets no skills (`SKILL.md`); default: as in the agent file, else true */
  skills?: boolean
  /** true: it gets reeve's own tools, to start and control other processes; default: as in the agent file */
  reeve?: boolean
  /** labels to find it by, in addition to those of its agent file; children do not inherit them */
  labels?: Record<string, string>
  limits?: Limits
  /** the reasoning effort of the model */
  effort?: Effort
  /** models that are tried, in order, if the first one cannot answer */
  fallback?: string[]
  /** the MCP servers that it may use, by name; default: all configured ones, []: none */
  mcp?: string[]
  /** for calls of tools without a rule; default: as in the agent file, else `allow` for native agents, and `ask` for external ones */
  permissions?: PermissionPolicy
  /** external agents and commands: whether model calls go through the gateway; default: as configured */
  gateway?: GatewayMode
  /** when it is restarted: `no`, `on-failure`, `always`, or a policy with its intensity */
  restart?:
    | RestartWord
    | {
        type: RestartWord
        onComplete?: OnComplete
        maxRestarts?: number
        windowMs?: number
        backoff?: { initialMs?: number; maxMs?: number; factor?: number }
      }
  cwd: string
  /** a text for stdin of the command in `argv`: at most 1 MB in UTF-8, and never recorded. A restart is refused */
  input?: string
  parent?: string
  /**
   * true: it is removed with its history 10 s after its end, or at once by a `DELETE`. It stays if its worktree has changes, if it is
   * pinned, or if it was interrupted
   */
  removeAtEnd?: boolean
  /** its id among the children of its supervisor, which is its `parent` */
  childId?: string
  /** makes it a supervisor: a name in reeve.yaml, or the supervisor itself with its children */
  supervisor?: string | SupervisorBody
  /** the environment of the client; secret values are kept in memory only, all others are recorded */
  env?: Record<string, string>
}

/** A supervisor with its children, in start order. */
export interface SupervisorBody {
  strategy?: Strategy
  maxRestarts?: number
  windowMs?: number
  backoff?: { initialMs?: number; maxMs?: number; factor?: number }
  children?: ChildBody[]
}

/** A child of a supervisor. */
export interface ChildBody {
  intent?: string
  argv?: string[]
  /** the name of an agent; default `default`, the built-in one */
  agent?: string
  model?: string
  name?: string
  /** true: it works in a git worktree of its own, on a branch of its own, and its files are recorded */
  worktree?: boolean
  interactive?: boolean
  /**
   * the permissions, which replace those of the agent file: names of tools, `read:PATH`, `write:PATH`, `network`, `spawn`, `spawn:AGENT`,
   * `signal`. Rules such as `bash(npm test:*)` are added to those of the file
   */
  allow?: string[]
  /** forbidden: names of tools, `network`, `spawn`, `signal`, and rules such as `bash(git push:*)` */
  deny?: string[]
  containment?: ContainmentKind | 'auto'
  /** true: it continues automatically when a rate limit is over; default: as in the agent file, else it waits for the user */
  wake?: boolean
  /** native agents: false: it does not get the `AGENTS.md` of its repository; default: as in the agent file, else true */
  instructions?: boolean
  /** native agents: false: it gets no skills (`SKILL.md`); default: as in the agent file, else true */
  skills?: boolean
  /** true: it gets reeve's own tools, to start and control other processes; default: as in the agent file */
  reeve?: boolean
  /** labels to find it by, in addition to those of its agent file; children do not inherit them */
  labels?: Record<string, string>
  limits?: Limits
  /** the reasoning effort of the model */
  effort?: Effort
  /** models that are tried, in order, if the first one cannot answer */
  fallback?: string[]
  /** the MCP servers that it may use, by name; default: all configured ones, []: none */
  mcp?: string[]
  /** for calls of tools without a rule; default: as in the agent file, else `allow` for native agents, and `ask` for external ones */
  permissions?: PermissionPolicy
  /** external agents and commands: whether model calls go through the gateway; default: as configured */
  gateway?: GatewayMode
  /** when it is restarted: `no`, `on-failure`, `always`, or a policy with its intensity */
  restart?:
    | RestartWord
    | {
        type: RestartWord
        onComplete?: OnComplete
        maxRestarts?: number
        windowMs?: number
        backoff?: { initialMs?: number; maxMs?: number; factor?: number }
      }
  /** its id among the children of its supervisor */
  childId: string
  cwd?: string
}

export interface SignalBody {
  signal: string | number
  subtree?: boolean
  graceMs?: number
  /** the shortest grace period if `graceMs` is absent; an agent that is known to need longer gets more */
  leastGraceMs?: number
}

/**
 * POST /v1/processes/:ref/signals. The handlers are set first. Then `set` replaces the mask, or `block` and `unblock` change it. A signal
 * is a name, or its number in reeve.
 */
export interface SignalsBody {
  handlers?: Partial<Record<Signal, Handler>>
  set?: (string | number)[]
  block?: (string | number)[]
  unblock?: (string | number)[]
}

export interface PauseBody {
  subtree?: boolean
  now?: boolean
}

export interface ResumeBody {
  subtree?: boolean
  only?: boolean
  message?: string
  /** overrides the model of an ended process */
  model?: string
  /** overrides the effort of an ended process */
  effort?: Effort
  /** new values of limits, also of a suspended process; other limits stay the same */
  limits?: Limits
  /** amounts that are added to its limits */
  raise?: {
    maxSteps?: number
    maxTurns?: number
    maxMessages?: number
    maxToolCalls?: number
    maxChildren?: number
    maxDepth?: number
    maxInputTokens?: number
    maxOutputTokens?: number
    maxCacheReadTokens?: number
    maxCacheWriteTokens?: number
    budgetTokens?: number
    budgetUsd?: number
    cpuTimeMs?: number
    timeoutMs?: number
    memoryBytes?: number
    outputBytes?: number
  }
  /** external agents and commands: whether model calls go through the gateway from now on */
  gateway?: GatewayMode
  /** additional permissions, written as in a spawn; never more than a living parent has */
  allow?: string[]
  deny?: string[]
  rerun?: boolean
  /** true: starts a new process that continues from the history of this one, which stays unchanged */
  fork?: boolean
  /** the step after which a fork continues: from 0 to the last complete step */
  fromStep?: number
  /** true: continues from the newest checkpoint, or fails if there is none; a fork begins at its step */
  fromCheckpoint?: boolean
  /** true: the fork works in a new worktree with the files of its step */
  withFiles?: boolean
  name?: string
  cwd?: string
  env?: Record<string, string>
}

export interface SendBody {
  text: string
  now?: boolean
}

/** A question with options is answered by `option`, any other by `text`. */
export interface AnswerBody {
  /** the id of the question; needed only if several are open */
  id?: string
  option?: string
  text?: string
  /** the `hash` of the question that the user saw; `CONFLICT` if this question is no longer open */
  seen?: string
  /** the agent gets the answer after so many ms, and until then it can be taken back; absent: at once */
  undoMs?: number
}

/** The new name: it must be valid, and no living process may have it. */
export interface RenameBody {
  name: string
}

/** New values of labels by key; null removes a label. */
export interface LabelBody {
  labels: Record<string, string | null>
}

/** `pinned: false` removes the pin. */
export interface PinBody {
  pinned: boolean
}

/** Until when the present needs of a process are put off. */
export interface SnoozeBody {
  /** a time in the future; null: the needs are shown again */
  until: string | null
}
