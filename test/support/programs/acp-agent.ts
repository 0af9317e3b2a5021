// A scripted coding agent that speaks the Agent Client Protocol. Its arguments (`word` or `word=value`) are options, and each line of
// a prompt is an act of the turn. Sessions are stored in the folder of `sessions=DIR`, so that the next agent can continue them. Tests
// find the program by an additional argument.
import { appendFileSync, closeSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomInt } from 'node:crypto'
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { RequestError, agent, methods, ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import type {
  AgentContext,
  NewSessionRequest,
  RequestPermissionResponse,
  SessionUpdate,
  StopReason,
  ToolCallContent,
  ToolKind,
} from '@agentclientprotocol/sdk/unstable'
import { requestToolList } from './request-tool-list.ts'
import { findChats, removeEmptyChats, openChat, writeChat } from './gemini-chats.ts'

const options = new Map(
  process.argv.slice(2).map((word): [string, string] => {
    const at = word.indexOf('=')
    return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)]
  }),
)
const hasOption = (word: string): boolean => options.has(word)
const log = options.get('log')
const writeNote = (line: string): void => {
  if (log) appendFileSync(log, `${line}\n`)
}

interface StoredSession {
  readonly prompts: string[]
  cost: number
}

/** A part of all ids. The PID would not be unique: agents in separate PID namespaces have the same PID. */
const RANDOM_ID = randomInt(2 ** 47)
const fileOf = (id: string): string => join(options.get('sessions') ?? '.', `session-${id}.json`)
const readSession = (id: string): StoredSession => JSON.parse(readFileSync(fileOf(id), 'utf8')) as StoredSession

let cancelled = Promise.withResolvers<void>()
let isCancelled = false
let callCount = 0
let failure = 'the provider is down'
let model = 'one'
let mode = options.get('modes') || 'default'

interface Turn {
  readonly client: AgentContext
  readonly sessionId: string
  readonly say: (update: SessionUpdate) => Promise<void>
}

