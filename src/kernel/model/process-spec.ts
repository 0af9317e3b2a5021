// The specification of a process: the settings with which it starts, by driver. Crews, crew members, compose runs and their
// nodes have such a specification, too. Types only. Test: test/properties/kernel.test.ts.
import type { Effort, Instructions, Labels, KeepRaw, McpServer, Permissions, Skill, WorktreeSpec, Capabilities } from './spec-parts.ts'
import type { RestartPolicy, SupervisorSpec } from './supervision.ts'
import type { AgentDriver, ContainmentKind, GatewayMode, Limits, OutputFormat } from './words.ts'
import type { LivenessSpec } from './liveness.ts'
import type { Uuid } from './ids.ts'
import type { MemberId, WorkerRole, Role, CommitGate, MergeMode, CrewShellCommand } from './crew/words.ts'

/**
 * The settings of a process; its driver decides which fields there are. The spawn records the specification, and a
 * resume with overrides records a new one.
 */
export type ProcessSpec = Exclusive<Variant>

type Variant = NativeSpec | AcpSpec | JsonLinesSpec | PlainCommandSpec | SupervisorProcessSpec | CrewProcessSpec | ComposeProcessSpec
type FieldOf<S> = S extends unknown ? keyof S : never

/** Each variant, where the fields of all other variants must be absent: code for any driver may read them, but cannot set them. */
type Exclusive<S> = S extends unknown ? S & { readonly [F in Exclude<FieldOf<Variant>, keyof S>]?: never } : never

/** The variants that run an agent or a program. All other variants only manage children. */
export type RunnableSpec = Extract<ProcessSpec, { driver: AgentDriver }>

export type CommandSpec = Exclusive<JsonLinesSpec | PlainCommandSpec>
export type ExternalSpec = Exclusive<AcpSpec | JsonLinesSpec>
export type ProgramSpec = ExternalSpec | CommandSpec

interface BaseSpec {
  readonly name: string | null
  /** the agent file's name, or `command` for `run -- CMD` */
  readonly agent: string
  /** absent: none; children do not inherit them */
  readonly labels?: Labels
  readonly intent: string
  readonly cwd: string
  readonly interactive: boolean
  /** tools that the process may use; null: the driver's default set */
  readonly tools: readonly string[] | null
  /** tools that the process may not use */
  readonly deny: readonly string[]
  /** further limits, within those of the parent; absent: none */
  readonly capabilities?: Capabilities
  /** variables of the client's environment that a resume restores; never a secret */
  readonly env: Readonly<Record<string, string>>
  /** names of the credentials that the process uses; their values are never recorded */
  readonly credentials: readonly string[]
  readonly containment: ContainmentKind | 'auto'
  readonly limits: Limits
  /** the limits of the user's config.yaml that this process took over at its start; absent: none */
  readonly homeLimits?: Limits
  /** absent: the process never restarts automatically */
  readonly restart?: RestartPolicy
  /** the daemon removes the process with its history when it has ended */
  readonly removeAtEnd?: true
  /** the id of the process among the children of its supervisor */
  readonly childId?: string
}

interface RunnableBase extends BaseSpec {
  /** the git worktree of this process only; `cwd` lies within it */
  readonly worktree?: WorktreeSpec
  /** absent: the process is not a member of a crew */
  readonly member?: MemberSpec
  /** overrides of the liveness defaults (liveness.ts) */
  readonly liveness?: LivenessSpec
  /** the process resumes automatically when a rate limit is over */
  readonly wake?: true
  /** the agent has reeve's own tools */
  readonly reeve?: true
}

export interface NativeSpec extends RunnableBase {
  readonly driver: 'native'
  /** `provider/name`, `script:FILE` or `replay:UUID` */
  readonly model: string
  /** fallback models in order, used when `model` cannot answer */
  readonly fallback?: readonly string[]
  /** absent: the provider's own default */
  readonly effort?: Effort
  readonly mcp?: readonly McpServer[]
  /** absent: no call needs the user's answer */
  readonly permissions?: Permissions
  /** absent: the repository has none, or the agent does not read them */
  readonly instructions?: Instructions
  /** the skills that the agent may load; absent: none */
  readonly skills?: readonly Skill[]
  /** the role prompt; constant for a process */
  readonly system: string | null
  readonly argv: null
}

