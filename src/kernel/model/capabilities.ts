// Driver capabilities: the one table of what each driver can do. Distinguishes native agents, external agents and plain commands. An
// external agent keeps its own session, and reports calls after they have happened. Also finds what an ended process can resume from.
// Test: test/tables/kernel/decide/external-agents.test.ts.
import type { Process } from './process.ts'
import { NATIVE_TOOL_ACCESS, NATIVE_TOOLS, type DriverName, type ResumeSource } from './words.ts'
import type { ExternalSpec, PlainCommandSpec, ProcessSpec } from './process-spec.ts'

interface DriverCapabilities {
  /** takes messages while it runs, one turn for each. Some commands do so, too: see `takesMessages` */
  readonly acceptsMessages: boolean
  /** can pause at a boundary; otherwise each pause freezes the process */
  readonly canPauseSoftly: boolean
  /** runs no program, but starts and restarts children that have ids (supervision.ts) */
  readonly supervisesChildren: boolean
  /** each process runs a program, with the command line `argv` */
  readonly hasProgram: boolean
  /** the kernel records the whole context, and grants each model call before the driver makes it */
  readonly recordsContext: boolean
  /** how far reeve enforces rules about tools and paths; `asked`: only when the agent asks first */
  readonly enforcement: 'yes' | 'asked' | 'no'
  /** the tools that start a shell; for a driver without tools: those that its children may use */
  readonly shellTools: readonly string[]
}

/** The tools of native agents that start a shell. reeve cannot limit the paths of a shell. */
export const NATIVE_SHELL_TOOLS = NATIVE_TOOLS.filter((tool) => NATIVE_TOOL_ACCESS[tool] === 'shell')

const PARENT_CAPABILITIES: DriverCapabilities = {
  acceptsMessages: false,
  canPauseSoftly: true,
  supervisesChildren: true,
  hasProgram: false,
  recordsContext: false,
  enforcement: 'yes',
  shellTools: NATIVE_SHELL_TOOLS,
}

export const CAPABILITIES: Readonly<Record<DriverName, DriverCapabilities>> = {
  native: {
    acceptsMessages: true,
    canPauseSoftly: true,
    supervisesChildren: false,
    hasProgram: false,
    recordsContext: true,
    enforcement: 'yes',
    shellTools: NATIVE_SHELL_TOOLS,
  },
  acp: {
    acceptsMessages: true,
    canPauseSoftly: true,
    supervisesChildren: false,
    hasProgram: true,
    recordsContext: false,
    enforcement: 'asked',
    shellTools: [...NATIVE_SHELL_TOOLS, 'execute'],
  },
  command: {
    acceptsMessages: false,
    canPauseSoftly: false,
    supervisesChildren: false,
    hasProgram: true,
    recordsContext: false,
    enforcement: 'no',
    shellTools: [],
  },
  supervisor: PARENT_CAPABILITIES,
  crew: PARENT_CAPABILITIES,
  compose: PARENT_CAPABILITIES,
}

/**
 * True for a command that has a conversation: each turn runs one program, which resumes the session of the previous
 * turn. A command line that the user typed is excluded, because the position of its prompt is unknown.
 */
export function isConversation({ format, interactive, agent }: ProcessSpec): boolean {
  return format !== undefined && interactive && agent !== 'command'
}

/** True when the process takes messages while it runs, one turn for each. */
export function takesMessages(spec: ProcessSpec): boolean {
  return CAPABILITIES[spec.driver].acceptsMessages || isConversation(spec)
}

/** True for an external agent. The kernel accepts its reports in spite of holds and budgets, because its calls have already happened. */
export function isExternal(spec: ProcessSpec): spec is ExternalSpec {
  return CAPABILITIES[spec.driver].hasProgram && !isPlainCommand(spec)
}

export function isPlainCommand(spec: ProcessSpec): spec is PlainCommandSpec {
  return spec.driver === 'command' && spec.format === undefined
}

/** True if the next start of the process needs the input of its spawn, which only the memory of the daemon has. */
export function needsInput(process: Pick<Process, 'spec' | 'sessionId' | 'forkOf' | 'progress'>): boolean {
  return process.spec.input === true && resumeSource(process) === 'rerun'
}

/** The source that an ended process can resume from. `rerun`: there is none, so the process can only start over. */
export function resumeSource({
  spec,
  sessionId,
  forkOf,
  progress,
}: Pick<Process, 'spec' | 'sessionId' | 'forkOf' | 'progress'>): ResumeSource {
  const { recordsContext, supervisesChildren } = CAPABILITIES[spec.driver]
  if (recordsContext || supervisesChildren) return 'context'
  if (isPlainCommand(spec)) return 'rerun'
  // Before its first prompt an agent has nothing to lose: a new session gets the queued messages.
  const hasNoTurn = takesMessages(spec) && progress.turn === 0
  return sessionId !== null || forkOf !== undefined || hasNoTurn ? 'session' : 'rerun'
}
