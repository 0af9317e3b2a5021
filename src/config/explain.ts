// Returns the configuration in force for `reeve config`, each key with the source of its value. Formats values as YAML. Must never return a
// secret. MCP servers show only their programs or origins, and a webhook its origin. Addresses of providers and databases have no password.
// Test: test/tables/config/edit.test.ts.
import { stringify } from 'yaml'
import { KernelError } from '../kernel/model/errors.ts'
import { DEFAULTS, hintOfUserKey, readLayers, USER_FORMAT, type ConfigSources, type UserFile } from './config.ts'
import { BUDGET_KEYS } from './keys/budgets.ts'
import { GATEWAY_DEFAULTS, GATEWAY_KEYS } from './keys/gateway.ts'
import { GC_DEFAULTS, GC_KEYS } from './keys/gc.ts'
import { LIVENESS_DEFAULTS, LIVENESS_KEYS } from './keys/liveness.ts'
import { NOTIFICATION_KEYS, redactedNotifications } from './keys/notifications.ts'
import { STORE_KEYS, redactedStore } from './keys/store.ts'
import { WEB_DEFAULTS, WEB_KEYS } from './keys/web.ts'
import { FILE_LIMIT_KEYS } from './limit-rules.ts'
import { lookUp } from '../kernel/util/lookup.ts'
import { withoutPassword } from './credentials/without-password.ts'

/** A key with the value in force. */
export interface ConfigEntry {
  readonly key: string
  readonly value: unknown
  readonly source: 'default' | 'user' | 'project' | 'environment'
  /** the file or variable that sets the value; `default` if none does; `not set` for a part without a value */
  readonly where: string
}

/** The keys of the user's file, in the order in which they are shown. */
export const CONFIG_KEYS = USER_FORMAT.knownKeys([])
/** The keys whose parts can be set one by one, with these parts. */
export const KEY_PARTS: Readonly<Partial<Record<keyof UserFile, readonly string[]>>> = {
  gc: GC_KEYS,
  liveness: LIVENESS_KEYS,
  notifications: NOTIFICATION_KEYS,
  gateway: GATEWAY_KEYS,
  limits: FILE_LIMIT_KEYS,
  budgets: BUDGET_KEYS,
  web: WEB_KEYS,
  store: STORE_KEYS,
}

/** Returns every key with the value in force, in a fixed order. Errors: AGENT_INVALID with `file:line` for an invalid file. */
export async function explainConfig(sources: ConfigSources): Promise<readonly ConfigEntry[]> {
  const layers = await readLayers(sources)
  return CONFIG_KEYS.map((key) => {
    const layer = layers.findLast(({ values }) => key in values)
    const value = layer ? layer.values[key as keyof UserFile] : key in DEFAULTS ? DEFAULTS[key as keyof typeof DEFAULTS] : {}
    const entry: ConfigEntry = { key, value, source: layer?.source ?? 'default', where: layer?.where(key) ?? 'default' }
    if (key === 'providers') return withoutPasswords(withBuiltIn(entry))
    if (key === 'notifications') return { ...entry, value: redactedNotifications((value ?? {}) as NonNullable<UserFile['notifications']>) }
    if (key === 'liveness') return { ...entry, value: { ...LIVENESS_DEFAULTS, ...(value as UserFile['liveness']) } }
    if (key === 'gc') return { ...entry, value: { ...GC_DEFAULTS, ...(value as UserFile['gc']) } }
    if (key === 'gateway') return { ...entry, value: { ...GATEWAY_DEFAULTS, ...(value as UserFile['gateway']) } }
    if (key === 'store') return { ...entry, value: redactedStore(layer?.values.store ?? {}) }
    if (key === 'web') return { ...entry, value: { ...WEB_DEFAULTS, ...(value as UserFile['web']) } }
    return key === 'mcp' ? { ...entry, value: programsByName(value as UserFile['mcp']) } : entry
  })
}

/**
 * Returns a key, or a part of one such as `limits.budgetUsd`, with the value in force; null: not set. Errors: INVALID for an unknown key;
 * AGENT_INVALID for an invalid file.
 */
export async function findConfigEntry(sources: ConfigSources, key: string): Promise<ConfigEntry> {
  const entries = await explainConfig(sources)
  const found = entries.find((entry) => entry.key === key)
  if (found) return found
  const [first = '', ...rest] = key.split('.')
  const name = rest.join('.')
  const whole = entries.find((entry) => entry.key === first)
  const parts = lookUp(KEY_PARTS, first)
  if (!whole || (!parts?.includes(name) && first !== 'mcp'))
    throw unknownKeyError(
      key,
      parts?.map((part) => `${first}.${part}`),
    )
  const value = lookUp(whole.value as Record<string, unknown>, name)
  return value === undefined ? { key, value: null, source: 'default', where: 'not set' } : { ...whole, key, value }
}

function withBuiltIn(entry: ConfigEntry): ConfigEntry {
  if (entry.source === 'default') return entry
  const configured = entry.value as typeof DEFAULTS.providers
  const builtIn = DEFAULTS.providers.filter((provider) => !configured.some(({ name }) => name === provider.name))
  return { ...entry, value: [...configured, ...builtIn], where: `${entry.where}: the first ${configured.length}; the others are built in` }
}

/** Removes the user name and the password from the address of each provider. */
function withoutPasswords(entry: ConfigEntry): ConfigEntry {
  const providers = entry.value as typeof DEFAULTS.providers
  return { ...entry, value: providers.map((provider) => ({ ...provider, baseURL: withoutPassword(provider.baseURL) })) }
}

/** Returns the program or origin of each MCP server. Environment, headers and arguments are omitted: they may contain secrets. */
export function programsByName(servers: UserFile['mcp']): Record<string, string> {
  return Object.fromEntries(Object.entries(servers ?? {}).map(([name, { command, url }]) => [name, command ?? originOf(url)]))
}

function originOf(url: string | undefined): string {
  return url && URL.canParse(url) ? new URL(url).origin : 'http'
}

/** Formats a value as YAML, with each item of a list on its own line. */
export function formatYaml(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map((item) => `- ${inlineYaml(item)}`).join('\n')
  return inlineYaml(value)
}

/** Formats `key: value` as in the file. */
export function formatEntry(key: string, value: unknown): string {
  const text = formatYaml(value)
  return text.includes('\n') || text.startsWith('- ') ? `${key}:\n${text.replaceAll(/^/gm, '  ')}` : `${key}: ${text}`
}

/** Formats a value as YAML on one line. */
export function inlineYaml(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', flowCollectionPadding: true, lineWidth: 0 }).trimEnd()
}

/** Returns the error about an unknown key, with a suggestion or all `keys`. */
export function unknownKeyError(key: string, keys: readonly string[] = CONFIG_KEYS): KernelError {
  return new KernelError('INVALID', `there is no key \`${key}\`; ${hintOfUserKey(key, keys) ?? `there are ${keys.join(', ')}`}`)
}
