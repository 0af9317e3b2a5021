// The closed word lists of processes, limits, permissions and the page, and the types derived from them. Those of crews are in
// crew/words.ts. Schemas, shell completion and checks use the same lists. Must import nothing, so that every part may load it.
// Test: test/properties/kernel.test.ts.

/** The drivers that run an agent or a program. */
export const AGENT_DRIVERS = ['native', 'acp', 'command'] as const
export type AgentDriver = (typeof AGENT_DRIVERS)[number]

/** All drivers. The last three run no program: the kernel does their work (supervision.ts, apply-command.ts, compose.ts). */
export const DRIVERS = [...AGENT_DRIVERS, 'supervisor', 'crew', 'compose'] as const
export type DriverName = (typeof DRIVERS)[number]

/** How durable a store on PostgreSQL must be: on a synchronous standby, too, or on one server. */
export const DURABILITIES = ['replicated', 'single'] as const
export type Durability = (typeof DURABILITIES)[number]

/** What contains the programs of an incarnation: a cgroup, a PID namespace, or a process group. */
export const CONTAINMENT_KINDS = ['cgroup', 'pidns', 'group'] as const
export type ContainmentKind = (typeof CONTAINMENT_KINDS)[number]

/** The limits; the table in limits.ts defines what each one counts. */
export const LIMIT_NAMES = [
  'maxSteps',
  'maxTurns',
  'maxMessages',
  'maxToolCalls',
  'maxChildren',
  'maxDepth',
  'maxInputTokens',
  'maxOutputTokens',
  'maxCacheReadTokens',
  'maxCacheWriteTokens',
  'budgetTokens',
  'budgetUsd',
  'cpuTimeMs',
  'timeoutMs',
  'memoryBytes',
  'outputBytes',
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** The budgets of the whole home: USD in a calendar day and in a calendar month (home.ts). */
export const HOME_BUDGETS = ['dailyUsd', 'monthlyUsd'] as const
export type HomeBudgetName = (typeof HOME_BUDGETS)[number]
/** Everything that can be used up: a limit of a process, or a budget of the home. */
export const BOUND_NAMES = [...LIMIT_NAMES, ...HOME_BUDGETS] as const
export type BoundName = LimitName | HomeBudgetName

/** The limits that only refuse further requests; all other limits have an action. */
export const REFUSING_LIMITS = ['maxMessages', 'maxChildren', 'maxDepth'] as const satisfies readonly LimitName[]
export type RefusingLimit = (typeof REFUSING_LIMITS)[number]
/** The limits with an action, which a user may choose. */
export const ACTION_LIMITS = LIMIT_NAMES.filter((name) => !REFUSING_LIMITS.some((refusing) => refusing === name))

/** The action taken on a process that reaches a limit. */
export const LIMIT_ACTIONS = ['suspend', 'terminate'] as const
export type LimitAction = (typeof LIMIT_ACTIONS)[number]

/** Limits of one process. An absent limit does not apply. */
export type Limits = { readonly [L in LimitName]?: number } & {
  /** calls to a model of unknown price under a `budgetUsd`; absent: `warn` */
  readonly unknownPrice?: 'warn' | 'refuse'
  /** overrides of a limit's default action */
  readonly actions?: { readonly [L in LimitName]?: LimitAction }
  /** a warning is recorded when this share of a limit is used; absent: 0.8 */
  readonly warnAt?: number
}

/** JSON line formats that the command driver parses. */
export const OUTPUT_FORMATS = ['claude', 'codex', 'gemini', 'opencode'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/** Why a process is paused; holds.ts has the properties of each reason. */
export const HOLD_REASONS = [
  'user',
  'subtree',
  'budget',
  'rate-limit',
  'loop',
  'context-full',
  'breaker',
  'disk-full',
  'credentials',
  'supervisor',
  'daemon-shutdown',
  'daemon-crash',
] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

export const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME'] as const
export type Signal = (typeof SIGNALS)[number]
/** the signals that may ask a driver to end its agent */
export type EndSignal = Extract<Signal, 'SIGTERM' | 'SIGKILL' | 'SIGINT'>

/** What a process does with a signal that is not blocked: its default action, nothing, or it gets a message about the signal. */
export const HANDLERS = ['default', 'ignore', 'message'] as const
export type Handler = (typeof HANDLERS)[number]

/** The party that caused an exit; `person` is the user. Status and restarts follow the cause, not the exit code alone. */
export type Cause = 'agent' | 'person' | 'parent' | 'limit' | 'daemon'

/** What a running process does: it starts, can take a message, has a turn, or waits for the user's answer. */
export const ACTIVITIES = ['starting', 'ready', 'working', 'waiting'] as const
export type Activity = (typeof ACTIVITIES)[number]

/** The actions whose consequences a client can ask for beforehand. */
export const STAKES_ACTIONS = ['stop', 'kill', 'pause', 'remove', 'resume'] as const
export type StakesAction = (typeof STAKES_ACTIONS)[number]

/** The effect class of a tool: only calls of `read` and `idempotent` tools may be repeated after an unknown outcome. */
export const TOOL_EFFECTS = ['read', 'idempotent', 'once'] as const
export type ToolEffect = (typeof TOOL_EFFECTS)[number]

/** The tools of native agents, besides those of MCP servers. */
export const NATIVE_TOOLS = ['read', 'write', 'edit', 'ls', 'glob', 'grep', 'bash', 'skill'] as const
export type NativeTool = (typeof NATIVE_TOOLS)[number]

/** What each native tool may do: read files, change files, or start programs. Coordinators of crews get only the tools that read. */
export const NATIVE_TOOL_ACCESS: Readonly<Record<NativeTool, 'read' | 'write' | 'shell'>> = {
  read: 'read',
  write: 'write',
  edit: 'write',
  ls: 'read',
  glob: 'read',
  grep: 'read',
  bash: 'shell',
  skill: 'read',
}

/**
 * The liveness of a process. `silent`: no output; `stalled`: no progress; `waiting`: an ask has been open too long; `stopped`: a SIGSTOP
 * from outside.
 */
export const LIVENESS_WORDS = ['alive', 'silent', 'stalled', 'waiting', 'stopped'] as const
export type LivenessWord = (typeof LIVENESS_WORDS)[number]

/** The reaction to a stalled process: record a warning only, end its turn, or end it and let its restart policy decide. */
export const LIVENESS_POLICIES = ['warn', 'interrupt', 'restart'] as const
export type LivenessPolicy = (typeof LIVENESS_POLICIES)[number]

/** Every status of a process, as users see it. */
export const STATUSES = [
  'pending',
  'starting',
  'ready',
  'working',
  'waiting',
  'suspended',
  'stopping',
  'zombie',
  'completed',
  'retired',
  'stopped',
  'failed',
  'interrupted',
] as const

/** The reasoning efforts of models. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** What happens to a call of a tool. */
export const CALL_DECISIONS = ['ask', 'allow', 'deny'] as const
export type CallDecision = (typeof CALL_DECISIONS)[number]

/**
 * The policies for calls without a rule. `plan`: a native agent only reads, until the user approves its plan. `agent`: the settings of an
 * external agent decide which calls it asks about, and the user answers.
 */
export const PERMISSION_POLICIES = [...CALL_DECISIONS, 'plan', 'agent'] as const
export type PermissionPolicy = (typeof PERMISSION_POLICIES)[number]

/** Restart types as in Erlang/OTP. */
export const RESTART_TYPES = ['permanent', 'transient', 'temporary'] as const

/** Supervision strategies as in Erlang/OTP. */
export const STRATEGIES = ['one_for_one', 'one_for_all', 'rest_for_one'] as const

/** Actions after a process has completed. */
export const ON_COMPLETE = ['fresh', 'stop'] as const

/** Restart policies as users write them: `no` means temporary, `on-failure` transient, `always` permanent. */
export const RESTART_WORDS = ['no', 'on-failure', 'always', ...RESTART_TYPES] as const

/** Whether an external agent calls its models through the gateway. `auto`: yes, if reeve knows the agent and has the key. */
export const GATEWAY_MODES = ['auto', 'on', 'off'] as const
export type GatewayMode = (typeof GATEWAY_MODES)[number]

/** The processes that a process may signal. */
export const SIGNAL_SCOPES = ['none', 'children', 'subtree'] as const
export type SignalScope = (typeof SIGNAL_SCOPES)[number]

/** The ways to group a usage report. `project`: the directory that a process was started in; `label`: the value of one label. */
export const USAGE_GROUPS = ['agent', 'model', 'day', 'tree', 'hour', 'process', 'project', 'label'] as const

/** The wire formats of model providers. */
export const PROVIDER_KINDS = ['anthropic', 'openai', 'google', 'openai-compatible'] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

/** What a session of the web page may do; each right includes those before it. */
export const WEB_RIGHTS = ['read', 'answer', 'steer', 'start', 'all'] as const
export type WebRight = (typeof WEB_RIGHTS)[number]

/** How a browser reaches the page: on this machine, through the user's proxy, which terminates TLS, or through the daemon's own TLS. */
export const WEB_WAYS = ['loopback', 'proxy', 'tls'] as const
export type WebWay = (typeof WEB_WAYS)[number]

/** What the page may request only if the user's configuration lists it in `web.allow`. */
export const WEB_OPENINGS = ['commands', 'environment', 'archive', 'mcp', 'stop'] as const
export type WebOpening = (typeof WEB_OPENINGS)[number]

/** The conditions that a client can wait for. */
export const WAIT_TARGETS = ['exited', 'ready', 'suspended', 'waiting'] as const
export type WaitTarget = (typeof WAIT_TARGETS)[number]

/** The states of an incarnation; a status is derived from them. */
export const PROCESS_STATES = ['created', 'running', 'zombie', 'dead'] as const

/** The statuses in which active time is counted. */
export const RUNNING_STATUSES = ['starting', 'ready', 'working', 'waiting', 'stopping'] as const

/** When a model call is counted. `call`: before it is made; `report`: when the agent reports it; `none`: never. */
export const METERINGS = ['call', 'report', 'none'] as const
export type Metering = (typeof METERINGS)[number]

/** The source that an ended process resumes from. `rerun`: there is none, so it starts over. */
export const RESUME_SOURCES = ['context', 'session', 'rerun'] as const
export type ResumeSource = (typeof RESUME_SOURCES)[number]
