// What each agent needs to call its models through the gateway: which provider it calls, and how it is told another address and
// a token. An agent that is not known is told in the words that most clients understand.
// Owns that no key of a provider is in the environment of an agent that goes through the gateway.
// Test: test/tables/gateway-clients.test.ts.
import { basename } from 'node:path'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { Launch, LaunchGateway } from '../port.ts'

interface Client {
  readonly title: string
  /** programs, and packages that have them */
  readonly names: readonly string[]
  readonly provider: string
  /** with one of these in its environment it calls its models elsewhere */
  readonly elsewhere: readonly string[]
  /** variables that it would take before what it is told here */
  readonly hides: readonly string[]
  env(url: string, token: string): Readonly<Record<string, string>>
}

const CLIENTS: readonly Client[] = [
  {
    title: 'Claude Code',
    names: ['claude', 'claude-agent-acp', 'claude-code-acp', '@anthropic-ai/claude-code', '@agentclientprotocol/claude-agent-acp', '@zed-industries/claude-code-acp'],
    provider: 'anthropic',
    elsewhere: ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'],
    hides: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN'],
    env: (url, token) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token }),
  },
]

/** What programs that are not known may read, by provider. */
const COMMON: Readonly<Record<string, (url: string, token: string) => Readonly<Record<string, string>>>> = {
  anthropic: (url, token) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token }),
  openai: (url, token) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: token }),
  google: (url, token) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token }),
}

/** An agent that is known, and the provider that it calls. */
export interface KnownClient {
  readonly title: string
  readonly provider: string
  /** a variable of its environment by which it calls its models elsewhere; null: none is set */
  readonly elsewhere: string | null
}

export function clientOf({ argv, env }: Pick<ProcessSpec, 'argv' | 'env'>): KnownClient | null {
  const client = find(argv)
  if (client === null) return null
  const { title, provider, elsewhere } = client
  return { title, provider, elsewhere: elsewhere.find((name) => (env[name] ?? '') !== '') ?? null }
}

/** The providers that a program may call whose client nobody knows. */
export const COMMON_PROVIDERS = Object.keys(COMMON)

/** The environment of an agent: its own, with its credentials; through the gateway with a token in place of keys. */
export function agentEnv({ spec, credentials, gateway }: Pick<Launch, 'spec' | 'credentials' | 'gateway'>): Record<string, string> {
  const all = { ...spec.env, ...credentials }
  if (!gateway) return all
  const client = find(spec.argv)
  const hidden = new Set([...gateway.hides, ...(client?.hides ?? [])])
  return { ...Object.fromEntries(Object.entries(all).filter(([name]) => !hidden.has(name))), ...told(client, gateway) }
}

function told(client: Client | null, { url, token }: LaunchGateway): Readonly<Record<string, string>> {
  const ways = client ? [[client.provider, client.env.bind(client)] as const] : Object.entries(COMMON)
  return Object.assign({}, ...ways.map(([provider, env]) => {
    const base = url(provider)
    return base === null ? {} : env(base, token)
  })) as Record<string, string>
}

/** `npx -y PACKAGE@VERSION` names it by its package. */
function find(argv: readonly string[] | null): Client | null {
  const names = (argv ?? []).slice(0, MAX_WORDS).flatMap((word) => [basename(word), word.replace(/(?<=.)@[^/@]*$/, '')])
  return CLIENTS.find((client) => client.names.some((name) => names.includes(name))) ?? null
}

/** Of a command line, in which its program may have a runner before it. */
const MAX_WORDS = 3
