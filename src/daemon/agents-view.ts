// The agents that there are, and for each whether it could run: which model it would have, which keys that needs, and what is
// in the way. Says what the daemon can see; a client adds the keys of its own environment (src/api/own-keys.ts).
// Starts nothing, and asks no command and no network. Test: test/e2e/agents-usable.test.ts.
import { homedir } from 'node:os'
import { distrusted } from '../config/agent-trust.ts'
import { findAgents } from '../config/agents.ts'
import { readCredentials } from '../config/credentials.ts'
import { keysOf } from '../config/model-keys.ts'
import { recognise } from '../drivers/command/formats/formats.ts'
import { KernelError } from '../kernel/errors.ts'
import { installCommand } from '../config/programs.ts'
import { checkInstalled } from './installed.ts'
import { permitsView } from './views.ts'
import type { AgentsView, AgentView, KeyState } from '../api/views.ts'
import type { Agent } from '../config/agent-file.ts'
import type { Config } from '../config/config.ts'
import type { Paths } from '../config/paths.ts'
import type { Settings } from './settings.ts'

export interface AgentsParts {
  readonly paths: Paths
  readonly settings: Settings
}

/** `model` is for agents that name none, as `--model` is. */
export interface AgentsQuery {
  readonly cwd: string
  readonly model?: string | undefined
}

export async function agentsView({ cwd, model }: AgentsQuery, { paths, settings }: AgentsParts): Promise<AgentsView> {
  const { agents, errors } = await findAgents(cwd, paths)
  const config = await orProblem(settings.of(cwd, {}, model === undefined ? {} : { model }))
  const kept = await orProblem(readCredentials(paths))
  const keys: Record<string, KeyState> = {}
  const trusted = config instanceof KernelError ? [] : config.trusted
  const doubts = await Promise.all(agents.map((agent) => distrusted(agent, true, { paths, trusted })))
  const views = agents.map((agent, at): AgentView => {
    const doubt = doubts[at] ?? null
    const plan = doubt === null ? planOf(agent, config) : { model: agent.model, needs: [], reason: `${doubt.why}. ${doubt.hint}` }
    const state = (name: string): KeyState => (keys[name] ??= stateOf(name, kept, config))
    const missing = plan.needs.filter((name) => state(name) === 'missing')
    const reason = plan.reason ?? (missing.length > 0 ? notSet(missing, kept) : null)
    return { ...shown(agent), ...goesOn(agent), usesModel: plan.model, needs: [...plan.needs], usable: reason === null, reason, install: plan.install ?? null }
  })
  return { version: 1, agents: views, errors: [...errors], keys }
}

/** Without its prompt; of the servers their names. */
function shown({ system: _, format: _f, permissions: _p, mode: _m, gateway: _w, graceMs: _g, command, mcp, tools, deny, capabilities = {}, fallback, unsupported, ...agent }: Agent): Omit<AgentView, 'usesModel' | 'needs' | 'usable' | 'reason' | 'install' | 'resumes' | 'forks'> {
  return {
    ...agent,
    command: command && [...command],
    tools: tools && [...tools], deny: [...deny], fallback: fallback && [...fallback], unsupported: [...unsupported],
    capabilities: permitsView(capabilities),
    mcp: mcp && [...mcp.names, ...mcp.own.map(({ name }) => name)],
  }
}

/** What can be known of it before one has run. */
function goesOn({ driver, format, command }: Agent): Pick<AgentView, 'resumes' | 'forks'> {
  if (driver === 'native') return { resumes: 'context', forks: 'any step' }
  if (driver === 'acp') return { resumes: 'session', forks: 'asked' }
  const spoken = format ?? recognise(command ?? [])
  if (spoken === null) return { resumes: 'rerun', forks: 'no' }
  return { resumes: 'session', forks: spoken === 'gemini' ? 'no' : 'now' }
}

interface Plan {
  readonly model: string | null
  readonly needs: readonly string[]
  readonly reason: string | null
  /** its program is not there, and this would install it */
  readonly install?: string | null
}

function planOf(agent: Agent, config: Config | KernelError): Plan {
  const refuse = (reason: string): Plan => ({ model: agent.model, needs: [], reason })
  if (agent.command !== null) return { model: agent.model, needs: [], ...notThere(agent.command) }
  if (config instanceof KernelError) return refuse(config.message)
  const model = agent.model ?? config.defaultModel
  if (model === null) return refuse('no model is configured')
  try {
    return { model, needs: keysOf(model, config.providers), reason: null }
  } catch (error) {
    return { ...refuse((error as Error).message), model }
  }
}

/** Looked for where the daemon looks; a client may have another PATH. */
function notThere(argv: readonly string[]): Pick<Plan, 'reason' | 'install'> {
  try {
    checkInstalled({ argv, cwd: homedir(), env: { PATH: process.env['PATH'] ?? '' } })
    return { reason: null }
  } catch (error) {
    if (!(error instanceof KernelError)) return { reason: String(error) }
    return { reason: `${error.message}. ${error.hint}`, install: error.code === 'COMMAND_NOT_FOUND' ? installCommand(argv[0] ?? '') : null }
  }
}

/** A command of the user's is not asked here: it may be slow, or ask the user in turn. */
function stateOf(name: string, kept: Readonly<Record<string, string>> | KernelError, config: Config | KernelError): KeyState {
  if (!(kept instanceof KernelError) && kept[name] !== undefined) return 'credentials.yaml'
  return config instanceof KernelError || config.keyCommand === null ? 'missing' : 'keyCommand'
}

function notSet(missing: readonly string[], kept: object): string {
  return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set${kept instanceof KernelError ? ` (${kept.message})` : ''}`
}

async function orProblem<T>(promise: Promise<T>): Promise<T | KernelError> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
}
