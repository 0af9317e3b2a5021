// Opens a session: the handshake, then a new session or the recorded one, then its mode and its model. Never requests what the agent does
// not support. The messages of its errors are for the user. Tests: test/processes/acp/session.test.ts.
import { PROTOCOL_VERSION, RequestError, methods } from '@agentclientprotocol/sdk'
import type { ClientCapabilities, ClientConnection, McpServer } from '@agentclientprotocol/sdk'
import { loginAdvice, loginOf } from '../gateway/logins.ts'
import { askingMeta } from './asking-mode.ts'
import type { AskingMode } from './asking-mode.ts'
import { quirksOf, reopenDelayMs } from './quirks.ts'
import type { Quirks } from './quirks.ts'
import { readInitializeResult, readSession } from './message-schemas.ts'
import type { InitializeResult, SessionInfo } from './message-schemas.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** ACP's error code for an agent that is not logged in. */
const AUTH_REQUIRED = -32_000
const MAX_LISTED = 20
const NO_TOOL_REQUEST = "it did not ask for reeve's own tools (MCP)"
export const NO_OWN_TOOLS = `${NO_TOOL_REQUEST} in two sessions`

export interface OpenOptions {
  readonly connection: ClientConnection
  readonly spec: AcpSpec
  readonly asking: AskingMode
  /** the session to continue; null to begin a new one */
  readonly sessionId: string | null
  /** the session to fork; null if none is forked */
  readonly forkOf: string | null
  /** when the session to continue began, as wall time in ms; null if unknown */
  readonly startedAt: number | null
  readonly now: () => number
  readonly capabilities: ClientCapabilities
  /** returns the MCP servers for the session; `http` is whether the agent supports servers over HTTP */
  readonly servers: (mayUse: { readonly http: boolean }) => Promise<McpServer[]>
  readonly note: (text: string) => void
  /** waits for `ms` that do not count towards the time limit of the handshake */
  readonly sleepUntimed: (ms: number) => Promise<void>
  /** waits until the agent requests reeve's own tools; false if it does not in time */
  readonly hasTools: () => Promise<boolean>
}

export interface Session {
  readonly id: string
  /** the session's modes and how to set them */
  readonly mode: ModeChoice
  /** the name of the model; if the agent reports none, the agent's own name */
  readonly model: string
  /** whether the session was loaded, so that the updates before the next turn replay its history */
  readonly isLoaded: boolean
  /** whether the agent supports closing the session */
  readonly canClose: boolean
  /** the role prompt, if it must precede the first prompt because the agent takes no system prompt; null otherwise */
  readonly pendingSystem: string | null
  readonly quirks: Quirks
}

/** Opens a session. Errors: an `Error` with a message for the user. */
export async function openSession(options: OpenOptions): Promise<Session> {
  const { connection, spec, capabilities } = options
  const agent = readInitializeResult(
    await connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: capabilities,
      clientInfo: { name: 'reeve', version: '1' },
    }),
  )
  if (agent.protocolVersion !== PROTOCOL_VERSION)
    throw new Error(`it speaks version ${agent.protocolVersion} of the protocol, and reeve version ${PROTOCOL_VERSION}`)
  const { sessionId, forkOf } = options
  const opened = await withLoginAdvice(openWithTools(options, agent), agent, spec.argv)
  const id = sessionId ?? opened.sessionId
  if (id === undefined) throw new Error('its session has no id')
  const inSession = { ...options, id, opened }
  const mode = modeIn(opened)
  if (options.asking.mode !== null) await withLoginAdvice(setMode(connection, id, mode, options.asking.mode), agent, spec.argv)
  const model = await setModel(inSession)
  return {
    id,
    mode,
    model: model ?? agent.agentInfo?.name ?? spec.agent,
    // Some agents replay the history of a forked session although they do not announce that.
    isLoaded: forkOf !== null || (sessionId !== null && agent.agentCapabilities?.sessionCapabilities?.resume !== true),
    canClose: canClose(agent),
    pendingSystem: sessionId !== null || forkOf !== null || acceptsSystemPrompt(agent) ? null : spec.system,
    quirks: quirksOf(agent.agentInfo?.name),
  }
}

