// The adapter for Claude Code, run with `-p` or by its ACP adapter. The environment variables of the gateway win over the
// agent's login and key. But variables in the agent's settings files win over the environment.
// Test: test/tables/drivers/gateway/clients.test.ts.
import { join } from 'node:path'
import { CLAUDE_OPTIONS } from '../../command/formats/claude.ts'
import { firstSetVariable, homeOf, parseObject, asObject } from './client.ts'
import type { ClientAdapter, AgentSetup } from './client.ts'

/** The variables that select a cloud service instead of Anthropic. */
const CLOUD_VARIABLES = [
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_MANTLE',
]
/** The variables that decide where Claude Code sends its model calls. */
const ROUTING_VARIABLES = [...CLOUD_VARIABLES, 'ANTHROPIC_BASE_URL', 'ANTHROPIC_AUTH_TOKEN']

export const claude: ClientAdapter = {
  title: 'Claude Code',
  names: [
    'claude',
    '@anthropic-ai/claude-code',
    'claude-agent-acp',
    '@agentclientprotocol/claude-agent-acp',
    'claude-code-acp',
    '@zed-industries/claude-code-acp',
  ],
  options: CLAUDE_OPTIONS,
  login: { command: 'claude /login', key: 'ANTHROPIC_API_KEY' },
  providerUse: (setup) => ({ providers: ['anthropic'], bypass: bypassReason(setup), login: loginReason(setup) }),
  configure: ({ url, token }) => ({ env: { ANTHROPIC_BASE_URL: url('anthropic') ?? '', ANTHROPIC_AUTH_TOKEN: token } }),
}

function configDir({ env }: AgentSetup): string {
  return env['CLAUDE_CONFIG_DIR'] ?? join(homeOf({ env }), '.claude')
}

/** Why Claude Code cannot use the gateway, as text for the user; undefined if it can. */
function bypassReason(setup: AgentSetup): string | undefined {
  const cloud = firstSetVariable(setup.env, CLOUD_VARIABLES)
  if (cloud !== undefined) return `${cloud} is set: it calls its models through another service`
  const files = [
    join(configDir(setup), 'settings.json'),
    join(setup.cwd, '.claude/settings.json'),
    join(setup.cwd, '.claude/settings.local.json'),
  ]
  for (const file of files) {
    const env = asObject(parseObject(setup.read(file))['env'])
    const name = ROUTING_VARIABLES.find((variable) => variable in env)
    if (name !== undefined) return `${file} sets ${name}, which selects how it calls its models`
  }
  return undefined
}

/**
 * Describes the login of Claude Code for the user; undefined if it does not use one. With a key in its environment, it ignores its login.
 */
function loginReason(setup: AgentSetup): string | undefined {
  if (setup.credentials.includes('ANTHROPIC_API_KEY')) return undefined
  const dir = configDir(setup)
  const isLoggedIn =
    setup.read(join(dir, '.credentials.json')) !== null ||
    'oauthAccount' in
      parseObject(
        setup.read(setup.env['CLAUDE_CONFIG_DIR'] === undefined ? join(homeOf(setup), '.claude.json') : join(dir, '.claude.json')),
      )
  return isLoggedIn ? 'it uses its own login, because its environment has no ANTHROPIC_API_KEY' : undefined
}
