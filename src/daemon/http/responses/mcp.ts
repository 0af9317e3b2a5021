// Schema of the endpoint for an MCP client of the user, for src/api/views/mcp.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { text, version } from './fields.ts'

const mcpSeat = z.object({
  version,
  socket: text.describe('the socket of the MCP server'),
  token: text.describe('the access token, which is valid until this daemon ends'),
})

export const mcpAnswers = { mcpSeat }

export const MCP_TYPES = { McpSeatView: mcpSeat }
