// Codex, by `exec` and by its adapter to the protocol. It reads no address from its environment: a provider of its own is
// put beside those that it knows, by arguments or by the adapter's variable. Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { has } from '../../command/formats/args.ts'
import { CODEX_OPTIONS } from '../../command/formats/codex.ts'
import { firstSet, homeOf, jsonOf, object, string } from './client.ts'
import type { Calls, Client, Own, Told, Way } from './client.ts'

const ID = 'reeve'
const KEY = 'OPENAI_API_KEY'
const OTHERS = ['--oss', '--local-provider', '-p', '--profile']

export const codex: Client = {
  title: 'Codex',
  names: ['codex', '@openai/codex'],
  options: CODEX_OPTIONS,
  calls,
  told: (way) => ({ env: forTools(way), args: Object.entries(settings(way)).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]) }),
}

export const codexAcp: Client = {
  title: 'Codex',
  names: ['codex-acp', '@agentclientprotocol/codex-acp'],
  options: {},
  calls,
  told: adapterTold,
}

/** It reads the token there; what its tools call with that goes the same way. */
function forTools({ url, token }: Pick<Way, 'url' | 'token'>): Told['env'] {
  return { [KEY]: token, OPENAI_BASE_URL: url('openai') ?? '' }
}

/** Its own keys, with dots between them as its arguments have them. */
function settings({ url }: Pick<Way, 'url'>): Readonly<Record<string, unknown>> {
  const provider = `model_providers.${ID}`
  return {
    model_provider: ID,
    [`${provider}.name`]: ID, [`${provider}.base_url`]: url('openai') ?? '', [`${provider}.env_key`]: KEY, [`${provider}.wire_api`]: 'responses',
  }
}

/** It merges this into its settings. What is said of other providers, which may be a key, is left out. */
function adapterTold(way: Way): Told {
  const own = jsonOf(way.env['CODEX_CONFIG'])
  const provider = { name: ID, base_url: way.url('openai') ?? '', env_key: KEY, wire_api: 'responses' }
  const config = { ...own, model_provider: ID, model_providers: { [ID]: provider } }
  return { env: { ...forTools(way), MODEL_PROVIDER: ID, CODEX_CONFIG: JSON.stringify(config) } }
}

function calls(own: Own): Calls {
  const home = own.env['CODEX_HOME'] ?? join(homeOf(own), '.codex')
  const config = own.read(join(home, 'config.toml')) ?? ''
  const base = valueIn(config, 'openai_base_url')
  return { providers: ['openai'], elsewhere: elsewhere(own, config, home), login: login(own, home), ...(base === null ? {} : { bases: { openai: base } }) }
}

/** The file is not read as a whole: whatever names another provider, also for a part of its work, is left alone. */
function elsewhere({ command, env }: Own, config: string, home: string): string | undefined {
  const option = OTHERS.find((name) => has(command, name)) ?? command.options.find(({ name, values: [value = ''] }) => /^(-c|--config)$/.test(name) && /^(model_provider|openai_base_url|profile)/.test(value))?.raw.join(' ')
  if (option !== undefined) return `${option} is given: it calls its models as that says`
  const variable = firstSet(env, ['MODEL_PROVIDER']) ?? (string(jsonOf(env['CODEX_CONFIG'])['model_provider']) === '' ? undefined : 'CODEX_CONFIG')
  if (variable !== undefined) return `${variable} names a provider of its own`
  const other = [...config.matchAll(/^\s*model_provider\s*=\s*["']([^"']*)["']/gm)].map(([, name = '']) => name).find((name) => name !== 'openai')
  return other === undefined ? undefined : `${join(home, 'config.toml')} names the provider ${other}`
}

/** It takes its login, of whatever kind, before a key in its environment. */
function login({ read }: Own, home: string): string | undefined {
  const auth = jsonOf(read(join(home, 'auth.json')))
  return Object.keys(object(auth['tokens'])).length > 0 ? 'it uses its own login' : undefined
}

function valueIn(toml: string, key: string): string | null {
  return new RegExp(`^\\s*${key}\\s*=\\s*["']([^"']+)["']`, 'm').exec(toml)?.[1] ?? null
}
