// Schema of the access of a user's MCP client to reeve's own tools, for src/api/views/mcp.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { text, version } from './fields.ts'

const mcpSession = z.object({
  version,
  socket: text.describe('the socket of the MCP server'),
  token: text.describe('the access token, which is valid until this daemon ends'),
})

export const mcpAnswers = { mcpSession }

export const MCP_TYPES = { McpSessionView: mcpSession }
