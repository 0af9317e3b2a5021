// An MCP server at the start of an incarnation: its configuration filled in, or the reason why it stays out.
// Owns the shape alone. Must never be recorded: it holds secrets. Test: test/tables/config-mcp.test.ts.
import type { ToolEffect } from './types.ts'

/** How a server is reached. */
export type McpReach =
  | { readonly kind: 'stdio'; readonly argv: readonly string[]; readonly cwd: string; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }

export type McpStart =
  | { readonly state: 'failed' | 'untrusted'; readonly name: string; readonly why: string }
  | {
      readonly state: 'ready'
      readonly name: string
      readonly reach: McpReach
      /** by the server's own name of a tool */
      readonly effects: Readonly<Record<string, ToolEffect>>
      readonly startMs: number
      readonly callMs: number
      readonly notes: readonly string[]
      /** values that must not be seen in any text that comes from the server's side */
      readonly secrets: readonly string[]
    }
