// The adapter for pi, in any of its modes. pi reads the addresses of providers only from a file in its folder. So each incarnation gets its
// own folder, with links to all files of the user except that file and the logins.
// Test: test/tables/drivers/gateway/clients.test.ts.
import { join } from 'node:path'
import { valueOf } from '../../command/formats/args.ts'
import { homeOf, parseObject, asObject, asString } from './client.ts'
import type { ProviderUse, ClientAdapter, AgentSetup, ClientConfig, GatewayTarget } from './client.ts'

const FOLDER_VARIABLE = 'PI_CODING_AGENT_DIR'
const MODELS_FILE = 'models.json'
/** The user's files that the agent's own folder does not link. */
const UNLINKED_FILES = [MODELS_FILE, 'auth.json']
/** The API version that pi expects at the end of a provider's base URL. */
const VERSIONS: Readonly<Record<string, string>> = { google: '/v1beta' }

export const pi: ClientAdapter = {
  title: 'pi',
  names: ['pi', '@mariozechner/pi-coding-agent', '@earendil-works/pi-coding-agent'],
  options: {
    '--provider': 'one',
    '--model': 'one',
    '--mode': 'one',
    '--session': 'one',
    '--fork': 'one',
    '--session-dir': 'one',
    '--thinking': 'one',
    '--api-key': 'one',
  },
  login: { command: 'pi', key: null },
  providerUse: findProviderUse,
  configure,
}

function folderOf({ env }: Pick<AgentSetup, 'env'>): string {
  return env[FOLDER_VARIABLE] ?? join(homeOf({ env }), '.pi/agent')
}

function findProviderUse(setup: AgentSetup): ProviderUse {
  const model = valueOf(setup.command, '--model') ?? ''
  const settings = parseObject(setup.read(join(folderOf(setup), 'settings.json')))
  const provider =
    valueOf(setup.command, '--provider') ??
    (model.includes('/') ? model.slice(0, model.indexOf('/')) : asString(settings['defaultProvider']))
  if (provider === '') return { providers: [], bypass: 'its provider is not known: name one with --provider' }
  if (valueOf(setup.command, '--api-key') !== null) return { providers: [provider], bypass: 'its command line contains a key' }
  const base = asString(asObject(asObject(parseObject(setup.read(join(folderOf(setup), MODELS_FILE)))['providers'])[provider])['baseUrl'])
  return { providers: [provider], ...(base === '' ? {} : { bases: { [provider]: base } }) }
}

function configure(target: GatewayTarget): ClientConfig {
  const [userDir, ownDir] = [folderOf(target), join(target.dir, 'pi-agent')]
  const userModels = parseObject(target.read(join(userDir, MODELS_FILE)))
  const userProviders = asObject(userModels['providers'])
  const providers = target.providers.map((name) => [
    name,
    { ...asObject(userProviders[name]), baseUrl: `${target.url(name) ?? ''}${VERSIONS[name] ?? ''}`, apiKey: target.token },
  ])
  const text = JSON.stringify({ ...userModels, providers: { ...userProviders, ...Object.fromEntries(providers) } })
  const linkedNames = new Set(['sessions', ...target.list(userDir)].filter((name) => !UNLINKED_FILES.includes(name)))
  return {
    env: { [FOLDER_VARIABLE]: ownDir },
    files: { [join(ownDir, MODELS_FILE)]: text },
    links: Object.fromEntries([...linkedNames].map((name) => [join(ownDir, name), join(userDir, name)])),
  }
}