/** Opens a second session if the agent did not connect to reeve's own tools in the first. This was observed with OpenCode. */
async function openWithTools(options: OpenOptions, agent: InitializeResult): Promise<SessionInfo> {
  const { connection, note, hasTools } = options
  const opened = await openOnce(options, agent)
  if (await hasTools()) return opened
  note(`${NO_TOOL_REQUEST}: opening a second session`)
  const sessionId = options.sessionId ?? opened.sessionId
  if (canClose(agent) && sessionId !== undefined)
    await connection.agent.request(methods.agent.session.close, { sessionId }).catch((error: unknown) => note(closeFailure(error)))
  const secondSession = await openOnce(options, agent)
  if (!(await hasTools())) note(NO_OWN_TOOLS)
  return secondSession
}

async function openOnce(
  { connection, spec, sessionId, forkOf, servers, ...options }: OpenOptions,
  agent: InitializeResult,
): Promise<SessionInfo> {
  const { mcpCapabilities, sessionCapabilities, loadSession } = agent.agentCapabilities ?? {}
  const mcpServers = await servers({ http: mcpCapabilities?.http === true })
  const systemPrompt =
    spec.system !== null && acceptsSystemPrompt(agent)
      ? { systemPrompt: { mode: 'append', content: [{ type: 'text', text: spec.system }] } }
      : {}
  const request = { cwd: spec.cwd, mcpServers, ...systemPrompt, ...askingMeta(spec) }
  const { session } = methods.agent
  if (forkOf !== null) {
    if (!sessionCapabilities?.fork) throw new Error('it cannot fork its sessions; its origin can be resumed (NOT_RESUMABLE)')
    return readSession(await connection.agent.request('session/fork', { ...request, sessionId: forkOf }), 'session/fork')
  }
  if (sessionId === null) return readSession(await connection.agent.request(session.new, request), session.new)
  await waitUntilReopenable(options, agent)
  if (sessionCapabilities?.resume)
    return readSession(await connection.agent.request(session.resume, { ...request, sessionId }), session.resume)
  if (loadSession) return readSession(await connection.agent.request(session.load, { ...request, sessionId }), session.load)
  throw new Error('it can neither resume nor load a session: start a new process instead (NOT_RESUMABLE)')
}

async function waitUntilReopenable(
  { startedAt, now, note, sleepUntimed }: Pick<OpenOptions, 'startedAt' | 'now' | 'note' | 'sleepUntimed'>,
  { agentInfo }: InitializeResult,
): Promise<void> {
  const ms = reopenDelayMs(quirksOf(agentInfo?.name), startedAt, now())
  if (ms === 0) return
  note(`it loses a session that is opened again in the minute in which it began: waiting for ${Math.ceil(ms / 1_000)} s`)
  await sleepUntimed(ms)
}

function canClose(agent: InitializeResult): boolean {
  return agent.agentCapabilities?.sessionCapabilities?.close === true
}

/** Returns the note about a session that the agent did not close. */
export function closeFailure(error: unknown): string {
  return `its session was not closed: ${errorText(error)}`
}

function acceptsSystemPrompt(agent: InitializeResult): boolean {
  return agent.agentCapabilities?.sessionCapabilities?.systemPrompt === true
}

async function withLoginAdvice<T>(work: Promise<T>, { authMethods }: InitializeResult, argv: readonly string[]): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toLoginError(error, argv, authMethods) ?? error
  }
}

/** The error of an agent that is not logged in. It is not a failure of the agent's task. */
export class LoginError extends Error {}

/** Converts an agent's error "not logged in" to an error with advice; null for other errors. */
export function toLoginError(
  error: unknown,
  argv: readonly string[],
  authMethods: InitializeResult['authMethods'] = [],
): LoginError | null {
  if (!(error instanceof RequestError) || error.code !== AUTH_REQUIRED) return null
  const login = loginOf(argv)
  const methodNames = login === null ? authMethods.map(({ name, description }) => (description ? `${name} (${description})` : name)) : []
  return new LoginError(
    `it is not logged in: ${error.message.replace(/\.$/, '')}${methodNames.length > 0 ? `; it can log in by: ${methodNames.join('; ')}` : ''}. ${loginAdvice(login)}`,
    { cause: error },
  )
}

