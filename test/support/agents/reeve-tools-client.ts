// Calls reeve's own tools in place of an external agent. A shell script runs as the agent: it stores its MCP settings and keeps
// running. With these settings the test connects as the agent's MCP client. Used mainly by test/e2e/mcp.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import type { LocalDaemon } from '../daemon/local-daemon.ts'
import { testEnv } from '../env.ts'

export interface ToolsSession {
  readonly view: ProcessView
  readonly url: string
  readonly token: string
}

const PROGRAM = `#!/bin/sh
for arg in "$@"; do
  case "$arg" in --mcp-config=*) cp "\${arg#--mcp-config=}" "$SETTINGS.new" && mv "$SETTINGS.new" "$SETTINGS" ;; esac
done
echo "$@" > "$SETTINGS.args"
echo connected >&2
exec sleep 3600
`

let sessionCount = 0

/** Spawns the shell script as a process of the command driver, and reads the MCP settings that it has stored. */
export async function spawnWithReeveTools(daemon: LocalDaemon, body: Partial<SpawnBody> = {}): Promise<ToolsSession> {
  const dir = join(daemon.work, 'bin')
  const program = join(dir, 'claude')
  await mkdir(dir, { recursive: true })
  await writeFile(program, PROGRAM)
  await chmod(program, 0o755)
  const settings = join(daemon.work, `session-${(sessionCount += 1)}.json`)
  const view = await daemon.spawn({
    argv: [program, '-p', '--output-format', 'stream-json', '--verbose', 'work'],
    reeve: true,
    ...body,
    env: { ...testEnv(daemon.work), SETTINGS: settings, ...body.env },
  })
  await daemon.waitForEvent(view.uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('connected'))
  const {
    mcpServers: { reeve },
  } = JSON.parse(await readFile(settings, 'utf8')) as { mcpServers: { reeve: { url: string; headers: { Authorization: string } } } }
  return { view, url: reeve.url, token: reeve.headers.Authorization.replace('Bearer ', '') }
}

/** Reads the arguments with which the newest shell script was started. */
export async function readProgramArgs(daemon: LocalDaemon): Promise<string> {
  return readFile(join(daemon.work, `session-${sessionCount}.json.args`), 'utf8')
}

export type NegotiationMode = 'auto' | 'legacy'

/** Connects the official MCP client, by the newer revision of MCP or by an older one. */
export async function connectClient({ url, token }: Pick<ToolsSession, 'url' | 'token'>, mode: NegotiationMode = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }))
  return client
}

/** Reads the MCP server that came with the session from the log of an acp-agent.ts. */
export async function readToolServerFromLog(log: string): Promise<Pick<ToolsSession, 'url' | 'token'>> {
  for (const timeout = AbortSignal.timeout(20_000); ; timeout.throwIfAborted()) {
    const line = (await readFile(log, 'utf8').catch(() => '')).split('\n').find((one) => one.includes('"mcpServers"') && one.endsWith('}'))
    if (line) {
      const [server] = (
        JSON.parse(line.slice(line.indexOf('{'))) as {
          readonly mcpServers: readonly { readonly url: string; readonly headers: readonly { readonly value: string }[] }[]
        }
      ).mcpServers
      return { url: server?.url ?? '', token: (server?.headers[0]?.value ?? '').replace('Bearer ', '') }
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
  /** the answer as JSON */
  readonly value: Readonly<Record<string, unknown>>
}

export async function callTool(client: Client, name: string, input: object = {}): Promise<ToolAnswer> {
  const result = await client.callTool({ name, arguments: input as Record<string, unknown> })
  const [part] = result.content ?? []
  const text = part?.type === 'text' ? part.text : ''
  const isError = result.isError === true
  return { isError, text, value: isError ? {} : (JSON.parse(text) as ToolAnswer['value']) }
}
