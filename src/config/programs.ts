// The programs of agents that others wrote, by name, and how each is installed.
// Owns the advice alone; whether a program is there is looked up where it is started. Test: test/tables/config-agents.test.ts.

const PACKAGES: Readonly<Record<string, string>> = {
  'claude-agent-acp': '@agentclientprotocol/claude-agent-acp',
  'codex-acp': '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
}

/** The command that installs it; null for a program that nobody here knows. */
export function installCommand(program: string): string | null {
  const name = Object.hasOwn(PACKAGES, program) ? PACKAGES[program] : undefined
  return name === undefined ? null : `npm install -g ${name}`
}
