// The adapter for OpenCode, run by ACP or with `run`. OpenCode can call any provider. OpenCode uses the gateway only if reeve
// knows which provider it calls, and may then call no other one. The settings from reeve are merged into the user's value of
// the settings variable.
// Test: test/tables/drivers/gateway/clients.test.ts.
import { join } from 'node:path'
import { valueOf } from '../../command/formats/args.ts'
import { OPENCODE_OPTIONS } from '../../command/formats/opencode.ts'
import { homeOf, parseObject, asObject, asString } from './client.ts'
import type { ProviderUse, ClientAdapter, Json, AgentSetup, ClientConfig, GatewayTarget } from './client.ts'

const SETTINGS_VARIABLE = 'OPENCODE_CONFIG_CONTENT'

export const opencode: ClientAdapter = {
  title: 'OpenCode',
  names: ['opencode', 'opencode-ai'],
  options: OPENCODE_OPTIONS,
  login: { command: 'opencode auth login', key: null },
  providerUse: findProviderUse,
  configure,
}

/**
 * The settings that OpenCode reads; later ones win. `trusted` leaves out the project's settings, because no key must be sent to an address
 * that a project names.
 */
function settings({ env, cwd, read }: AgentSetup): { readonly trusted: readonly Json[]; readonly all: readonly Json[] } {
  const global = parseObject(read(join(env['XDG_CONFIG_HOME'] ?? join(homeOf({ env }), '.config'), 'opencode/opencode.json')))
  const named = parseObject(env['OPENCODE_CONFIG'] === undefined ? null : read(env['OPENCODE_CONFIG']))
  const content = parseObject(env[SETTINGS_VARIABLE])
  return { trusted: [global, named, content], all: [global, named, parseObject(read(join(cwd, 'opencode.json'))), content] }
}

function findProviderUse(setup: AgentSetup): ProviderUse {
  const { trusted, all } = settings(setup)
  const model =
    setup.model ??
    valueOf(setup.command, '-m', '--model') ??
    all.map((file) => asString(file['model'])).findLast((name) => name !== '') ??
    ''
  const provider = model.slice(0, Math.max(0, model.indexOf('/')))
  if (provider === '') return { providers: [], bypass: 'its model is not known: name one with --model provider/name' }
  const baseURL = trusted.map((file) => asString(optionsOf(file, provider)['baseURL'])).findLast((url) => url !== '')
  return { providers: [provider], ...(baseURL === undefined ? {} : { bases: { [provider]: baseURL } }) }
}

function optionsOf(config: Json, provider: string): Json {
  return asObject(asObject(asObject(config['provider'])[provider])['options'])
}

/**
 * Removes OpenCode's logins, which it would prefer to a key. Leaves out the other providers, because OpenCode may not call them and
 * their settings may contain keys.
 */
function configure(target: GatewayTarget): ClientConfig {
  const userSettings = parseObject(target.env[SETTINGS_VARIABLE])
  const userProviders = asObject(userSettings['provider'])
  const providers = target.providers.map((name) => [
    name,
    {
      ...asObject(userProviders[name]),
      options: { ...optionsOf(userSettings, name), baseURL: withVersion(name, target.url(name) ?? ''), apiKey: target.token },
    },
  ])
  const config = { ...userSettings, enabled_providers: target.providers, provider: Object.fromEntries(providers) }
  return { env: { [SETTINGS_VARIABLE]: JSON.stringify(config), OPENCODE_AUTH_CONTENT: '{}' } }
}

/** Adds the API version to a base URL, because all of OpenCode's provider clients expect it there. */
function withVersion(provider: string, url: string): string {
  if (url.endsWith('/v1')) return url
  return `${url}/${provider === 'google' ? 'v1beta' : 'v1'}`
}
