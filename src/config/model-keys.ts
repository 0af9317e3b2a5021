// Which provider a model's reference names, and which key that needs. Owns the reading of a reference, not whether a key is
// there. Test: test/e2e/agents-usable.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { Provider } from './config.ts'

/** A script or a replay: no provider, no key, no cost. */
export function isPlayed(model: string): boolean {
  return /^(script|replay):/.test(model)
}

/** Undefined for a provider that nobody configured; null for a model that is played, which needs none. */
export function providerOf(model: string, providers: readonly Provider[]): Provider | null | undefined {
  if (isPlayed(model)) return null
  const slash = model.indexOf('/')
  const name = model.slice(0, Math.max(0, slash))
  return providers.find((one) => one.name === name)
}

/** The names of all keys that the configuration speaks of: whatever they are called, they are secrets. */
export function keyNames(providers: readonly Provider[]): ReadonlySet<string> {
  return new Set(providers.flatMap((one) => one.apiKeyEnv ?? []))
}

/** The names of the keys that a model needs. Errors: INVALID for a provider that nobody configured. */
export function keysOf(model: string, providers: readonly Provider[]): readonly string[] {
  const provider = providerOf(model, providers)
  if (provider === undefined) {
    const known = providers.map((one) => one.name).join(', ')
    throw new KernelError('INVALID', `model "${model}" has no known provider; there are ${known}, script:FILE and replay:UUID`)
  }
  return provider === null || provider.apiKeyEnv === null ? [] : [provider.apiKeyEnv]
}
