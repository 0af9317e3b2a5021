// Which providers of models could be used from here: whether their key is there and from where, and what their endpoint
// says when it is asked for its models. Goes to the network, so only when somebody asks for it. Must never show a key.
// Test: test/e2e/doctor-models.test.ts.
import { loadConfig, type Provider } from '../config/config.ts'
import { splitEnv } from '../config/credentials.ts'
import { keyNames } from '../config/model-keys.ts'
import type { ProviderCheckView } from '../api/views.ts'
import type { Paths } from '../config/paths.ts'
import type { Keys } from './keys.ts'

export interface ModelsCheckParts {
  readonly paths: Paths
  readonly keys: Keys
}

/** Side by side; `env` is the client's environment. Errors: those of a configuration that cannot be read. */
export async function checkModels(env: Readonly<Record<string, string>>, { paths, keys }: ModelsCheckParts): Promise<ProviderCheckView[]> {
  const { providers } = await loadConfig({ paths, cwd: null, env: {} })
  const { secrets, recorded } = splitEnv(env, keyNames(providers))
  const asked = new Map<string, ReturnType<Keys['locate']>>()
  // A key that two providers share is looked for once: the user's command may ask the user.
  const locate = (name: string): ReturnType<Keys['locate']> => {
    const found = asked.get(name) ?? keys.locate(name, secrets)
    asked.set(name, found)
    return found
  }
  return Promise.all(providers.map((provider) => checkProvider(moved(provider, { ...recorded, ...secrets }), locate)))
}

function moved(provider: Provider, env: Readonly<Record<string, string>>): Provider {
  return { ...provider, baseURL: (provider.baseURLEnv && env[provider.baseURLEnv]) || provider.baseURL }
}

async function checkProvider(provider: Provider, locate: (name: string) => ReturnType<Keys['locate']>): Promise<ProviderCheckView> {
  const { name, kind, apiKeyEnv } = provider
  const shared = { name, kind, baseURL: withoutPassword(provider.baseURL) }
  if (apiKeyEnv === null) return { ...shared, key: null, ...(await ask(provider, null)) }
  try {
    const found = await locate(apiKeyEnv)
    const key = { name: apiKeyEnv, from: found?.from ?? 'missing' } as const
    if (found === null) return { ...shared, key, ok: false, detail: `${apiKeyEnv} is not set`, models: null, optional: true }
    return { ...shared, key, ...(await ask(provider, found.value)) }
  } catch (error) {
    return { ...shared, key: { name: apiKeyEnv, from: 'missing' }, ok: false, detail: (error as Error).message, models: null }
  }
}

type Outcome = Pick<ProviderCheckView, 'ok' | 'detail' | 'models' | 'optional'>

async function ask(provider: Provider, key: string | null): Promise<Outcome> {
  const { listModels } = await import('../drivers/native/list-models.ts')
  const { ok, detail, models, absent = false } = await listModels(provider, key)
  // A local server that does not run is not missed by whoever does not use it.
  return { ok, detail: detail.replace(provider.baseURL, withoutPassword(provider.baseURL)), models, ...(absent && key === null ? { optional: true } : {}) }
}

function withoutPassword(baseURL: string): string {
  const url = URL.parse(baseURL)
  if (url === null || (url.username === '' && url.password === '')) return baseURL
  url.username = ''
  url.password = ''
  return url.href
}
