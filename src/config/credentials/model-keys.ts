// Finds the provider of a model, and the name of the key that the model needs. Does not check whether the key exists.
// Test: test/e2e/external/agents-usable.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Provider } from '../config.ts'

/** Whether a model is a script or a replay. These have no provider, no key and no cost. */
export function isScripted(model: string): boolean {
  return /^(script|replay):/.test(model)
}

/** Finds the provider of a model; undefined if it is not configured, null for a script or replay. */
export function findProvider(model: string, providers: readonly Provider[]): Provider | null | undefined {
  if (isScripted(model)) return null
  const slash = model.indexOf('/')
  const name = model.slice(0, Math.max(0, slash))
  return providers.find((provider) => provider.name === name)
}

/**
 * Returns the names of all variables that the configuration declares as keys. They are secrets, even if their names do not look like it.
 */
export function keyVariableNames(providers: readonly Provider[]): ReadonlySet<string> {
  return new Set(providers.flatMap((provider) => provider.apiKeyEnv ?? []))
}

/** Returns the names of the keys that a model needs. Errors: INVALID for an unknown provider. */
export function requiredKeyNames(model: string, providers: readonly Provider[]): readonly string[] {
  const provider = findProvider(model, providers)
  if (provider === undefined) {
    const known = providers.map((each) => each.name).join(', ')
    throw new KernelError('INVALID', `model "${model}" has no known provider; there are ${known}, script:FILE and replay:UUID`)
  }
  return provider === null || provider.apiKeyEnv === null ? [] : [provider.apiKeyEnv]
}
