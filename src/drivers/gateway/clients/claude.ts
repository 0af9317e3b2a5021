// Claude Code, by `-p` and by its adapter to the protocol. Its variables win over its login and its key; what its settings
// files say of variables wins over both. Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { CLAUDE_OPTIONS } from '../../command/formats/claude.ts'
import { firstSet, homeOf, jsonOf, object } from './client.ts'
import type { Client, Own } from './client.ts'

const CLOUDS = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY', 'CLAUDE_CODE_USE_ANTHROPIC_AWS', 'CLAUDE_CODE_USE_MANTLE']
const TAKEN = [...CLOUDS, 'ANTHROPIC_BASE_URL', 'ANTHROPIC_AUTH_TOKEN']

export const claude: Client = {
  title: 'Claude Code',
  names: ['claude', '@anthropic-ai/claude-code', 'claude-agent-acp', '@agentclientprotocol/claude-agent-acp', 'claude-code-acp', '@zed-industries/claude-code-acp'],
  options: CLAUDE_OPTIONS,
  calls: (own) => ({ providers: ['anthropic'], elsewhere: elsewhere(own), login: login(own) }),
  told: ({ url, token }) => ({ env: { ANTHROPIC_BASE_URL: url('anthropic') ?? '', ANTHROPIC_AUTH_TOKEN: token } }),
}

function configDir({ env }: Own): string {
  return env['CLAUDE_CONFIG_DIR'] ?? join(homeOf({ env }), '.claude')
}

function elsewhere(own: Own): string | undefined {
  const cloud = firstSet(own.env, CLOUDS)
  if (cloud !== undefined) return `${cloud} is set: it calls its models elsewhere`
  const files = [join(configDir(own), 'settings.json'), join(own.cwd, '.claude/settings.json'), join(own.cwd, '.claude/settings.local.json')]
  for (const file of files) {
    const env = object(jsonOf(own.read(file))['env'])
    const name = TAKEN.find((one) => one in env)
    if (name !== undefined) return `${file} sets ${name}: it calls its models as that says`
  }
  return undefined
}

/** A key in its environment is what it uses before its login. */
function login(own: Own): string | undefined {
  if (own.credentials.includes('ANTHROPIC_API_KEY')) return undefined
  const dir = configDir(own)
  const isIn = own.read(join(dir, '.credentials.json')) !== null || 'oauthAccount' in jsonOf(own.read(own.env['CLAUDE_CONFIG_DIR'] === undefined ? join(homeOf(own), '.claude.json') : join(dir, '.claude.json')))
  return isIn ? 'it uses its own login, as no ANTHROPIC_API_KEY is in its environment' : undefined
}
