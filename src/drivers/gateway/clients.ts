// Which agents of others are known to the gateway, and what of their environment and arguments leads them there. One that is
// not known is told in the words that most clients understand.
// Owns that no key of a provider is in the environment of an agent that goes through the gateway.
// Test: test/tables/gateway-clients.test.ts; with the agents themselves test/agents/gateway.test.ts.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { findProgram, takeApart } from '../command/formats/args.ts'
import { claude } from './clients/claude.ts'
import { codex, codexAcp } from './clients/codex.ts'
import { gemini } from './clients/gemini.ts'
import { opencode } from './clients/opencode.ts'
import { pi } from './clients/pi.ts'
import { namesIn, readOwn } from './own-files.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { Launch, LaunchGateway } from '../port.ts'
import type { Calls, Client, Own, Told } from './clients/client.ts'

const CLIENTS: readonly Client[] = [claude, codex, codexAcp, gemini, opencode, pi]

/** What programs that are not known may read, by provider. */
const COMMON: Readonly<Record<string, (url: string, token: string) => Readonly<Record<string, string>>>> = {
  anthropic: (url, token) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token }),
  openai: (url, token) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: token }),
  google: (url, token) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token }),
}

/** Keys of models that agents know beside those of the configuration. */
const KEYS = [
  'ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_OAUTH_TOKEN', 'OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'AZURE_OPENAI_API_KEY',
  'GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'OPENROUTER_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK', 'GROQ_API_KEY', 'MISTRAL_API_KEY', 'XAI_API_KEY', 'DEEPSEEK_API_KEY',
  'CEREBRAS_API_KEY', 'AI_GATEWAY_API_KEY', 'OPENCODE_API_KEY',
]

type Spec = Pick<ProcessSpec, 'argv' | 'env' | 'credentials' | 'cwd' | 'model'>

/** An agent that is known, and whose models it would call by itself. */
export interface KnownClient extends Calls {
  readonly title: string
}

export function clientOf(spec: Spec): KnownClient | null {
  const found = find(spec)
  return found && { title: found.client.title, ...found.client.calls(found.own) }
}

/** The providers that a program may call whose client nobody knows. */
export const COMMON_PROVIDERS = Object.keys(COMMON)

/** A program as it is to be started. */
export interface Started {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** With its own environment and credentials; through the gateway with a token in place of keys, and what leads it there. */
export async function startOf(launch: Pick<Launch, 'spec' | 'credentials' | 'gateway' | 'tmpDir'>, argv: readonly string[]): Promise<Started> {
  const { spec, credentials, gateway } = launch
  const all = { ...spec.env, ...credentials }
  if (!gateway) return { argv, env: all }
  const hidden = new Set([...gateway.hides, ...KEYS])
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => !hidden.has(name)))
  const found = find({ ...spec, argv })
  if (found === null) return { argv, env: { ...kept, ...common(gateway) } }
  const { client, own, at } = found
  const { providers } = client.calls(own)
  const told = client.told({ ...own, providers, url: gateway.url, token: gateway.token, dir: launch.tmpDir, list: namesIn })
  await writeTold(told)
  return { argv: argv.toSpliced(at + 1, 0, ...(told.args ?? [])), env: { ...kept, ...told.env } }
}

function common({ url, token }: LaunchGateway): Readonly<Record<string, string>> {
  return Object.assign({}, ...Object.entries(COMMON).map(([provider, env]) => {
    const base = url(provider)
    return base === null ? {} : env(base, token)
  })) as Record<string, string>
}

/** Files are for their owner alone. */
export async function writeTold({ files = {}, links = {} }: Pick<Told, 'files' | 'links'>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, text, { mode: 0o600 })
  }
  for (const [path, target] of Object.entries(links)) {
    // What is linked and not there yet is a folder that it would have made.
    await mkdir(target, { recursive: true }).catch(() => undefined)
    await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** `npx -y PACKAGE@VERSION` names it by its package. */
function find({ argv, env, credentials, cwd, model }: Spec): { readonly client: Client; readonly own: Own; readonly at: number } | null {
  if (argv === null) return null
  for (const client of CLIENTS) {
    const at = findProgram(argv, client.names)
    if (at >= 0) return { client, at, own: { command: takeApart(argv, at, client.options), env, credentials, cwd, model, read: readOwn } }
  }
  return null
}
