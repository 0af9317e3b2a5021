// What `reeve mcp` and the daemon tell each other beside MCP itself: a person's seat, and reports that wait on disk.
// Types only, as views.ts. Test: test/e2e/mcp-bridge.test.ts.

/** Where a person's client of MCP works. */
export interface McpSeatBody {
  cwd: string
  env?: Record<string, string>
}

export interface McpSeatView {
  version: 1
  /** the server's own socket */
  socket: string
  /** gone with this daemon */
  token: string
}

/** A report that was made and not answered yet, as a file of JSON in the outbox. */
export interface OutboxRecord {
  version: 1
  /** the same for each try to deliver it */
  id: string
  /** who made it: UUID and PID */
  uuid: string
  pid: number
  name: string
  input: unknown
  /** wall ms: tells the turn in which it was made */
  at: number
}
