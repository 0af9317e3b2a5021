// Checks which model providers can be used: finds the source of each key, and requests the list of models from each provider.
// Lists these models with their prices. Runs only at the user's request, because it uses the network. Must never show a key.
// Test: test/e2e/models/doctor-models.test.ts.
import { withoutPassword } from '../../config/credentials/without-password.ts'
import { loadConfig, type Config, type Provider } from '../../config/config.ts'
import { splitEnv } from '../../config/credentials/secret-variables.ts'
import { keyVariableNames } from '../../config/credentials/model-keys.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import type { ModelView, ProviderCheckView, ProviderModelsView } from '../../api/views/daemon.ts'
import type { ListedModel } from '../../drivers/native/models/list-models.ts'
import type { Paths } from '../../config/paths.ts'
import type { Credentials } from '../incarnation/credentials.ts'

type ClientEnv = Readonly<Record<string, string>>

export interface ModelsCheckDeps {
  readonly paths: Paths
  readonly credentials: Credentials
}

/** Checks all providers in parallel. `env` is the client's environment. Errors: those of an invalid configuration. */
export async function checkModels(env: ClientEnv, deps: ModelsCheckDeps): Promise<ProviderCheckView[]> {
  const config = await loadConfig({ paths: deps.paths, cwd: null, env: {} })
  const checks = await checkProviders(config.providers, { env, config, deps })
  return checks.map(({ models, ...check }) => ({ ...check, models: models?.length ?? null }))
}

/**
 * Lists the models of all providers, or of the one with this name, with their windows and prices. Errors: INVALID for an unknown
 * provider, and those of an invalid configuration.
 */
export async function listProviderModels(
  { env = {}, provider }: { readonly env?: ClientEnv | undefined; readonly provider?: string | undefined },
  deps: ModelsCheckDeps,
): Promise<ProviderModelsView[]> {
  const config = await loadConfig({ paths: deps.paths, cwd: null, env: {} })
  const chosen = config.providers.filter(({ name }) => provider === undefined || name === provider)
  if (chosen.length === 0)
    throw new KernelError('INVALID', `there is no provider ${provider}; there are ${config.providers.map(({ name }) => name).join(', ')}`)
  const checks = await checkProviders(chosen, { env, config, deps })
  return Promise.all(
    checks.map(async ({ models, ...check }, index) => ({
      ...check,
      models: models && (await Promise.all(models.map((model) => modelView(model, chosen[index] ?? check, config)))),
    })),
  )
}

async function modelView(
  { name, window }: ListedModel,
  { name: provider, baseURL, models = {} }: Pick<Provider, 'name' | 'baseURL' | 'models'>,
  { prices: userPrices }: Pick<Config, 'prices'>,
): Promise<ModelView> {
  const { ratesFor, windowTokens } = await import('../../drivers/native/models/prices.ts')
  const priced = { provider, model: name, baseURL, userPrices }
  const rates = await ratesFor(priced, 0)
  return {
    model: `${provider}/${name}`,
    window: models[name]?.contextWindow ?? window ?? (await windowTokens(priced)),
    usdPerMillion: rates && {
      input: perMillion(rates.perInputToken),
      output: perMillion(rates.perOutputToken),
      cacheRead: perMillion(rates.perCacheReadToken),
      cacheWrite: perMillion(rates.perCacheWriteToken),
    },
  }
}

/** Rounded to a ten-thousandth of a dollar, because products of prices have rounding errors. */
function perMillion(perToken: number): number {
  return Math.round(perToken * 1e10) / 1e4
}

/** A checked provider, with its models. */
type ProviderCheck = Omit<ProviderCheckView, 'models'> & { readonly models: readonly ListedModel[] | null }

async function checkProviders(
  chosen: readonly Provider[],
  {
    env,
    config,
    deps: { credentials },
  }: { readonly env: ClientEnv; readonly config: Pick<Config, 'providers'>; readonly deps: ModelsCheckDeps },
): Promise<ProviderCheck[]> {
  const { secrets, recorded } = splitEnv(env, keyVariableNames(config.providers))
  const lookups = new Map<string, ReturnType<Credentials['locate']>>()
  // A key of several providers is looked up once, because the user's key command may ask for a password.
  const locate = (name: string): ReturnType<Credentials['locate']> => {
    const lookup = lookups.get(name) ?? credentials.locate(name, secrets)
    lookups.set(name, lookup)
    return lookup
  }
  return Promise.all(chosen.map((provider) => checkProvider(withBaseUrl(provider, { ...recorded, ...secrets }), locate)))
}

function withBaseUrl(provider: Provider, env: Readonly<Record<string, string>>): Provider {
  return { ...provider, baseURL: (provider.baseURLEnv && env[provider.baseURLEnv]) || provider.baseURL }
}

async function checkProvider(provider: Provider, locate: (name: string) => ReturnType<Credentials['locate']>): Promise<ProviderCheck> {
  const { name, kind, apiKeyEnv } = provider
  const shared = { name, kind, baseURL: withoutPassword(provider.baseURL) }
  if (apiKeyEnv === null) return { ...shared, key: null, ...(await requestModels(provider, null)) }
  try {
    const found = await locate(apiKeyEnv)
    const key = { name: apiKeyEnv, from: found?.from ?? 'missing' } as const
    if (found === null) return { ...shared, key, ok: false, detail: `${apiKeyEnv} is not set`, models: null, optional: true }
    return { ...shared, key, ...(await requestModels(provider, found.value)) }
  } catch (error) {
    return { ...shared, key: { name: apiKeyEnv, from: 'missing' }, ok: false, detail: (error as Error).message, models: null }
  }
}

type Outcome = Pick<ProviderCheck, 'ok' | 'detail' | 'models' | 'optional'>

async function requestModels(provider: Provider, key: string | null): Promise<Outcome> {
  const { listModels } = await import('../../drivers/native/models/list-models.ts')
  const { ok, detail, models, absent = false } = await listModels(provider, key)
  // A provider without a key is a local server. It is no error that the server does not run.
  return {
    ok,
    detail: detail.replace(provider.baseURL, withoutPassword(provider.baseURL)),
    models,
    ...(absent && key === null ? { optional: true } : {}),
  }
}
