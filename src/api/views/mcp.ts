// The JSON of the API: what `reeve mcp` and the daemon exchange besides MCP. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/mcp/bridge.test.ts.

/** The directory and environment of an MCP client of the user. */
export interface McpSessionBody {
  cwd: string
  env?: Record<string, string>
}

export interface McpSessionView {
  version: 1
  /** the socket of the MCP server */
  socket: string
  /** the access token, which is valid until this daemon ends */
  token: string
}

/** An unacknowledged report, as a JSON file in the outbox. */
export interface OutboxRecord {
  version: 1
  /** the id of the call, which is the same for each delivery attempt */
  id: string
  /** the UUID of its sender */
  uuid: string
  pid: number
  name: string
  input: unknown
  /** the time of the report in wall ms, which identifies its turn */
  at: number
}
