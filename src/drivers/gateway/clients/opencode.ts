// OpenCode, by ACP and by `run`. It can call any provider, so it goes through the gateway where it is known which one it uses,
// and may use no other then. Its variable for settings is merged with what the user has in it.
// Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { valueOf } from '../../command/formats/args.ts'
import { OPENCODE_OPTIONS } from '../../command/formats/opencode.ts'
import { homeOf, jsonOf, object, string } from './client.ts'
import type { Calls, Client, Json, Own, Told, Way } from './client.ts'

const CONTENT = 'OPENCODE_CONFIG_CONTENT'

export const opencode: Client = {
  title: 'OpenCode',
  names: ['opencode', 'opencode-ai'],
  options: OPENCODE_OPTIONS,
  calls,
  told,
}

/** As it reads them: what comes later goes before. Those of a project come with it: whatever they say, no key goes where they name. */
function settings({ env, cwd, read }: Own): { readonly users: readonly Json[]; readonly all: readonly Json[] } {
  const global = jsonOf(read(join(env['XDG_CONFIG_HOME'] ?? join(homeOf({ env }), '.config'), 'opencode/opencode.json')))
  const named = jsonOf(env['OPENCODE_CONFIG'] === undefined ? null : read(env['OPENCODE_CONFIG']))
  const content = jsonOf(env[CONTENT])
  return { users: [global, named, content], all: [global, named, jsonOf(read(join(cwd, 'opencode.json'))), content] }
}

function calls(own: Own): Calls {
  const { users, all } = settings(own)
  const model = own.model ?? valueOf(own.command, '-m', '--model') ?? (all.map((one) => string(one['model'])).findLast((name) => name !== '') ?? '')
  const provider = model.slice(0, Math.max(0, model.indexOf('/')))
  if (provider === '') return { providers: [], elsewhere: 'nothing says which model it uses: name one with --model provider/name' }
  const base = users.map((one) => string(optionsOf(one, provider)['baseURL'])).findLast((url) => url !== '')
  return { providers: [provider], ...(base === undefined ? {} : { bases: { [provider]: base } }) }
}

function optionsOf(config: Json, provider: string): Json {
  return object(object(object(config['provider'])[provider])['options'])
}

/** Its login of a provider would go before a key. What is said of other providers, which may be a key, is left out: they are not to be called. */
function told(way: Way): Told {
  const own = jsonOf(way.env[CONTENT])
  const known = object(own['provider'])
  const here = way.providers.map((name) => [name, { ...object(known[name]), options: { ...optionsOf(own, name), baseURL: versioned(name, way.url(name) ?? ''), apiKey: way.token } }])
  const config = { ...own, enabled_providers: way.providers, provider: Object.fromEntries(here) }
  return { env: { [CONTENT]: JSON.stringify(config), OPENCODE_AUTH_CONTENT: '{}' } }
}

/** Its clients have the version in their base URL, all of them. */
function versioned(provider: string, url: string): string {
  if (url.endsWith('/v1')) return url
  return `${url}/${provider === 'google' ? 'v1beta' : 'v1'}`
}
