// The route that gives a user's MCP client access to reeve's own tools. The answer has the socket of the MCP server, and a token.
// Test: test/e2e/mcp/bridge.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import { mcpClientBody } from './schemas.ts'

export const MCP_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'openMcpSession',
    method: 'POST',
    path: '/v1/mcp/seats',
    right: 'all',
    closed: 'mcp',
    summary: "Issues a token for reeve's own tools over MCP, in the name of the user.",
    body: mcpClientBody,
    answer: 'mcpSession',
    errors: [],
    status: 201,
    example: { cwd: '/src/app' },
    handle: async ({ openMcpAccess }, { body }) => ({ version: 1, ...(await openMcpAccess({ env: {}, ...body })) }),
  }),
]
