// The adapters for Codex, run as `codex exec` or by its ACP adapter. Codex reads no address from its environment. Therefore
// reeve defines a provider named `reeve` in Codex's settings: by arguments, or by the ACP adapter's variable.
// Test: test/tables/drivers/gateway/clients.test.ts.
import { join } from 'node:path'
import { hasFlag } from '../../command/formats/args.ts'
import { CODEX_OPTIONS } from '../../command/formats/codex.ts'
import { firstSetVariable, homeOf, parseObject, asObject, asString } from './client.ts'
import type { ProviderUse, ClientAdapter, AgentSetup, ClientConfig, GatewayTarget } from './client.ts'

const PROVIDER_ID = 'reeve'
const KEY_VARIABLE = 'OPENAI_API_KEY'
const LOGIN = { command: 'codex login', key: KEY_VARIABLE }
/** The options that select another provider. */
const PROVIDER_OPTIONS = ['--oss', '--local-provider', '-p', '--profile']

export const codex: ClientAdapter = {
  title: 'Codex',
  names: ['codex', '@openai/codex'],
  options: CODEX_OPTIONS,
  login: LOGIN,
  providerUse: findProviderUse,
  configure: (target) => ({
    env: envFor(target),
    args: Object.entries(settings(target)).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]),
  }),
}

export const codexAcp: ClientAdapter = {
  title: 'Codex',
  names: ['codex-acp', '@agentclientprotocol/codex-acp'],
  options: {},
  login: LOGIN,
  providerUse: findProviderUse,
  configure: configureCodexAcp,
}

/**
 * Codex reads the token from its environment. The programs that Codex starts get the same variables, so their calls also use the
 * gateway.
 */
function envFor({ url, token }: Pick<GatewayTarget, 'url' | 'token'>): ClientConfig['env'] {
  return { [KEY_VARIABLE]: token, OPENAI_BASE_URL: url('openai') ?? '' }
}

/** Codex's settings, with dots between the keys as in its arguments. */
function settings({ url }: Pick<GatewayTarget, 'url'>): Readonly<Record<string, unknown>> {
  const provider = `model_providers.${PROVIDER_ID}`
  return {
    model_provider: PROVIDER_ID,
    [`${provider}.name`]: PROVIDER_ID,
    [`${provider}.base_url`]: url('openai') ?? '',
    [`${provider}.env_key`]: KEY_VARIABLE,
    [`${provider}.wire_api`]: 'responses',
  }
}

/**
 * Configures Codex's ACP adapter, which merges the variable CODEX_CONFIG into its settings. Other providers are left out, because their
 * settings may contain keys.
 */
function configureCodexAcp(target: GatewayTarget): ClientConfig {
  const userConfig = parseObject(target.env['CODEX_CONFIG'])
  const provider = { name: PROVIDER_ID, base_url: target.url('openai') ?? '', env_key: KEY_VARIABLE, wire_api: 'responses' }
  const config = { ...userConfig, model_provider: PROVIDER_ID, model_providers: { [PROVIDER_ID]: provider } }
  return { env: { ...envFor(target), MODEL_PROVIDER: PROVIDER_ID, CODEX_CONFIG: JSON.stringify(config) } }
}

function findProviderUse(setup: AgentSetup): ProviderUse {
  const home = setup.env['CODEX_HOME'] ?? join(homeOf(setup), '.codex')
  const config = setup.read(join(home, 'config.toml')) ?? ''
  const base = tomlValue(config, 'openai_base_url')
  return {
    providers: ['openai'],
    bypass: bypassReason(setup, config, home),
    login: loginReason(setup, home),
    ...(base === null ? {} : { bases: { openai: base } }),
  }
}

/**
 * Why Codex cannot use the gateway. The settings file is not parsed. Each line that names another provider counts, even if it applies only
 * to a profile.
 */
function bypassReason({ command, env }: AgentSetup, config: string, home: string): string | undefined {
  const option =
    PROVIDER_OPTIONS.find((name) => hasFlag(command, name)) ??
    command.options
      .find(({ name, values: [value = ''] }) => /^(-c|--config)$/.test(name) && /^(model_provider|openai_base_url|profile)/.test(value))
      ?.raw.join(' ')
  if (option !== undefined) return `the option ${option} selects how it calls its models`
  const variable =
    firstSetVariable(env, ['MODEL_PROVIDER']) ??
    (asString(parseObject(env['CODEX_CONFIG'])['model_provider']) === '' ? undefined : 'CODEX_CONFIG')
  if (variable !== undefined) return `${variable} names a provider of its own`
  const other = [...config.matchAll(/^\s*model_provider\s*=\s*["']([^"']*)["']/gm)]
    .map(([, name = '']) => name)
    .find((name) => name !== 'openai')
  return other === undefined ? undefined : `${join(home, 'config.toml')} names the provider ${other}`
}

/** Describes the login of Codex for the user; undefined if there is none. Codex always prefers its login to a key in its environment. */
function loginReason({ read }: AgentSetup, home: string): string | undefined {
  const auth = parseObject(read(join(home, 'auth.json')))
  return Object.keys(asObject(auth['tokens'])).length > 0 ? 'it uses its own login' : undefined
}

/** Finds the text value of a key in a TOML file; null if the key is missing. */
function tomlValue(toml: string, key: string): string | null {
  return new RegExp(`^\\s*${key}\\s*=\\s*["']([^"']+)["']`, 'm').exec(toml)?.[1] ?? null
}
