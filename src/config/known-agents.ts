// Knows the programs of external agents and the commands that install them. Only for hints: whether a program is installed is checked
// when it is started. Test: test/tables/config/agents/find-agents.test.ts.

const PACKAGES: Readonly<Record<string, string>> = {
  'claude-agent-acp': '@agentclientprotocol/claude-agent-acp',
  'codex-acp': '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
}

/** Returns the command that installs a program; null for an unknown program. */
export function installCommand(program: string): string | null {
  const name = Object.hasOwn(PACKAGES, program) ? PACKAGES[program] : undefined
  return name === undefined ? null : `npm install -g ${name}`
}
