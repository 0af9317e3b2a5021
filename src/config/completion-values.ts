// Returns the values from the configuration that a shell can complete: models, agents, tools and keys, each with a description.
// An invalid agent file is ignored. Test: test/tables/cli/completion/complete-line.test.ts.
import { findAgents } from './agents/find-agents.ts'
import { loadConfig } from './config.ts'
import { explainConfig, inlineYaml } from './explain.ts'
import { BUDGET_KEYS } from './keys/budgets.ts'
import { KNOWN_MODELS } from './known-models.ts'
import { FILE_LIMIT_KEYS } from './limit-rules.ts'
import type { Env, Paths } from './paths.ts'
import { NATIVE_TOOLS } from '../kernel/model/words.ts'

/** A value that a shell can complete, with its description. */
export type CompletionValue = readonly [value: string, about: string]

interface CompletionContext {
  readonly paths: Paths
  readonly cwd: string
  readonly env: Env
}

/** Returns the models that the configuration and the agents name, then known models and the prefixes of the providers. */
export async function modelChoices(context: CompletionContext): Promise<CompletionValue[]> {
  const { defaultModel, fallback, providers } = await loadConfig(context)
  const { agents } = await findAgents(context.cwd, context.paths)
  const named: CompletionValue[] = [
    ...(defaultModel === null ? [] : [[defaultModel, 'default'] as const]),
    ...fallback.map((model): CompletionValue => [model, 'fallback']),
    ...agents.flatMap(({ model, name }): CompletionValue[] => (model === null ? [] : [[model, `agent ${name}`]])),
    ...providers.flatMap(({ name, models }): CompletionValue[] =>
      Object.keys(models ?? {}).map((model) => [`${name}/${model}`, 'provider']),
    ),
    ...providers.flatMap(({ name }): CompletionValue[] => (KNOWN_MODELS[name] ?? []).map((model) => [`${name}/${model}`, 'known model'])),
  ]
  const known = new Map(named.toReversed())
  return [
    ...[...known].toReversed(),
    ...providers.map(({ name, kind }): CompletionValue => [`${name}/`, `${kind} provider`]),
    ['script:', 'answers from a file'],
    ['replay:', 'answers of an earlier process'],
  ]
}

export async function agentChoices({ paths, cwd }: CompletionContext): Promise<CompletionValue[]> {
  return (await findAgents(cwd, paths)).agents.map(({ name, description }) => [name, description])
}

export function toolChoices(): CompletionValue[] {
  return NATIVE_TOOLS.map((tool) => [tool, 'tool'])
}

export async function keyChoices(context: CompletionContext): Promise<CompletionValue[]> {
  return (await explainConfig(context)).flatMap(({ key, value }): CompletionValue[] => {
    if (key === 'gc' || key === 'gateway' || key === 'liveness' || key === 'web')
      return [[key, inlineYaml(value)], ...partsOf(key, value as object)]
    if (key === 'limits')
      return [
        [key, inlineYaml(value)],
        ...FILE_LIMIT_KEYS.map((name): CompletionValue => [`limits.${name}`, 'for processes that you start']),
      ]
    if (key === 'budgets')
      return [[key, inlineYaml(value)], ...BUDGET_KEYS.map((name): CompletionValue => [`budgets.${name}`, 'for all processes together'])]
    return [[key, inlineYaml(value)]]
  })
}

function partsOf(key: string, value: object): CompletionValue[] {
  return Object.entries(value).map(([name, part]) => [`${key}.${name}`, inlineYaml(part)])
}
