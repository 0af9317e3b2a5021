// What the API answers about seats at the MCP server, as a zod schema held to src/api/mcp-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { McpSeatView } from '../../api/mcp-views.ts'

export const mcpAnswers = {
  mcpSeat: of<McpSeatView>()(z.object({ version: z.literal(1), socket: z.string().describe('of the MCP server'), token: z.string().describe('gone with this daemon') })),
}
