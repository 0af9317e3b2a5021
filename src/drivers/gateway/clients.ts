// Configures external agents to use the gateway. Each known agent gets its own environment variables and arguments; an unknown
// agent gets the variables that most clients read. Guarantees that an agent that uses the gateway has no provider's key in its
// environment.
// Test: test/tables/drivers/gateway/clients.test.ts; with the agents themselves test/agents/gateway.test.ts.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { findProgram, parseCommand } from '../command/formats/args.ts'
import { KNOWN_CLIENTS } from './known-clients.ts'
import { listUserDir, readUserFile } from '../common/agent-settings-files.ts'
import type { Launch, LaunchGateway } from '../port.ts'
import type { ProviderUse, ClientAdapter, AgentSetup, ClientConfig } from './clients/client.ts'
import type { ProgramSpec } from '../../kernel/model/process-spec.ts'

/** Creates the variables that unknown programs may read, by provider. */
const COMMON_ENV: Readonly<Record<string, (url: string, token: string) => Readonly<Record<string, string>>>> = {
  anthropic: (url, token) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token }),
  openai: (url, token) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: token }),
  google: (url, token) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token }),
}

/** The variables with model keys that agents read, in addition to those of the configuration. */
const KEY_VARIABLES = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'ANTHROPIC_OAUTH_TOKEN',
  'OPENAI_API_KEY',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'AZURE_OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'OPENROUTER_API_KEY',
  'AWS_BEARER_TOKEN_BEDROCK',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'XAI_API_KEY',
  'DEEPSEEK_API_KEY',
  'CEREBRAS_API_KEY',
  'AI_GATEWAY_API_KEY',
  'OPENCODE_API_KEY',
]

/** The part of a process's spec that describes its program. */
type AgentCommand = Pick<ProgramSpec, 'argv' | 'env' | 'credentials' | 'cwd' | 'model'>

/** A known agent, and the providers that it calls without the gateway. */
export interface KnownClient extends ProviderUse {
  readonly title: string
}

/** Finds the known agent of a spec; null for an unknown program. */
export function clientOf(spec: AgentCommand): KnownClient | null {
  const match = findClient(spec)
  return match && { title: match.client.title, ...match.client.providerUse(match.setup) }
}

/** The providers that an unknown program may call. */
export const COMMON_PROVIDERS = Object.keys(COMMON_ENV)

/** The arguments and the environment with which a program is started. */
export interface PreparedStart {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * Adds the environment and credentials of the process to a command. An agent that uses the gateway gets the gateway's address, and a
 * token instead of keys.
 */
export async function prepareStart(
  launch: Pick<Launch<ProgramSpec>, 'spec' | 'credentials' | 'gateway' | 'tmpDir'>,
  argv: readonly string[],
): Promise<PreparedStart> {
  const { spec, credentials, gateway } = launch
  const fullEnv = { ...spec.env, ...credentials }
  if (!gateway) return { argv, env: fullEnv }
  const hiddenNames = new Set([...gateway.hiddenVariables, ...KEY_VARIABLES])
  const visibleEnv = Object.fromEntries(Object.entries(fullEnv).filter(([name]) => !hiddenNames.has(name)))
  const match = findClient({ ...spec, argv })
  if (match === null) return { argv, env: { ...visibleEnv, ...commonEnv(gateway) } }
  const { client, setup, programIndex } = match
  const { providers } = client.providerUse(setup)
  const config = client.configure({ ...setup, providers, url: gateway.url, token: gateway.token, dir: launch.tmpDir, list: listUserDir })
  await writeClientConfig(config)
  return { argv: argv.toSpliced(programIndex + 1, 0, ...(config.args ?? [])), env: { ...visibleEnv, ...config.env } }
}

function commonEnv({ url, token }: LaunchGateway): Readonly<Record<string, string>> {
  return Object.assign(
    {},
    ...Object.entries(COMMON_ENV).map(([provider, env]) => {
      const baseURL = url(provider)
      return baseURL === null ? {} : env(baseURL, token)
    }),
  ) as Record<string, string>
}

/** Writes the files, which only their owner can read, and creates the links. */
export async function writeClientConfig({ files = {}, links = {} }: Pick<ClientConfig, 'files' | 'links'>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, text, { mode: 0o600 })
  }
  for (const [path, target] of Object.entries(links)) {
    // A missing target is a folder that the agent creates later.
    await mkdir(target, { recursive: true }).catch(() => undefined)
    await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Finds the known agent that a command starts, directly or as a package (`npx -y PACKAGE@VERSION`). Null for an unknown program. */
function findClient({
  argv,
  env,
  credentials,
  cwd,
  model,
}: AgentCommand): { readonly client: ClientAdapter; readonly setup: AgentSetup; readonly programIndex: number } | null {
  for (const client of KNOWN_CLIENTS) {
    const programIndex = findProgram(argv, client.names)
    if (programIndex >= 0)
      return {
        client,
        programIndex,
        setup: { command: parseCommand(argv, programIndex, client.options), env, credentials, cwd, model, read: readUserFile },
      }
  }
  return null
}
