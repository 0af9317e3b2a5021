// An MCP server of the newer revision, made with the official library; arguments: `stdio` or `http`, a file for notes, a mark.
// Over HTTP the server prints its address on its output.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [transport = '', log = ''] = process.argv.slice(2)
const extraTools: string[] = []
let listChanged = (): void => undefined

function writeNote(text: string): void {
  if (log !== '') appendFileSync(log, `${text}\n`)
}

const textAnswer = (text: string): { content: { type: 'text'; text: string }[] } => ({ content: [{ type: 'text', text }] })

function createMcpServer(): McpServer {
  const server = new McpServer({ name: 'modern', version: '2' }, { capabilities: { tools: { listChanged: true } } })
  server.registerTool('echo', { description: 'repeats the message', inputSchema: z.object({ message: z.string() }) }, ({ message }) =>
    textAnswer(`echo ${message}`),
  )
  server.registerTool('more', {}, () => {
    extraTools.push(`extra-${extraTools.length + 1}`)
    if (transport === 'stdio') server.registerTool(extraTools.at(-1) ?? '', {}, () => textAnswer('extra'))
    listChanged()
    return textAnswer('more')
  })
  server.registerTool('slow', {}, async ({ mcpReq }) => {
    writeNote('slow begins')
    mcpReq.signal.addEventListener('abort', () => writeNote('slow is cancelled'))
    const progressToken = mcpReq._meta?.progressToken ?? 0
    for (let step = 1; step <= 1_000 && !mcpReq.signal.aborted; step += 1) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: step, message: `step ${step}` } })
      await sleep(20)
    }
    return textAnswer('all steps')
  })
  server.registerTool('ask', {}, () =>
    inputRequired({
      inputRequests: { who: inputRequired.elicit({ message: 'who are you?', requestedSchema: { type: 'object', properties: {} } }) },
    }),
  )
  for (const name of extraTools) server.registerTool(name, {}, () => textAnswer('extra'))
  return server
}

if (transport === 'stdio') serveStdio(createMcpServer, { legacy: 'reject' })
else {
  const handler = createMcpHandler(createMcpServer, { legacy: 'reject' })
  listChanged = () => handler.notify.toolsChanged()
  const server = createServer((incoming, outgoing) => {
    writeNote(`${incoming.method} ${String(incoming.headers['mcp-method'])} ${String(incoming.headers['x-key'])}`)
    const closed = new AbortController()
    outgoing.once('close', () => closed.abort())
    const body =
      incoming.method === 'POST' ? ({ body: Readable.toWeb(incoming) as globalThis.ReadableStream, duplex: 'half' } as const) : {}
    handler
      .fetch(
        new Request(`http://127.0.0.1${incoming.url}`, {
          method: incoming.method ?? 'GET',
          headers: incoming.headers as Record<string, string>,
          signal: closed.signal,
          ...body,
        }),
      )
      .then(
        (response) => {
          outgoing.writeHead(response.status, Object.fromEntries(response.headers))
          if (response.body === null) outgoing.end()
          else
            Readable.fromWeb(response.body)
              .on('error', () => outgoing.destroy())
              .pipe(outgoing)
        },
        () => outgoing.destroy(),
      )
  })
  server.listen(0, '127.0.0.1', () => console.log(`at http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`))
}
