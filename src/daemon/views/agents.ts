// Lists the available agents, and checks whether each can run: its program, its model, and the keys that the model needs.
// The daemon does not know the client's environment: the client adds its own keys (src/api/client/mark-client-keys.ts).
// Must start no program and use no network. Test: test/e2e/external/agents-usable.test.ts.
import { homedir } from 'node:os'
import { findDistrust } from '../../config/agents/agent-trust.ts'
import { findAgents } from '../../config/agents/find-agents.ts'
import { readCredentials } from '../../config/credentials/find-keys.ts'
import { requiredKeyNames } from '../../config/credentials/model-keys.ts'
import { isGemini } from '../../drivers/acp/gemini-sessions.ts'
import { loginOf } from '../../drivers/gateway/logins.ts'
import { recognizeFormat, parseKnownCommand } from '../../drivers/command/formats/formats.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { installCommand } from '../../config/known-programs.ts'
import { checkInstalled } from '../incarnation/check-installed.ts'
import { declaredCapabilitiesView } from './process-view.ts'
import type { AgentsView, AgentView, KeyState } from '../../api/views/agents.ts'
import type { AgentDefinition } from '../../config/agents/agent-file.ts'
import type { Config } from '../../config/config.ts'
import type { Paths } from '../../config/paths.ts'
import type { Settings } from '../host/settings.ts'
import type { OutputFormat } from '../../kernel/model/words.ts'

export interface AgentsDeps {
  readonly paths: Paths
  readonly settings: Settings
}

export interface AgentsQuery {
  readonly cwd: string
  /** the client's PATH, in which programs are searched; default: the daemon's PATH */
  readonly path?: string | undefined
  /** the model of agents that name none, as with `--model` */
  readonly model?: string | undefined
}

/** Returns the agents that are available in a directory. */
export async function agentsView(
  { cwd, model, path = process.env['PATH'] ?? '' }: AgentsQuery,
  { paths, settings }: AgentsDeps,
): Promise<AgentsView> {
  const { agents, errors } = await findAgents(cwd, paths)
  const config = await orKernelError(settings.configFor(cwd, {}, model === undefined ? {} : { model }))
  const savedKeys = await orKernelError(readCredentials(paths))
  const keys: Record<string, KeyState> = {}
  const trusted = config instanceof KernelError ? [] : config.trusted
  const distrusts = await Promise.all(agents.map((agent) => findDistrust(agent, true, { paths, trusted })))
  const views = agents.map((agent, index): AgentView => {
    const distrust = distrusts[index] ?? null
    const plan =
      distrust === null ? planOf(agent, config, path) : { model: agent.model, needs: [], reason: `${distrust.why}. ${distrust.hint}` }
    const state = (name: string): KeyState => (keys[name] ??= keyStateOf(name, savedKeys, config))
    const missing = plan.needs.filter((name) => state(name) === 'missing')
    const reason = plan.reason ?? (missing.length > 0 ? missingKeysText(missing, savedKeys) : null)
    return {
      ...publicFieldsOf(agent),
      ...continuationOf(agent),
      usesModel: plan.model,
      needs: [...plan.needs],
      usable: reason === null,
      reason,
      install: plan.install ?? null,
      login: loginState(agent),
    }
  })
  return { version: 1, agents: views, errors: [...errors], keys }
}

/** Returns the public fields of a definition. Leaves out the prompt, and has only the names of the MCP servers. */
function publicFieldsOf({
  system: _,
  format: _f,
  permissions: _p,
  mode: _m,
  asks: _a,
  gateway: _w,
  graceMs: _g,
  command,
  mcp,
  tools,
  deny,
  capabilities = {},
  fallback,
  unsupported,
  ...agent
}: AgentDefinition): Omit<
  AgentView,
  'usesModel' | 'needs' | 'usable' | 'reason' | 'install' | 'login' | 'resumes' | 'forks' | 'converses'