/** The acts of a turn, by name. An act that returns a stop reason ends the turn. */
const ACTS: Readonly<Record<string, (turn: Turn, rest: string) => Promise<StopReason | 'error' | void>>> = {
  'need-login': () => {
    throw RequestError.authRequired()
  },
  say: ({ say }, text) => say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
  // Calls a model as Anthropic's clients do, and repeats the call after each 429.
  model: async ({ say }, words) => {
    const send = (): Promise<Response> =>
      fetch(`${process.env['ANTHROPIC_BASE_URL']}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': process.env['ANTHROPIC_API_KEY'] ?? '', 'content-type': 'application/json' },
        body: JSON.stringify({ model: words, max_tokens: 4_000, stream: true }),
      })
    let answer = await send()
    while (answer.status === 429) {
      writeNote(`429 ${await answer.text()}`)
      answer = await send()
    }
    const text = await answer.text().catch(() => 'cut')
    writeNote(`model ${answer.status} ${text.length}`)
    await say({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: `${answer.status} ${answer.ok ? text.length : text}` },
    })
  },
  env: ({ say }, name) => {
    const text = `${name}=${process.env[name] ?? 'none'};`
    writeNote(text)
    return say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  },
  think: ({ say }, text) => say({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }),
  plan: ({ say }, text) =>
    say({ sessionUpdate: 'plan', entries: text.split(',').map((content) => ({ content, priority: 'low', status: 'pending' })) }),
  usage: ({ say, sessionId }, text) => {
    const [used = 0, size = 0, cost = 0] = text.split(' ').map(Number)
    const session = readSession(sessionId)
    session.cost += cost
    writeFileSync(fileOf(sessionId), JSON.stringify(session))
    return say({ sessionUpdate: 'usage_update', used, size, cost: { amount: session.cost, currency: 'USD' } })
  },
  tool: async (turn, rest) => {
    await runTool(turn, rest, 'completed')
  },
  fails: async (turn, rest) => {
    await runTool(turn, rest, 'failed')
  },
  // Makes two tool calls of one message.
  pair: ({ say }) => runTwoCalls(say),
  // Begins a tool call, and does not end it.
  open: async ({ say }, title) => {
    await say({
      sessionUpdate: 'tool_call',
      toolCallId: newCallId(),
      title,
      kind: 'execute',
      status: 'in_progress',
      rawInput: { command: title },
    })
  },
  // Makes a tool call within another one.
  below: async ({ say }) => {
    const [outer, inner] = [newCallId(), newCallId()]
    await say({
      sessionUpdate: 'tool_call',
      toolCallId: outer,
      title: 'task',
      kind: 'think',
      status: 'in_progress',
      rawInput: { prompt: 'x' },
    })
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await say({
      sessionUpdate: 'tool_call',
      toolCallId: inner,
      title: 'inner',
      kind: 'read',
      status: 'in_progress',
      rawInput: { path: 'y' },
    })
    await say({ sessionUpdate: 'tool_call_update', toolCallId: inner, status: 'completed', content: textContent('inner done') })
    await say({ sessionUpdate: 'tool_call_update', toolCallId: outer, status: 'completed', content: textContent('outer done') })
  },
  // Makes a tool call that streams its output in `_meta`.
  print: async ({ say }, words) => {
    const toolCallId = newCallId()
    await say({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: words,
      kind: 'execute',
      status: 'in_progress',
      content: [{ type: 'terminal', terminalId: 'own' }],
      rawInput: { command: words },
    })
    for (const data of words.split(' '))
      await say({
        sessionUpdate: 'tool_call_update',
        toolCallId,
        _meta: { terminal_output_delta: { data: `${data}\n`, terminal_id: 'own' } },
      })
    await say({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      _meta: { terminal_exit: { exit_code: 0, terminal_id: 'own' } },
    })
  },
  edit: async ({ say }, path) => {
    const toolCallId = newCallId()
    await say({ sessionUpdate: 'tool_call', toolCallId, title: `Edit ${path}`, kind: 'edit', status: 'pending', rawInput: { path } })
    await say({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      content: [{ type: 'diff', path, oldText: 'old\n', newText: 'new\n' }],
    })
  },
  ask: async (turn, rest) => {
    await askPermission(turn, rest)
  },
  'ask-edit': async (turn, rest) => {
    await askEdit(turn, rest)
  },
  'ask-twice': async (turn, rest) => {
    await Promise.all([askPermission(turn, `${rest} 1`), askPermission(turn, `${rest} 2`)])
  },
  // Asks for a permission, and withdraws the question after `withdraw` ms.
  'ask-and-go': (turn, rest) => {
    const controller = new AbortController()
    const answered = turn.client.request(
      methods.client.session.requestPermission,
      { sessionId: turn.sessionId, toolCall: { toolCallId: newCallId(), title: rest }, options: PERMISSION_OPTIONS },
      { cancellationSignal: controller.signal },
    )
    setTimeout(() => controller.abort(), Number(options.get('withdraw') ?? 100))
    return answered.then(
      () => undefined,
      () => undefined,
    )
  },
  elicit: async (turn, rest) => {
    const schema = JSON.parse(rest) as Record<string, never>
    const answer = await turn.client.request(methods.client.elicitation.create, {
      sessionId: turn.sessionId,
      mode: 'form',
      message: 'Which?',
      requestedSchema: { type: 'object', properties: schema },
    })
    await turn.say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: JSON.stringify(answer) } })
  },
  read: (turn, path) =>
    sayResult(
      turn,
      turn.client.request(methods.client.fs.readTextFile, { sessionId: turn.sessionId, path }).then(({ content }) => content),
    ),
  write: (turn, path) =>
    sayResult(
      turn,
      turn.client.request(methods.client.fs.writeTextFile, { sessionId: turn.sessionId, path, content: 'written' }).then(() => 'wrote'),
    ),
  run: (turn, command) => sayResult(turn, runInTerminal(turn, command)),
  'start-child': async (_, token) => {
    spawn('setsid', ['sh', '-c', `exec sleep 600 ${token}`], { stdio: 'ignore', detached: true }).unref()
    await Promise.resolve()
  },
  // Waits until the turn is cancelled.
  slow: async () => {
    await cancelled.promise
    return 'cancelled'
  },
  wait: async (_, path) => {
    while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 10))
  },
  /** Waits until the test has created the file of this turn. */
  turn: async ({ sessionId }) => {
    const path = join(options.get('sessions') ?? '.', `turn-${readSession(sessionId).prompts.length}`)
    while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 10))
  },
  hang: () => new Promise(() => undefined),
  crash: async (_, code) => {
    process.stderr.write('it broke: no more ink\n')
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.exit(Number(code))
  },
  'close-output': () => {
    closeSync(1)
    return new Promise(() => undefined)
  },
  garbage: async ({ say }) => {
    process.stdout.write(
      'Welcome!\n\u001b[31mred\n{"half":\n[1,2]\n{"jsonrpc":"2.0","id":99,"result":{}}\n{"jsonrpc":"2.0","id":{},"result":{}}\n\u0000\n"\u2028"\n',
    )
    process.stdout.write(
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not ours"}}}}\n',
    )
    await say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'a\u2028b' } })
  },
  'long-line': () => {
    process.stdout.write('x'.repeat(17 * 1024 * 1024))
    return new Promise(() => undefined)
  },
  noise: () => {
    process.stdout.write(`${'n'.repeat(1_000)}\n`.repeat(10_000))
    return new Promise(() => undefined)
  },
  flood: async ({ say }) => {
    for (let index = 0; index < 12_000; index += 1)
      await say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `${index} ${'f'.repeat(100)}\n` } })
  },
  stop: (_, reason) => Promise.resolve(reason as StopReason),
  // Changes its mode without a request of the client.
  mode: async ({ say }, name) => {
    mode = name
    await say(
      hasOption('mode-option')
        ? { sessionUpdate: 'config_option_update', configOptions: allOptions() }
        : { sessionUpdate: 'current_mode_update', currentModeId: mode },
    )
  },
  error: (_, text) => {
    failure = text || failure
    return Promise.resolve('error')
  },
}

const PERMISSION_OPTIONS = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' as const },
  { optionId: 'always', name: 'Always', kind: 'allow_always' as const },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' as const },
]

function newCallId(): string {
  return hasOption('same-ids') ? 'call' : `call-${RANDOM_ID}-${(callCount += 1)}`
}

function textContent(words: string): ToolCallContent[] {
  return [{ type: 'content', content: { type: 'text', text: words } }]
}

async function runTool({ say }: Turn, rest: string, status: 'completed' | 'failed'): Promise<void> {
  const [kind = 'execute', ...words] = rest.split(' ')
  const toolCallId = newCallId()
  const command = words.join(' ')
  await say({ sessionUpdate: 'tool_call', toolCallId, title: command, kind: kind as ToolKind, status: 'pending', rawInput: {} })
  await say({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress', rawInput: { command } })
  await say({ sessionUpdate: 'tool_call_update', toolCallId, content: textContent('so far') })
  await say({ sessionUpdate: 'tool_call_update', toolCallId, status, content: textContent(`so far\ndone: ${command}`) })
}

/** Two calls of one message. */
async function runTwoCalls(say: Turn['say']): Promise<void> {
  const [one, two] = [newCallId(), newCallId()]
  for (const toolCallId of [one, two])
    await say({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: toolCallId,
      name: 'look',
      kind: 'read',
      status: 'in_progress',
      rawInput: { toolCallId },
    })
  for (const toolCallId of [two, one]) await say({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', rawOutput: 'seen' })
}

async function askPermission({ client, sessionId, say }: Turn, rest: string): Promise<void> {
  const [kind = 'execute', ...words] = rest.split(' ')
  const toolCallId = newCallId()
  const toolCall = {
    toolCallId,
    title: words.join(' '),
    kind: kind as ToolKind,
    rawInput: { command: words.join(' ') },
    ...(words[0]?.startsWith('/') ? { locations: [{ path: words[0] }] } : {}),
  }
  await say({ sessionUpdate: 'tool_call', status: 'pending', ...toolCall })
  const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, {
    sessionId,
    toolCall,
    options: PERMISSION_OPTIONS,
  })
  const word = outcome.outcome === 'selected' ? outcome.optionId : 'cancelled'
  writeNote(`answer: ${word}`)
  const isAllowed = word === 'yes' || word === 'always'
  await say({
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: isAllowed ? 'completed' : 'failed',
    content: textContent(`answer: ${word}`),
  })
}

/** Asks to change a file: `PATH OLD NEW`. The update has the details, and the request only the id, as the protocol allows. */
async function askEdit({ client, sessionId, say }: Turn, rest: string): Promise<void> {
  const [path = '', oldText = '', newText = ''] = rest.split(' ')
  const toolCallId = newCallId()
  await say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `I change ${path}.` } })
  await say({
    sessionUpdate: 'tool_call',
    status: 'pending',
    toolCallId,
    title: `Edit ${path}`,
    kind: 'edit',
    rawInput: { file: path },
    locations: [{ path }],
    content: [{ type: 'diff', path, oldText: oldText === '-' ? null : oldText, newText }],
  })
  const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId, title: `Edit ${path}` },
    options: PERMISSION_OPTIONS,
  })
  writeNote(`answer: ${outcome.outcome === 'selected' ? outcome.optionId : 'cancelled'}`)
  await say({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
}

async function sayResult({ say }: Turn, work: Promise<string>): Promise<void> {
  const words = await work.catch((error: unknown) => `error: ${(error as Error).message}`)
  await say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } })
}

async function runInTerminal({ client, sessionId, say }: Turn, command: string): Promise<string> {
  await using handle = await client.createTerminal({ sessionId, command, outputByteLimit: 100 })
  const toolCallId = newCallId()
  await say({
    sessionUpdate: 'tool_call',
    toolCallId,
    title: command,
    kind: 'execute',
    status: 'in_progress',
    content: [{ type: 'terminal', terminalId: handle.id }],
    rawInput: { command },
  })
  const { exitCode } = await handle.waitForExit()
  const { output, truncated } = await handle.currentOutput()
  await say({ sessionUpdate: 'tool_call_update', toolCallId, status: exitCode === 0 ? 'completed' : 'failed' })
  return `${exitCode} ${truncated} ${output.trim()}`
}

const capability = (word: string): { [word]?: object } => (hasOption(word) ? { [word]: {} } : {})

function sessionState(): object {
  return {
    ...(hasOption('modes') ? { modes: { currentModeId: mode, availableModes: MODES.map((id) => ({ id, name: id })) } } : {}),
    ...(hasOption('models') || hasOption('mode-option') ? { configOptions: allOptions() } : {}),
    ...(hasOption('old-models')
      ? {
          models: {
            currentModelId: model,
            availableModels: [
              { modelId: 'one', name: 'One' },
              { modelId: 'two', name: 'Two' },
            ],
          },
        }
      : {}),
  }
}

const MODES = ['default', 'plan', 'auto']

function allOptions() {
  const modes = [
    {
      id: 'mode',
      name: 'Mode',
      category: 'mode',
      type: 'select' as const,
      currentValue: mode,
      options: MODES.map((value) => ({ value, name: value })),
    },
  ]
  return [...(hasOption('models') ? modelOptions() : []), ...(hasOption('mode-option') ? modes : [])]
}

function modelOptions() {
  return [
    {
      id: 'model',
      name: 'Model',
      category: 'model',
      type: 'select' as const,
      currentValue: model,
      options: [
        { value: 'one', name: 'One' },
        { value: 'two', name: 'Two' },
      ],
    },
  ]
}

/** Refuses while the file that is the option's value does not exist. */
function needLogin(where: 'auth' | 'auth-prompt'): void {
  const file = options.get(where)
  if (file !== undefined && !existsSync(file)) throw RequestError.authRequired()
}

async function recordOpening(params: Pick<NewSessionRequest, 'cwd' | 'mcpServers' | 'systemPrompt'>, event: string): Promise<void> {
  writeNote(`${event} ${JSON.stringify({ cwd: params.cwd, mcpServers: params.mcpServers, systemPrompt: params.systemPrompt })}`)
  if (hasOption('no-session')) throw new Error('no session today')
  sessionCount += 1
  // With `toolless=N` its first N sessions do not know reeve's own tools.
  const offered = sessionCount > Number(options.get('toolless') ?? 0) ? params.mcpServers.filter(({ name }) => name === 'reeve') : []
  for (const server of offered) writeNote(`tools ${await requestToolList(server)}`)
}

let sessionCount = 0

async function replay(client: AgentContext, sessionId: string): Promise<void> {
  const { prompts, cost } = readSession(sessionId)
  const say = (update: SessionUpdate): Promise<void> => client.notify(methods.client.session.update, { sessionId, update })
  for (const words of prompts) {
    await say({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: words } })
    await say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `replayed: ${words}` } })
    await say({ sessionUpdate: 'tool_call', toolCallId: 'old', title: 'old', status: 'completed' })
  }
  await say({ sessionUpdate: 'usage_update', used: 1, size: 100, cost: { amount: cost, currency: 'USD' } })
  writeNote('replayed')
}

async function runPrompt(
  turn: Turn,
  words: string,
): Promise<{
  stopReason: StopReason
  usage?: { totalTokens: number; inputTokens: number; outputTokens: number; cachedReadTokens: number }
}> {
  isCancelled = false
  cancelled = Promise.withResolvers()
  writeNote(`prompt ${JSON.stringify(words)}`)
  const session = readSession(turn.sessionId)
  session.prompts.push(words)
  if (hasOption('stubs')) writeChat(turn.sessionId, words)
  writeFileSync(fileOf(turn.sessionId), JSON.stringify(session))
  const usage = hasOption('quota')
    ? { _meta: { quota: { token_count: { input_tokens: 7, output_tokens: 3 } } } }
    : hasOption('tokens')
      ? { usage: { totalTokens: 160, inputTokens: 100, outputTokens: 10, cachedReadTokens: 50 } }
      : {}
  // With `always=ACT`, each turn consists of this act.
  const always = options.get('always')
  for (const line of always === undefined ? words.split('\n') : [always]) {
    const at = line.indexOf(' ')
    const act = ACTS[at < 0 ? line : line.slice(0, at)]
    const outcome = await act?.(turn, at < 0 ? '' : line.slice(at + 1))
    if (outcome === 'error') throw RequestError.internalError({ details: failure })
    if (outcome) return { stopReason: outcome, ...usage }
    if (isCancelled) return { stopReason: 'cancelled', ...usage }
  }
  return { stopReason: 'end_turn', ...usage }
}

function serveAcp(): void {
  const app = agent({ name: 'fake' })
  app.onRequest(methods.agent.initialize, ({ params }) => {
    writeNote(`initialize ${JSON.stringify(params.clientCapabilities)}`)
    return {
      protocolVersion: hasOption('old') ? 0 : 1,
      agentInfo: { name: options.get('name') ?? 'fake', version: '1' },
      authMethods: [{ id: 'login', name: 'Log in', description: 'run fake login' }],
      agentCapabilities: {
        loadSession: hasOption('load'),
        mcpCapabilities: { http: hasOption('http') },
        sessionCapabilities: { ...capability('resume'), ...capability('close'), ...capability('fork'), ...capability('systemPrompt') },
      },
    }
  })
  app.onRequest(methods.agent.session.new, async ({ params }) => {
    needLogin('auth')
    await recordOpening(params, 'new')
    const sessionId = sessionCount > 1 ? `s${RANDOM_ID}${sessionCount}` : `s${RANDOM_ID}`
    writeFileSync(fileOf(sessionId), JSON.stringify({ prompts: [], cost: 0 } satisfies StoredSession))
    if (hasOption('stubs')) openChat(sessionId)
    return { sessionId, ...sessionState() }
  })
  app.onRequest(methods.agent.session.load, async ({ params, client }) => {
    await recordOpening(params, 'load')
    if (hasOption('stubs') && findChats(params.sessionId).length === 0) throw new Error('No previous sessions found for this project')
    if (hasOption('stubs')) openChat(params.sessionId)
    if (hasOption('late'))
      setImmediate(() => {
        replay(client, params.sessionId).catch(() => undefined)
      })
    else await replay(client, params.sessionId)
    return sessionState()
  })
  app.onRequest(methods.agent.session.resume, async ({ params }) => {
    await recordOpening({ ...params, mcpServers: params.mcpServers ?? [] }, 'resume')
    return sessionState()
  })
  app.onRequest(
    'session/fork',
    (params: unknown) => params as { readonly sessionId: string; readonly cwd: string; readonly mcpServers: [] },
    async ({ params, client }) => {
      await recordOpening(params, 'fork')
      const sessionId = `f${RANDOM_ID}`
      writeFileSync(fileOf(sessionId), JSON.stringify({ prompts: readSession(params.sessionId).prompts, cost: 0 } satisfies StoredSession))
      if (hasOption('late')) await replay(client, sessionId)
      return { sessionId, ...sessionState() }
    },
  )
  app.onRequest(methods.agent.session.close, () => {
    writeNote('close')
    if (hasOption('unclosable')) throw new RequestError(-32_000, 'the session is locked')
    return {}
  })
  app.onRequest(methods.agent.session.setMode, ({ params }) => {
    writeNote(`mode ${params.modeId}`)
    if (hasOption('stubborn')) throw new Error('not now')
    mode = params.modeId
    return {}
  })
  app.onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    writeNote(`${params.configId} ${String(params.value)}`)
    if (params.configId === 'model') model = String(params.value)
    else if (!hasOption('stubborn')) mode = String(params.value)
    return { configOptions: allOptions() }
  })
  app.onRequest(
    'session/set_model',
    (params: unknown) => params as { readonly modelId: string },
    ({ params }) => {
      writeNote(`model ${params.modelId}`)
      return {}
    },
  )
  app.onNotification(methods.agent.session.cancel, () => {
    writeNote('cancel')
    isCancelled = true
    cancelled.resolve()
  })
  app.onRequest(methods.agent.session.prompt, ({ params, client }) => {
    needLogin('auth-prompt')
    const say = (update: SessionUpdate): Promise<void> =>
      client.notify(methods.client.session.update, { sessionId: params.sessionId, update })
    const words = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('')
    return runPrompt({ client, sessionId: params.sessionId, say }, words)
  })
  app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>))
}

writeNote(`started ${process.pid} key=${process.env['AGENT_KEY'] ?? ''}`)
if (hasOption('stubs')) removeEmptyChats()
if (hasOption('deaf')) process.on('SIGTERM', () => writeNote('SIGTERM'))
if (hasOption('braces')) {
  process.stderr.write('{\n  error: log in first\n}\n')
  process.exit(5)
}
if (hasOption('dies')) {
  process.stderr.write('cannot start: no licence\n')
  process.exit(5)
}
if (hasOption('silent')) process.stdin.resume()
else serveAcp()
process.stdin.once('end', () => {
  writeNote('end of input')
  if (hasOption('no-eof')) setInterval(() => undefined, 60_000)
  else process.exit(0)
})
