// The route by which a person's client of MCP gets a seat, one row as in routes.ts, which has them all. Test: test/e2e/mcp-bridge.test.ts.
import { route, type Route } from './route.ts'
import { seatBody } from './schemas.ts'

export const MCP: readonly Route[] = [
  route({
    id: 'openMcpSeat', method: 'POST', path: '/v1/mcp/seats', summary: 'A token for reeve\'s own tools over MCP, as the person who asks.', body: seatBody, answer: 'mcpSeat', errors: [], status: 201,
    example: { cwd: '/src/app' },
    handle: async ({ mcpSeat }, { body }) => ({ version: 1, ...(await mcpSeat({ env: {}, ...body })) }),
  }),
]