> {
  return {
    ...agent,
    command: command && [...command],
    tools: tools && [...tools],
    deny: [...deny],
    fallback: fallback && [...fallback],
    unsupported: [...unsupported],
    capabilities: declaredCapabilitiesView(capabilities),
    mcp: mcp && [...mcp.names, ...mcp.definitions.map(({ name }) => name)],
  }
}

/** How the agent can be resumed and forked. `asked`: only the running agent can report whether it can be forked. */
function continuationOf({ driver, format, command }: AgentDefinition): Pick<AgentView, 'resumes' | 'forks' | 'converses'> {
  switch (driver) {
    case 'native':
      return { resumes: 'context', forks: 'any step', converses: true }
    case 'acp':
      return { resumes: 'session', forks: isGemini(command ?? []) ? 'no' : 'asked', converses: true }
    case 'command': {
      const knownFormat = format ?? recognizeFormat(command ?? [])
      if (knownFormat === null) return { resumes: 'rerun', forks: 'no', converses: false }
      return { resumes: 'session', forks: knownFormat === 'gemini' ? 'no' : 'now', converses: keepsSession(command ?? [], knownFormat) }
    }
  }
}

/** True if the command line does not disable sessions, so that a message can continue the last one's session. */
function keepsSession(argv: readonly string[], outputFormat: OutputFormat): boolean {
  const {
    format: { keepsNoSession },
    command,
  } = parseKnownCommand(argv, outputFormat)
  return !keepsNoSession(command)
}

/** How an agent would run. */
interface RunPlan {
  readonly model: string | null
  /** the names of the keys that the model needs */
  readonly needs: readonly string[]
  /** why the agent cannot run, apart from missing keys; null if there is no known obstacle */
  readonly reason: string | null
  /** the command that installs the missing program */
  readonly install?: string | null
}

function planOf(agent: AgentDefinition, config: Config | KernelError, path: string): RunPlan {
  const refuse = (reason: string): RunPlan => ({ model: agent.model, needs: [], reason })
  if (agent.command !== null) return { model: agent.model, needs: [], ...checkProgram(agent.command, path) }
  if (config instanceof KernelError) return refuse(config.message)
  const model = agent.model ?? config.defaultModel
  if (model === null) return refuse('no model is configured; `reeve help keys` explains models')
  try {
    return { model, needs: requiredKeyNames(model, config.providers), reason: null }
  } catch (error) {
    return { ...refuse((error as Error).message), model }
  }
}

/** How an external agent logs in; null if it needs no login. The state is not checked here: only the agent knows it. */
function loginState({ command, driver }: AgentDefinition): AgentView['login'] {
  const known = command === null ? null : loginOf(command)
  return known === null && driver !== 'acp' ? null : { state: 'not checked', command: known?.command ?? null, key: known?.key ?? null }
}

/** Checks that the program of an agent is installed. */
function checkProgram(argv: readonly string[], path: string): Pick<RunPlan, 'reason' | 'install'> {
  try {
    checkInstalled({ argv, cwd: homedir(), env: { PATH: path } })
    return { reason: null }
  } catch (error) {
    if (!(error instanceof KernelError)) return { reason: String(error) }
    return { reason: `${error.message}. ${error.hint}`, install: error.code === 'COMMAND_NOT_FOUND' ? installCommand(argv[0] ?? '') : null }
  }
}

/** Finds the source of a key. The user's key command is not run, because it may be slow or ask for a password. */
function keyStateOf(name: string, savedKeys: Readonly<Record<string, string>> | KernelError, config: Config | KernelError): KeyState {
  if (!(savedKeys instanceof KernelError) && savedKeys[name] !== undefined) return 'credentials.yaml'
  return config instanceof KernelError || config.keyCommand === null ? 'missing' : 'keyCommand'
}

function missingKeysText(missing: readonly string[], savedKeys: object): string {
  return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set${savedKeys instanceof KernelError ? ` (${savedKeys.message})` : ''}`
}

/** Returns the result, or the KernelError that it failed with. Throws other errors. */
async function orKernelError<T>(promise: Promise<T>): Promise<T | KernelError> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
}
