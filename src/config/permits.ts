// What a process may do, as people write it: the keys of agent files, and the words of `--allow` and `--deny` (tool names,
// `read:PATH`, `write:PATH`, `network`, `spawn`, `spawn:AGENT`, `signal`). Owns the grammar; what the rules mean stands in the
// kernel. Paths stay as they are written here: src/daemon/places.ts finds where they are. Test: test/tables/config-permits.test.ts.
import * as z from 'zod'
import { isAllowed } from '../kernel/tool-names.ts'
import type { Capabilities, Places } from '../kernel/permits.ts'
import type { DriverName, ProcessSpec } from '../kernel/types.ts'

const MAX_PATHS = 100
const MAX_AGENTS = 200
const path = z.string().min(1).max(4_096).regex(/^[^\0]*$/, 'must not contain NUL')
const paths = z.union([path.transform((one) => [one]), z.array(path).max(MAX_PATHS)], 'expected a path, or a list of paths')
const agents = z.union([z.literal('none').transform((): string[] => []), z.array(z.string().min(1).max(200)).max(MAX_AGENTS)], 'expected a list of names of agents, or none')

/** The keys of an agent file. */
export const permitKeys = {
  paths: z.strictObject({ read: paths.optional(), write: paths.optional() }).optional(),
  network: z.union([z.enum(['on', 'off']), z.boolean().transform((on) => (on ? 'on' as const : 'off' as const))], 'expected on or off').optional(),
  signals: z.enum(['none', 'children', 'subtree']).optional(),
  spawns: agents.optional(),
}

type Said = { readonly [K in keyof typeof permitKeys]?: z.output<(typeof permitKeys)[K]> }
type Lists = Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'>

export function capabilitiesOf({ paths: places, network, signals, spawns }: Said): { readonly capabilities?: Capabilities } {
  return some(given({ paths: places && placesOf(places.read, places.write), network: network === 'off' ? 'off' : undefined, signals: signals === 'subtree' ? undefined : signals, spawns }))
}

interface Words {
  readonly tools: readonly string[]
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly spawns: readonly string[]
  readonly network: boolean
  readonly spawn: boolean
  readonly signal: boolean
}

/** Words that are about the process alone, and not about what its driver could be held to. */
const FOR_ALL = /^(network|signal|spawn(:.*)?)$/

/** What is not for a program that knows neither tools nor places. */
export function unfitWords(words: readonly string[]): readonly string[] {
  return words.filter((word) => !FOR_ALL.test(word))
}

/** The names of tools among the words. */
export function toolWords(words: readonly string[]): readonly string[] {
  return unfitWords(words).filter((word) => !/^(read|write):/.test(word))
}

/** What is wrong with the words, for people; null: nothing. */
export function wrongWord({ allow = [], deny = [] }: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }): string | null {
  const empty = [...allow, ...deny].find((word) => /^(read|write|spawn):$/.test(word))
  if (empty !== undefined) return `\`${empty}\` names nothing`
  const denied = deny.find((word) => /^(read|write|spawn):/.test(word))
  if (denied === undefined) return null
  return denied.startsWith('spawn:') ? `\`${denied}\` cannot be denied alone: deny \`spawn\`, or allow the agents that it may start` : `\`${denied}\` cannot be denied alone: allow the places where it may ${denied.startsWith('read') ? 'read' : 'write'}`
}

/** For a spawn: what is allowed takes the place of what the agent says, what is denied is added to it. */
export function permittedBy(agent: Lists, { allow, deny = [] }: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }): Lists {
  const [may, not] = [split(allow ?? []), split(deny)]
  const own = agent.capabilities ?? {}
  const capabilities = given({
    paths: placesOf(may.read.length > 0 ? may.read : own.paths?.read, may.write.length > 0 ? may.write : own.paths?.write),
    network: not.network ? 'off' : may.network ? undefined : own.network,
    signals: not.signal ? 'none' : may.signal ? undefined : own.signals,
    spawns: not.spawn ? [] : may.spawns.length > 0 ? may.spawns : may.spawn ? undefined : own.spawns,
  })
  const isListed = may.tools.length > 0 || allow?.length === 0
  return { tools: isListed ? may.tools : agent.tools, deny: [...agent.deny, ...not.tools], ...some(capabilities) }
}

/** For a resume: what is allowed is added to what it may, and limits nothing; what is denied is added to that. */
export function changedBy(before: Lists & Pick<ProcessSpec, 'driver'>, { allow = [], deny = [] }: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }): Lists {
  const [may, not] = [split(allow), split(deny)]
  const own = before.capabilities ?? {}
  const added = (list: readonly string[] | undefined, more: readonly string[]): readonly string[] | undefined => list && [...new Set([...list, ...more])]
  const capabilities = given({
    paths: placesOf(added(own.paths?.read, may.read), added(own.paths?.write, may.write)),
    network: not.network ? 'off' : may.network ? undefined : own.network,
    signals: not.signal ? 'none' : may.signal ? undefined : own.signals,
    spawns: not.spawn ? [] : may.spawn ? undefined : added(own.spawns, may.spawns),
  })
  const kept = before.deny.filter((entry) => !may.tools.some((tool) => isAllowed(tool, { tools: [entry], deny: [] })))
  // Where places are limited, only who is named has more than files.
  const listed = before.tools ?? (own.paths && may.tools.length > 0 ? ALL[before.driver] : null)
  return { tools: listed && [...new Set([...listed, ...may.tools])], deny: [...kept, ...not.tools], ...some(capabilities) }
}

/** What there is without a list, by names. */
const ALL: Readonly<Record<DriverName, readonly string[]>> = {
  native: ['read', 'write', 'edit', 'ls', 'glob', 'grep', 'bash', 'mcp__*'],
  acp: ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other', 'mcp__*'],
  command: [],
  supervisor: [],
  crew: [],
  compose: [],
}

function split(words: readonly string[]): Words {
  const after = (prefix: string): readonly string[] => words.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length))
  return {
    tools: toolWords(words), read: after('read:'), write: after('write:'), spawns: after('spawn:'),
    network: words.includes('network'), spawn: words.includes('spawn'), signal: words.includes('signal'),
  }
}

function placesOf(read: readonly string[] | undefined, write: readonly string[] | undefined): Places | undefined {
  return read || write ? { ...(read && { read }), ...(write && { write }) } : undefined
}

function given(loose: { readonly [K in keyof Capabilities]: Capabilities[K] | undefined }): Capabilities {
  return Object.fromEntries(Object.entries(loose).filter(([, value]) => value !== undefined))
}

function some(capabilities: Capabilities): { readonly capabilities?: Capabilities } {
  return Object.keys(capabilities).length === 0 ? {} : { capabilities }
}
