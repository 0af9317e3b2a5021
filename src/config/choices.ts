// What the configuration lets one choose here: models, agents, tools, keys, each with a word about it. For completion, so a
// file that cannot be used is no error: what it says is just not among them. Test: test/tables/completion.test.ts.
import { TOOLS } from './agent-file.ts'
import { findAgents } from './agents.ts'
import { loadConfig } from './config.ts'
import { explain, flow } from './edit.ts'
import type { Env, Paths } from './paths.ts'

export type Choice = readonly [value: string, about: string]

interface Place {
  readonly paths: Paths
  readonly cwd: string
  readonly env: Env
}

/** Models that somebody has named, then the providers, after which a name is to follow. */
export async function modelChoices(place: Place): Promise<Choice[]> {
  const { defaultModel, fallback, providers } = await loadConfig(place)
  const { agents } = await findAgents(place.cwd, place.paths)
  const named: Choice[] = [
    ...(defaultModel === null ? [] : [[defaultModel, 'default'] as const]),
    ...fallback.map((model): Choice => [model, 'fallback']),
    ...agents.flatMap(({ model, name }): Choice[] => (model === null ? [] : [[model, `agent ${name}`]])),
    ...providers.flatMap(({ name, models }): Choice[] => Object.keys(models ?? {}).map((model) => [`${name}/${model}`, 'provider'])),
  ]
  const known = new Map(named.toReversed())
  return [...[...known].toReversed(), ...providers.map(({ name, kind }): Choice => [`${name}/`, `${kind} provider`]), ['script:', 'played from a file'], ['replay:', 'what a process was answered']]
}

export async function agentChoices({ paths, cwd }: Place): Promise<Choice[]> {
  return (await findAgents(cwd, paths)).agents.map(({ name, description }) => [name, description])
}

export function toolChoices(): Choice[] {
  return TOOLS.map((tool) => [tool, 'tool'])
}

export async function keyChoices(place: Place): Promise<Choice[]> {
  return (await explain(place)).flatMap(({ key, value }): Choice[] => (key === 'gc' || key === 'gateway' || key === 'liveness' ? [[key, flow(value)], ...partsOf(key, value as object)] : [[key, flow(value)]]))
}

function partsOf(key: string, value: object): Choice[] {
  return Object.entries(value).map(([name, part]) => [`${key}.${name}`, flow(part)])
}
