// An MCP server at the start of an incarnation: its resolved configuration, or why it is not used. Types only. Must
// never be recorded, because it contains secrets. Test: test/tables/config/mcp/servers.test.ts.
import type { ToolEffect } from './words.ts'

/** How to reach a server: its program, or its URL. */
export type McpTransport =
  | { readonly kind: 'stdio'; readonly argv: readonly string[]; readonly cwd: string; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }

export type McpStart =
  | { readonly state: 'failed' | 'untrusted'; readonly name: string; readonly why: string }
  | {
      readonly state: 'ready'
      readonly name: string
      readonly transport: McpTransport
      /** effect classes by the server's own tool names */
      readonly effects: Readonly<Record<string, ToolEffect>>
      readonly startMs: number
      readonly callMs: number
      readonly notes: readonly string[]
      /** values that are removed from every text of the server */
      readonly secrets: readonly string[]
    }
