// pi, in any of its modes. It knows other addresses from a file in its folder alone, so that it gets a folder of its own, in
// which all of the user's own but that file and the logins is linked. Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { valueOf } from '../../command/formats/args.ts'
import { homeOf, jsonOf, object, string } from './client.ts'
import type { Calls, Client, Own, Told, Way } from './client.ts'

const FOLDER = 'PI_CODING_AGENT_DIR'
const MODELS = 'models.json'
const OWN_FILES = [MODELS, 'auth.json']
/** Whose clients have the version in their base URL. */
const VERSIONS: Readonly<Record<string, string>> = { google: '/v1beta' }

export const pi: Client = {
  title: 'pi',
  names: ['pi', '@mariozechner/pi-coding-agent', '@earendil-works/pi-coding-agent'],
  options: { '--provider': 'one', '--model': 'one', '--mode': 'one', '--session': 'one', '--fork': 'one', '--session-dir': 'one', '--thinking': 'one', '--api-key': 'one' },
  calls,
  told,
}

function folderOf({ env }: Pick<Own, 'env'>): string {
  return env[FOLDER] ?? join(homeOf({ env }), '.pi/agent')
}

function calls(own: Own): Calls {
  const model = valueOf(own.command, '--model') ?? ''
  const settings = jsonOf(own.read(join(folderOf(own), 'settings.json')))
  const provider = valueOf(own.command, '--provider') ?? (model.includes('/') ? model.slice(0, model.indexOf('/')) : string(settings['defaultProvider']))
  if (provider === '') return { providers: [], elsewhere: 'nothing says which provider it calls: name one with --provider' }
  if (valueOf(own.command, '--api-key') !== null) return { providers: [provider], elsewhere: 'a key is given in its command line' }
  const base = string(object(object(jsonOf(own.read(join(folderOf(own), MODELS)))['providers'])[provider])['baseUrl'])
  return { providers: [provider], ...(base === '' ? {} : { bases: { [provider]: base } }) }
}

function told(way: Way): Told {
  const [from, dir] = [folderOf(way), join(way.dir, 'pi-agent')]
  const own = jsonOf(way.read(join(from, MODELS)))
  const known = object(own['providers'])
  const here = way.providers.map((name) => [name, { ...object(known[name]), baseUrl: `${way.url(name) ?? ''}${VERSIONS[name] ?? ''}`, apiKey: way.token }])
  const text = JSON.stringify({ ...own, providers: { ...known, ...Object.fromEntries(here) } })
  const kept = new Set(['sessions', ...way.list(from)].filter((name) => !OWN_FILES.includes(name)))
  return {
    env: { [FOLDER]: dir },
    files: { [join(dir, MODELS)]: text },
    links: Object.fromEntries([...kept].map((name) => [join(dir, name), join(from, name)])),
  }
}
