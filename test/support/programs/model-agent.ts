// A small coding agent that speaks the Agent Client Protocol, in place of Claude Code. It calls the model at ANTHROPIC_BASE_URL, and
// reeve's own tools. It asks for permission before it runs `bash` or `write`. Its sessions are files in HOME.
// Test: test/e2e/docs/commands.test.ts.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import type { AgentContext, McpServer, RequestPermissionResponse, SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

type Content = Readonly<Record<string, unknown>>

interface Session {
  readonly cwd: string
  readonly servers: readonly McpServer[]
  readonly messages: { role: 'user' | 'assistant'; content: Content[] }[]
}

interface Turn {
  readonly client: AgentContext
  readonly sessionId: string
  readonly session: Session
  say(update: SessionUpdate): Promise<void>
}

const sessions = new Map<string, Session>()
const fileOf = (id: string): string => join(process.env['HOME'] ?? '.', '.model-agent', `${id}.json`)

/** Opens a session, and asks reeve for its tools, as agents do. */
async function openSession(id: string, { cwd, mcpServers = [] }: { cwd: string; mcpServers?: McpServer[] }, from?: string): Promise<void> {
  const messages = from === undefined ? [] : (JSON.parse(readFileSync(fileOf(from), 'utf8')) as Session['messages'])
  sessions.set(id, { cwd, servers: mcpServers, messages })
  saveSession(id, messages)
  if (mcpServers.some(({ name }) => name === 'reeve')) await withReeve(mcpServers, (client) => client.listTools())
}

function saveSession(id: string, messages: Session['messages']): void {
  mkdirSync(join(fileOf(id), '..'), { recursive: true })
  writeFileSync(fileOf(id), JSON.stringify(messages))
}

/** The header with the agent's key, or with the token of reeve's gateway. */
function authorization(): Readonly<Record<string, string>> {
  const { ANTHROPIC_AUTH_TOKEN: token, ANTHROPIC_API_KEY: key = '' } = process.env
  return token === undefined ? { 'x-api-key': key } : { authorization: `Bearer ${token}` }
}

/** Calls the model, and returns the blocks of its answer. */
async function askModel(messages: Session['messages']): Promise<Content[]> {
  const response = await fetch(`${process.env['ANTHROPIC_BASE_URL']}/v1/messages`, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'claude-sonnet-5', max_tokens: 4_000, stream: true, messages }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  const blocks: Record<string, unknown>[] = []
  for (const [, data = ''] of text.matchAll(/^data: (.*)$/gm)) {
    const { type, index = 0, content_block: block, delta } = JSON.parse(data) as { type: string; index?: number } & Record<string, Content>
    const open = blocks[index]
    if (type === 'content_block_start') blocks[index] = { ...block, ...(block?.['type'] === 'tool_use' ? { input: '' } : {}) }
    if (type !== 'content_block_delta' || open === undefined) continue
    if (delta?.['type'] === 'text_delta') open['text'] = `${open['text'] as string}${delta['text'] as string}`
    if (delta?.['type'] === 'input_json_delta') open['input'] = `${open['input'] as string}${delta['partial_json'] as string}`
  }
  return blocks.map((block) =>
    block['type'] === 'tool_use' ? { ...block, input: JSON.parse((block['input'] as string) || '{}') as unknown } : block,
  )
}

async function runTurn(turn: Turn, prompt: string): Promise<void> {
  const { messages } = turn.session
  messages.push({ role: 'user', content: [{ type: 'text', text: prompt }] })
  for (;;) {
    const blocks = await askModel(messages)
    messages.push({ role: 'assistant', content: blocks })
    for (const { type, text } of blocks)
      if (type === 'text') await turn.say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: String(text) } })
    const results: Content[] = []
    for (const block of blocks.filter(({ type }) => type === 'tool_use'))
      results.push({ type: 'tool_result', tool_use_id: block['id'], content: await runTool(turn, block) })
    if (results.length > 0) messages.push({ role: 'user', content: results })
    saveSession(turn.sessionId, messages)
    if (results.length === 0) return
  }
}

async function runTool(turn: Turn, { id, name, input }: Content): Promise<string> {
  const [toolCallId, tool, fields] = [String(id), String(name), input as Readonly<Record<string, string>>]
  const command = tool === 'write' ? `printf %s '${fields['content']}' > '${fields['path']}'` : (fields['command'] ?? tool)
  const call = { toolCallId, title: command, kind: 'execute' as const, rawInput: fields }
  await turn.say({ sessionUpdate: 'tool_call', status: 'pending', ...call })
  const result = tool.startsWith('mcp__reeve__') ? await callReeve(turn.session, tool, fields) : await runBash(turn, call)
  await turn.say({
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: 'completed',
    content: [{ type: 'content', content: { type: 'text', text: result } }],
  })
  return result
}

async function runBash({ client, sessionId, session }: Turn, toolCall: { toolCallId: string; title: string }): Promise<string> {
  const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, {
    sessionId,
    toolCall,
    options: [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ],
  })
  if (outcome.outcome !== 'selected' || outcome.optionId !== 'yes') return 'the user refused this call'
  return new Promise((resolve) => {
    execFile('bash', ['-c', toolCall.title], { cwd: session.cwd }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`))
  })
}

async function callReeve({ servers }: Session, tool: string, input: Readonly<Record<string, unknown>>): Promise<string> {
  const name = tool.slice('mcp__reeve__'.length)
  return JSON.stringify((await withReeve(servers, (client) => client.callTool({ name, arguments: input }))).content)
}

async function withReeve<T>(servers: readonly McpServer[], use: (client: Client) => Promise<T>): Promise<T> {
  const server = servers.find(({ name }) => name === 'reeve')
  if (server === undefined || !('url' in server)) throw new Error('no server of reeve')
  const headers = Object.fromEntries(server.headers.map((header) => [header.name, header.value]))
  const client = new Client({ name: 'model-agent', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }))
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

const app = agent({ name: 'model-agent' })
app.onRequest(methods.agent.initialize, () => ({
  protocolVersion: 1,
  agentInfo: { name: 'model-agent', version: '1' },
  agentCapabilities: { loadSession: false, mcpCapabilities: { http: true }, sessionCapabilities: { resume: {}, fork: {} } },
}))
app.onRequest(methods.agent.session.new, async ({ params }) => {
  const sessionId = randomUUID()
  await openSession(sessionId, params)
  return { sessionId, modes: { currentModeId: 'default', availableModes: [{ id: 'default', name: 'Default' }] } }
})
app.onRequest(methods.agent.session.resume, async ({ params }) => {
  await openSession(params.sessionId, { cwd: params.cwd, mcpServers: params.mcpServers ?? [] }, params.sessionId)
  return {}
})
app.onRequest(
  'session/fork',
  (params: unknown) => params as { readonly sessionId: string; readonly cwd: string; readonly mcpServers: McpServer[] },
  async ({ params }) => {
    const sessionId = randomUUID()
    await openSession(sessionId, params, params.sessionId)
    return { sessionId }
  },
)
app.onRequest(methods.agent.session.setMode, () => ({}))
app.onRequest(methods.agent.session.prompt, async ({ params, client }) => {
  const session = sessions.get(params.sessionId)
  if (session === undefined) throw new Error('no such session')
  const say = (update: SessionUpdate): Promise<void> =>
    client.notify(methods.client.session.update, { sessionId: params.sessionId, update })
  const prompt = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('')
  await runTurn({ client, sessionId: params.sessionId, session, say }, prompt)
  return { stopReason: 'end_turn' }
})
app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>))
process.stdin.once('end', () => process.exit(0))
