// Finds the keys that the user may have meant by an unknown key of config.yaml. It may be a misspelt key, a part of another key, or a word
// that other programs use. Pure. Test: test/tables/config/keys/suggest.test.ts.
import { lookUp } from '../../kernel/util/lookup.ts'
import { closestWord } from '../../kernel/util/did-you-mean.ts'

/** The keys by words that are not keys. Each key must exist. */
export const KEYS_BY_WORD: Readonly<Record<string, readonly string[]>> = {
  agent: ['defaultAgent'],
  budget: ['limits.budgetUsd', 'budgets.dailyUsd'],
  cgroup: ['containment'],
  concurrency: ['maxProcesses', 'gateway.rateLimits'],
  cost: ['limits.budgetUsd', 'budgets.dailyUsd'],
  daily: ['budgets.dailyUsd'],
  desktopnotifications: ['notifications.desktop'],
  fallbackmodel: ['fallback'],
  fallbacks: ['fallback'],
  maxagents: ['maxProcesses'],
  maxbudgetusd: ['limits.budgetUsd'],
  maxcost: ['limits.budgetUsd'],
  maxcostusd: ['limits.budgetUsd'],
  maxmemory: ['limits.memory'],
  maxtime: ['limits.timeout'],
  maxtokens: ['limits.budgetTokens', 'limits.maxOutputTokens'],
  mcpservers: ['mcp'],
  model: ['defaultModel'],
  monthly: ['budgets.monthlyUsd'],
  notify: ['notifications.desktop', 'notifications.webhook'],
  price: ['prices'],
  pricing: ['prices'],
  provider: ['providers'],
  ratelimit: ['gateway.rateLimits'],
  reasoning: ['effort'],
  reasoningeffort: ['effort'],
  retention: ['gc.retention_days'],
  sandbox: ['containment'],
  thinking: ['effort'],
  tokens: ['limits.budgetTokens'],
  trust: ['trusted'],
}

/** What replaces a key that config.yaml does not have. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  allow: 'permissions are set for an agent: `permissions:` in its file, or `reeve run --allow`',
  apikey: 'keys are in the environment or in credentials.yaml: see `reeve help keys`',
  apikeys: 'keys are in the environment or in credentials.yaml: see `reeve help keys`',
  labels: 'labels are set for an agent: `labels:` in its file, or `reeve run --label`',
  permission: 'permissions are set for an agent: `permissions:` in its file, or `reeve run --permissions`',
  permissions: 'permissions are set for an agent: `permissions:` in its file, or `reeve run --permissions`',
  port: '`reeve web` chooses its port automatically',
  tools: 'tools are set for an agent: `tools:` in its file (`reeve help agent-files`)',
}

/**
 * Returns what to do about an unknown key; undefined if nothing is similar. `keys`: those that stand where the user typed the key. `parts`:
 * the parts of all keys, with dots.
 */
export function suggestKey(typed: string, keys: readonly string[], parts: readonly string[]): string | undefined {
  const word = normalize(nameOf(typed))
  const elsewhere = lookUp(ELSEWHERE, word)
  if (elsewhere !== undefined) return elsewhere
  const all = [...new Set([...keys, ...parts])]
  const meant = all.filter((key) => normalize(nameOf(key)) === word)
  if (meant.length > 0) return didYouMean(meant)
  const known = lookUp(KEYS_BY_WORD, word)
  if (known !== undefined) return didYouMean(known)
  const near = closestWord(typed, [...keys, ...Object.keys(KEYS_BY_WORD), ...parts.map(nameOf)])
  if (near === undefined) return undefined
  if (keys.includes(near)) return didYouMean([near])
  return didYouMean(lookUp(KEYS_BY_WORD, near) ?? parts.filter((part) => nameOf(part) === near))
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1)
}

function didYouMean(keys: readonly string[]): string {
  return `did you mean ${keys.map((key) => `\`${key}\``).join(' or ')}?`
}

/** Ignores case, dashes and underscores: users write `budget_usd` and `budget-usd`. */
function normalize(word: string): string {
  return word.replaceAll(/[-_]/g, '').toLowerCase()
}
