// Requests the list of tools from reeve's MCP server, as agents do before their first turn: part of acp-agent.ts.
import { request } from 'node:http'
import type { McpServer } from '@agentclientprotocol/sdk/unstable'

/** Sends the request over HTTP, or over the socket of the named program. Returns the status of the answer. */
export function requestToolList(server: McpServer): Promise<number | undefined> {
  const settings = Object.fromEntries(
    ('url' in server ? server.headers : 'env' in server ? server.env : []).map(({ name, value }) => [name, value]),
  )
  const address =
    'url' in server
      ? { hostname: new URL(server.url).hostname, port: new URL(server.url).port }
      : { socketPath: settings['REEVE_MCP_SOCKET'] }
  const authorization = settings['Authorization'] ?? `Bearer ${settings['REEVE_MCP_TOKEN']}`
  const status = Promise.withResolvers<number | undefined>()
  request(
    {
      ...address,
      path: '/mcp',
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
    },
    (response) => {
      response.resume().once('end', () => status.resolve(response.statusCode))
    },
  )
    .once('error', status.reject)
    .end('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}')
  return status.promise
}
