// The row of `reeve mcp` for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const MCP: Readonly<Record<'mcp', Verb>> = {
  mcp: {
    summary: 'Give the tools of reeve to a client of MCP, over its input and output',
    usage: ['reeve mcp'],
    about: [
      'Speaks MCP, in both revisions, on standard input and output: for a client that starts its servers as programs. Without more it is yours: the client starts, lists, pauses and stops processes as you do. `claude mcp add processes -- reeve mcp` gives them to your own Claude Code, `codex mcp add processes -- reeve mcp` to Codex.',
      'Agents that reeve runs get its tools by themselves (`run --reeve`, `reeve: true` in an agent file, members of a crew), over HTTP where they can, else by this command with a token in their environment. docs/mcp-server.md says which tools there are and who has them.',
      'It ends when its input ends. A report of a worker is on disk before it is told: where the daemon is away it is delivered when that is back, once.',
    ],
    words: [0, 0],
    flags: {},
    exits: '0 when its input has ended; 1 a message is too long',
    examples: [['claude mcp add processes -- reeve mcp', 'its tools in your own Claude Code'], ['codex mcp add processes -- reeve mcp', 'or in Codex']],
    load: () => import('./verbs/mcp.ts'),
  },
}
