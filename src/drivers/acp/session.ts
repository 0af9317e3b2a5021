// Opening a session: the handshake, then a new session or the process's own again, then its mode and model. What an agent
// does not offer is not asked of it. Owns the words of what goes wrong here, as a person has to act on them.
// Tests: test/processes/acp-session.test.ts.
import { PROTOCOL_VERSION, RequestError, methods } from '@agentclientprotocol/sdk'
import type { ClientCapabilities, ClientConnection, McpServer } from '@agentclientprotocol/sdk'
import type { ProcessSpec } from '../../kernel/types.ts'
import { quirksOf, youngMs } from './quirks.ts'
import type { Quirks } from './quirks.ts'
import { readInitialized, readSession } from './wire.ts'
import type { Initialized, SessionInfo } from './wire.ts'

/** An error of the protocol: not logged in. */
const AUTH_REQUIRED = -32_000
const MAX_LISTED = 20

export interface OpenOptions {
  readonly connection: ClientConnection
  readonly spec: ProcessSpec
  /** the session to go on with; null begins a new one */
  readonly sessionId: string | null
  /** the session to begin a copy of; null: none */
  readonly forkOf: string | null
  /** when that one began, wall time in ms; null if nobody knows */
  readonly begunAt: number | null
  readonly now: () => number
  readonly capabilities: ClientCapabilities
  readonly servers: (mayUse: { readonly http: boolean }) => Promise<McpServer[]>
  readonly note: (text: string) => void
  /** lets time pass that the agent is not blamed for */
  readonly rest: (ms: number) => Promise<void>
}

export interface Session {
  readonly id: string
  /** what the model is called, as far as the agent tells */
  readonly model: string
  /** it was loaded: what it says before the next turn is its past */
  readonly isLoaded: boolean
  /** it can be closed before its input ends */
  readonly canClose: boolean
  /** the role prompt is still to be said: the agent takes none */
  readonly unsaidSystem: string | null
  readonly quirks: Quirks
}

/** Errors: in words. */
export async function openSession(options: OpenOptions): Promise<Session> {
  const { connection, spec, capabilities } = options
  const agent = readInitialized(await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: capabilities,
    clientInfo: { name: 'reeve', version: '1' },
  }))
  if (agent.protocolVersion !== PROTOCOL_VERSION) throw new Error(`it speaks version ${agent.protocolVersion} of the protocol, and reeve version ${PROTOCOL_VERSION}`)
  const { sessionId, forkOf } = options
  const opened = await inWords(enter(options, agent), agent)
  const id = sessionId ?? opened.sessionId
  if (id === undefined) throw new Error('its session has no id')
  const inSession = { ...options, id, opened }
  await setMode(inSession)
  const model = await setModel(inSession)
  return {
    id,
    model: model ?? agent.agentInfo?.name ?? spec.agent,
    // Some tell the past of a copy, and nothing says which.
    isLoaded: forkOf !== null || (sessionId !== null && agent.agentCapabilities?.sessionCapabilities?.resume !== true),
    canClose: agent.agentCapabilities?.sessionCapabilities?.close === true,
    unsaidSystem: sessionId !== null || forkOf !== null || takesSystem(agent) ? null : spec.system,
    quirks: quirksOf(agent.agentInfo?.name),
  }
}

async function enter({ connection, spec, sessionId, forkOf, servers, ...options }: OpenOptions, agent: Initialized): Promise<SessionInfo> {
  const { mcpCapabilities, sessionCapabilities, loadSession } = agent.agentCapabilities ?? {}
  const mcpServers = await servers({ http: mcpCapabilities?.http === true })
  const system = spec.system !== null && takesSystem(agent) ? { systemPrompt: { mode: 'append', content: [{ type: 'text', text: spec.system }] } } : {}
  const where = { cwd: spec.cwd, mcpServers, ...system }
  const { session } = methods.agent
  if (forkOf !== null) {
    if (!sessionCapabilities?.fork) throw new Error('it cannot fork its sessions; its origin can be resumed (NOT_RESUMABLE)')
    return readSession(await connection.agent.request('session/fork', { ...where, sessionId: forkOf }))
  }
  if (sessionId === null) return readSession(await connection.agent.request(session.new, where))
  await ripen(options, agent)
  if (sessionCapabilities?.resume) return readSession(await connection.agent.request(session.resume, { ...where, sessionId }))
  if (loadSession) return readSession(await connection.agent.request(session.load, { ...where, sessionId }))
  throw new Error('it can neither resume nor load a session: start a new process instead (NOT_RESUMABLE)')
}

