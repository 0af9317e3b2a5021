// The row of `reeve mcp` in the verb table. Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const MCP_VERBS: Readonly<Record<'mcp', Verb>> = {
  mcp: {
    summary: 'Serve the tools of reeve to an MCP client on stdin and stdout',
    usage: ['reeve mcp'],
    about: [
      'Speaks both revisions of MCP on stdin and stdout, for clients that start their servers as programs. By default it acts for you: the client starts, lists, pauses and stops processes as you do. `claude mcp add processes -- reeve mcp` adds the tools to your own Claude Code, `codex mcp add processes -- reeve mcp` to Codex.',
      'Agents of reeve need no setup for these tools (`run --reeve`, `reeve: true` in an agent file, members of a crew). An agent gets the tools over HTTP if it can, else through this command with a token in its environment. The tools, and who may use them, are in docs/reference/mcp-server.md.',
      'It ends when its input ends. A report of a worker is stored on disk before it is confirmed. If the daemon is away, the report is delivered once, when the daemon is back.',
    ],
    wordRange: [0, 0],
    flags: {},
    exits: '0 when its input has ended; 1 a message is too long',
    examples: [
      ['claude mcp add processes -- reeve mcp', 'the tools in your own Claude Code'],
      ['codex mcp add processes -- reeve mcp', 'the tools in Codex'],
    ],
    load: () => import('../verbs/system/mcp.ts'),
  },
}
