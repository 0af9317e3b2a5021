// An agent that others wrote, as far as it takes to have reeve's own tools: it keeps the settings that it is given, and stays. With
// them a test is its MCP client. Used by test/e2e/mcp-server.test.ts and its siblings.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ProcessView, SpawnBody } from '../../src/api/views.ts'
import type { LocalDaemon } from './local-daemon.ts'
import { testEnv } from './env.ts'

export interface Seated {
  readonly view: ProcessView
  readonly url: string
  readonly token: string
}

const PROGRAM = `#!/bin/sh
for arg in "$@"; do
  case "$arg" in --mcp-config=*) cp "\${arg#--mcp-config=}" "$SEAT.new" && mv "$SEAT.new" "$SEAT" ;; esac
done
echo "$@" > "$SEAT.args"
echo seated >&2
exec sleep 3600
`

let count = 0

/** A process of the command driver with reeve's tools, and what it was given. */
export async function seated(daemon: LocalDaemon, body: Partial<SpawnBody> = {}): Promise<Seated> {
  const dir = join(daemon.work, 'bin')
  const program = join(dir, 'claude')
  await mkdir(dir, { recursive: true })
  await writeFile(program, PROGRAM)
  await chmod(program, 0o755)
  const seat = join(daemon.work, `seat-${(count += 1)}.json`)
  const view = await daemon.spawn({ argv: [program, '-p', '--output-format', 'stream-json', '--verbose', 'work'], reeve: true, ...body, env: { ...testEnv(daemon.work), SEAT: seat, ...body.env } })
  await daemon.event(view.uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('seated'))
  const { mcpServers: { reeve } } = JSON.parse(await readFile(seat, 'utf8')) as { mcpServers: { reeve: { url: string; headers: { Authorization: string } } } }
  return { view, url: reeve.url, token: reeve.headers.Authorization.replace('Bearer ', '') }
}

/** How that program was called. */
export async function argsOf(daemon: LocalDaemon): Promise<string> {
  return readFile(join(daemon.work, `seat-${count}.json.args`), 'utf8')
}

export type Mode = 'auto' | 'legacy'

/** A public client of the protocol: of the newer revision, or as older ones speak. */
export async function connect({ url, token }: Pick<Seated, 'url' | 'token'>, mode: Mode = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }))
  return client
}

/** What an agent of acp-agent.ts was given with its session, by its log. */
export async function handedBy(log: string): Promise<Pick<Seated, 'url' | 'token'>> {
  for (const late = AbortSignal.timeout(20_000); ; late.throwIfAborted()) {
    const line = (await readFile(log, 'utf8').catch(() => '')).split('\n').find((one) => one.includes('"mcpServers"') && one.endsWith('}'))
    if (line) {
      const [server] = (JSON.parse(line.slice(line.indexOf('{'))) as { readonly mcpServers: readonly { readonly url: string; readonly headers: readonly { readonly value: string }[] }[] }).mcpServers
      return { url: server?.url ?? '', token: (server?.headers[0]?.value ?? '').replace('Bearer ', '') }
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export interface Said {
  readonly isError: boolean
  readonly text: string
  /** the same as JSON */
  readonly value: Readonly<Record<string, unknown>>
}

export async function say(client: Client, name: string, input: object = {}): Promise<Said> {
  const result = await client.callTool({ name, arguments: input as Record<string, unknown> })
  const [part] = result.content ?? []
  const text = part?.type === 'text' ? part.text : ''
  const isError = result.isError === true
  return { isError, text, value: isError ? {} : JSON.parse(text) as Said['value'] }
}