async function ripen({ begunAt, now, note, rest }: Pick<OpenOptions, 'begunAt' | 'now' | 'note' | 'rest'>, { agentInfo }: Initialized): Promise<void> {
  const ms = youngMs(quirksOf(agentInfo?.name), begunAt, now())
  if (ms === 0) return
  note(`it loses a session that is opened again in the minute in which it began: waiting for ${Math.ceil(ms / 1_000)} s`)
  await rest(ms)
}

function takesSystem(agent: Initialized): boolean {
  return agent.agentCapabilities?.sessionCapabilities?.systemPrompt === true
}

async function inWords<T>(work: Promise<T>, { authMethods }: Initialized): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== AUTH_REQUIRED) throw error
    const ways = authMethods.map(({ name, description }) => (description ? `${name} (${description})` : name))
    throw new Error(`it is not logged in: ${error.message}${ways.length > 0 ? `; it can be by: ${ways.join('; ')}` : ''}. Log in with the agent's own command line, or set its key in the environment`, { cause: error })
  }
}

interface InSession extends OpenOptions {
  readonly id: string
  readonly opened: SessionInfo
}

/** The mode says what an agent may do, so a wrong one is an error. */
async function setMode({ connection, spec, id, opened }: InSession): Promise<void> {
  const { mode } = spec
  if (mode === undefined) return
  const option = opened.configOptions.find(({ category }) => category === 'mode')
  const known = opened.modes?.availableModes.map((one) => one.id) ?? option?.options.map(({ value }) => value) ?? []
  if (!known.includes(mode)) throw new Error(known.length === 0 ? `it has no modes, so not the mode ${mode}` : `it has no mode ${mode}; it has ${known.slice(0, MAX_LISTED).join(', ')}`)
  if (opened.modes?.currentModeId === mode || option?.currentValue === mode) return
  if (opened.modes) await connection.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: mode })
  else if (option) await connection.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: option.id, value: mode })
}

/** Gives what the model is called; null if the agent does not say. */
async function setModel({ connection, spec, id, opened, note }: InSession): Promise<string | null> {
  const option = modelOption(opened)
  const now = option?.currentValue ?? opened.models?.currentModelId ?? null
  if (spec.model === null) return now
  const known = option?.options.map(({ value, name }) => ({ id: value, name })) ?? opened.models?.availableModels.map(({ modelId, name }) => ({ id: modelId, name })) ?? []
  const wanted = named(spec.model, known)
  if (wanted === undefined) {
    note(known.length === 0 ? `the agent lets nobody choose its model: ${spec.model} is not used` : `the agent has no model ${spec.model}; it has ${known.slice(0, MAX_LISTED).map((one) => one.id).join(', ')}`)
    return now
  }
  if (wanted === now) return now
  if (option) await connection.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: option.id, value: wanted })
  else await connection.agent.request('session/set_model', { sessionId: id, modelId: wanted })
  return wanted
}

export function modelOption({ configOptions }: Pick<SessionInfo, 'configOptions'>): SessionInfo['configOptions'][number] | undefined {
  return configOptions.find(({ category }) => category === 'model')
}

/** `provider/name` may be what the agent calls `name`. */
function named(model: string, known: readonly { readonly id: string; readonly name: string }[]): string | undefined {
  const short = model.slice(model.indexOf('/') + 1)
  const found = known.find((one) => one.id === model) ?? known.find((one) => one.id === short) ?? known.find((one) => one.name.toLowerCase() === short.toLowerCase())
  return found?.id
}