interface InSession extends OpenOptions {
  readonly id: string
  readonly opened: SessionInfo
}

/** The modes of a session. */
export interface ModeChoice {
  readonly known: readonly string[]
  readonly current: string | null
  /** the id of the configuration option that sets the mode; null if `session/set_mode` sets it */
  readonly optionId: string | null
}

function modeIn({ modes, configOptions }: SessionInfo): ModeChoice {
  const option = modeOption({ configOptions })
  return {
    known: option?.options.map(({ value }) => value) ?? modes?.availableModes.map(({ id }) => id) ?? [],
    current: option?.currentValue ?? modes?.currentModeId ?? null,
    optionId: option?.id ?? null,
  }
}

/** Sets the mode. An unknown or refused mode is an error, because the mode determines what the agent may do. */
export async function setMode(
  connection: ClientConnection,
  sessionId: string,
  { known, current, optionId }: ModeChoice,
  mode: string,
): Promise<void> {
  if (!known.includes(mode))
    throw new Error(
      known.length === 0
        ? `it has no modes, so not the mode ${mode}`
        : `it has no mode ${mode}; it has ${known.slice(0, MAX_LISTED).join(', ')}`,
    )
  if (current === mode) return
  if (optionId === null) return void (await connection.agent.request(methods.agent.session.setMode, { sessionId, modeId: mode }))
  const { setConfigOption } = methods.agent.session
  const answer = readSession(
    await connection.agent.request(setConfigOption, { sessionId, configId: optionId, value: mode }),
    setConfigOption,
  )
  const currentMode = modeOption(answer)?.currentValue ?? mode
  if (currentMode !== mode) throw new Error(`it was asked to use the mode ${mode}, but uses ${currentMode}`)
}

export function modeOption({ configOptions }: Pick<SessionInfo, 'configOptions'>): SessionInfo['configOptions'][number] | undefined {
  return configOptions.find(({ category }) => category === 'mode')
}

/** Sets the model and returns its name; null if the agent reports no model. */
async function setModel({ connection, spec, id, opened, note }: InSession): Promise<string | null> {
  const option = modelOption(opened)
  const current = option?.currentValue ?? opened.models?.currentModelId ?? null
  if (spec.model === null) return current
  const known =
    option?.options.map(({ value, name }) => ({ id: value, name })) ??
    opened.models?.availableModels.map(({ modelId, name }) => ({ id: modelId, name })) ??
    []
  const wanted = findModelId(spec.model, known)
  // An unknown model is an error, because the agent's default may be its most expensive model.
  if (wanted === undefined && known.length > 0)
    throw new Error(
      `it has no model ${spec.model}; it has ${known
        .slice(0, MAX_LISTED)
        .map(({ id }) => id)
        .join(', ')}`,
    )
  if (wanted === undefined) {
    note(`the agent offers no choice of models: ${spec.model} is not used`)
    return current
  }
  if (wanted === current) return current
  if (option) await connection.agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId: option.id, value: wanted })
  else await connection.agent.request('session/set_model', { sessionId: id, modelId: wanted })
  return wanted
}

export function modelOption({ configOptions }: Pick<SessionInfo, 'configOptions'>): SessionInfo['configOptions'][number] | undefined {
  return configOptions.find(({ category }) => category === 'model')
}

/** Finds the agent's id of a model. The agent may call `provider/name` just `name`. */
function findModelId(model: string, known: readonly { readonly id: string; readonly name: string }[]): string | undefined {
  const short = model.slice(model.indexOf('/') + 1)
  const found =
    known.find(({ id }) => id === model) ??
    known.find(({ id }) => id === short) ??
    known.find(({ name }) => name.toLowerCase() === short.toLowerCase())
  return found?.id
}