interface ProgramBase extends RunnableBase {
  readonly argv: readonly string[]
  /** the role prompt; constant for a process */
  readonly system: string | null
  /** whether model calls use the gateway; absent: `auto` */
  readonly gateway?: GatewayMode
  /** observed clean-up time after SIGTERM; the minimum grace of a signal whose sender gives none */
  readonly graceMs?: number
}

interface ExternalBase extends ProgramBase {
  /** which original output lines of the agent are kept; absent: none */
  readonly keepRaw?: KeepRaw
}

export interface AcpSpec extends ExternalBase {
  readonly driver: 'acp'
  /** null: the agent's own choice */
  readonly model: string | null
  readonly mcp?: readonly McpServer[]
  /** absent: `ask` for everything */
  readonly permissions?: Permissions
  /** the ACP session mode */
  readonly mode?: string
  /** the agent asks before it acts, in any mode; its agent file states this */
  readonly asks?: true
}

interface CommandInput {
  /** the first incarnation reads a text on stdin. The text is never recorded, so the command cannot start a second time */
  readonly input?: true
}

/** An external agent that writes JSON lines. */
export interface JsonLinesSpec extends ExternalBase, CommandInput {
  readonly driver: 'command'
  readonly model: null
  readonly format: OutputFormat
}

export interface PlainCommandSpec extends ProgramBase, CommandInput {
  readonly driver: 'command'
  readonly model: null
  readonly format?: never
}

/** A process without a program, which only manages children. */
interface ParentBase extends BaseSpec {
  readonly model: null
  readonly system: null
  readonly argv: null
}

export interface SupervisorProcessSpec extends ParentBase {
  readonly driver: 'supervisor'
  readonly supervisor: SupervisorSpec
}

export interface CrewProcessSpec extends ParentBase {
  readonly driver: 'crew'
  readonly crew: CrewSpec
}

export interface ComposeProcessSpec extends ParentBase {
  readonly driver: 'compose'
  readonly compose: ComposeSpec
}

/** The settings of a crew, requested by `crew up`. */
export interface CrewSpec {
  readonly coordinator: 'engine' | 'agent'
  readonly gate: CommitGate
  readonly merge: MergeMode
  /** whether tasks are reviewed; a task may override this */
  readonly reviews: boolean
  /** attempts per task, including denied, failed and lost ones, before the task fails */
  readonly maxAttempts: number
  /** maximum number of living workers */
  readonly maxWorkers: number
  /** the workers that start with the crew */
  readonly staff: readonly { readonly role: WorkerRole; readonly count: number }[]
  /** null: the crew uses no repository and commits nothing */
  readonly git: CrewGitSpec | null
  /** a member is replaced when this share of its context is used; null: never */
  readonly handOver: number | null
  /** the command line that started the crew, for starting it again; absent: the crew was started through the API */
  readonly again?: string
  /** the crew keeps running when all tasks are done */
  readonly stay: boolean
  /** checks a task before its review and before its merge; absent: no check runs */
  readonly verify?: CrewShellCommand
  /** runs once in each new worktree, before its worker begins */
  readonly setup?: CrewShellCommand
  /** patterns of git-ignored files that are copied from the user's checkout into each new worktree */
  readonly copy?: readonly string[]
  /** replaces `verify` for work of that role; false: no check runs */
  readonly verifyBy?: { readonly [R in WorkerRole]?: CrewShellCommand | false }
  /** the complete specification of each role, so that later members are equal */
  readonly roles: { readonly [R in Role]?: RunnableSpec }
}

export interface CrewGitSpec {
  readonly repository: string
  /** the commit at which the crew's branch began */
  readonly base: string
  /** the crew's branch: `reeve/NAME` */
  readonly branch: string
}

/** The membership of a process in a crew. */
export interface MemberSpec {
  readonly crew: Uuid
  readonly id: MemberId
  readonly role: Role
}

/** A node as the compose file defines it; constant during the run. */
export interface NodeSpec {
  readonly name: string
  /** nodes that must complete first */
  readonly needs: readonly string[]
  /** maximum number of restarts after a failure */
  readonly retries: number
  /** the node gets its own worktree, created when the node starts */
  readonly worktree?: true
  /**
   * the process to start, in the environment of the run. References such as `{{ nodes.X.result }}` in its intent and
   * arguments are replaced when the node starts
   */
  readonly template: RunnableSpec
}

export interface ComposeSpec {
  /** the path of the compose file */
  readonly file: string
  /** maximum number of nodes that run at a time; absent: no maximum */
  readonly parallel?: number
  readonly nodes: readonly NodeSpec[]
}
