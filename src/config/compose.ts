// The agents of a reeve.yaml that depend on each other: `agents:`, which `reeve compose up` runs. Owns the shape, and that the graph is
// one: every name is there, nothing needs itself, and only what has run before is referred to. Starts nothing. A project's file may
// name programs here, as they are started only when a person says so. Test: test/tables/config-compose.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { NODE_FIELDS, isMalformed, isReference, referencesIn } from '../crew/compose-template.ts'
import { above, cycleIn } from '../crew/graph.ts'
import { KernelError } from '../kernel/errors.ts'
import { FILE_LIMIT_KEYS, fileLimitsRule } from './limit-rules.ts'
import { nearest } from './nearest.ts'
import { childIdRule, defined } from './restart.ts'
import type { Limits } from '../kernel/types.ts'

/** nodes of one file */
const MAX_NODES = 200
const MAX_RETRIES = 100

export const COMPOSE_HINT = 'Write them below `agents:` in reeve.yaml (docs/compose.md), or name another file: `reeve compose up -f FILE`.'

const text = z.string().min(1).max(10_000)
const words = z.array(z.string().min(1).max(1_000)).max(1_000)
const needs = z.union(
  [z.array(childIdRule).max(MAX_NODES), z.record(childIdRule, z.literal('completed', 'there is only `completed`'))],
  'expected { NODE: completed }, or a list of nodes',
)

const node = z.strictObject({
  agent: text.optional(),
  command: z.array(z.string().regex(/^[^\0]*$/, 'must not contain NUL').max(100_000)).min(1).max(1_000).optional(),
  intent: z.string().min(1).max(100_000).optional(),
  model: text.optional(),
  depends_on: needs.optional(),
  limits: fileLimitsRule.optional(),
  retries: z.int().min(0).max(MAX_RETRIES).default(0),
  cwd: text.optional(),
  worktree: z.boolean().optional(),
  permissions: z.enum(['ask', 'allow', 'deny']).optional(),
  allow: words.optional(),
  deny: words.optional(),
  mcp: words.optional(),
}).superRefine(({ agent, command, intent }, context) => {
  if (command && (agent ?? intent) !== undefined) context.addIssue(`it is a command and an agent at once: \`command\` goes with neither \`agent\` nor \`intent\``)
  if (!command && intent === undefined) context.addIssue('what is it to do? It needs an `intent`, or a `command`')
})

type Node = z.infer<typeof node>
type Nodes = Readonly<Record<string, Node>>
type Context = z.core.$RefinementCtx

export const agentsRule = z.record(childIdRule, node).superRefine((nodes, context) => {
  const names = Object.keys(nodes)
  if (names.length === 0 || names.length > MAX_NODES) context.addIssue(`expected 1 to ${MAX_NODES} agents`)
  for (const [name, one] of Object.entries(nodes)) checkNames(name, one, names, context)
  const graph = graphOf(nodes)
  const cycle = cycleIn(graph)
  if (cycle) context.addIssue({ code: 'custom', path: [cycle[0] ?? '', 'depends_on'], message: `a cycle: ${cycle.join(' needs ')}` })
  else for (const [name, one] of Object.entries(nodes)) checkReferences(name, one, above(graph, [name]), context)
})

export type Agents = z.infer<typeof agentsRule>

function checkNames(name: string, { depends_on: said }: Node, names: readonly string[], context: Context): void {
  for (const [at, need] of needsOf(said).entries()) {
    if (!names.includes(need)) context.addIssue({ code: 'custom', path: [name, 'depends_on', Array.isArray(said) ? at : need], message: unknown(need, names) })
  }
}

function unknown(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return `there is no node \`${name}\`${near ? `; did you mean \`${near}\`?` : `; there are ${names.join(', ')}`}`
}

function checkReferences(name: string, { intent, command = [] }: Node, known: ReadonlySet<string>, context: Context): void {
  const texts = [...(intent === undefined ? [] : [{ path: [name, 'intent'], text: intent }]), ...command.map((argument, at) => ({ path: [name, 'command', at], text: argument }))]
  for (const { path, text: said } of texts) {
    const message = wrongReference(said, known, path[1] === 'command')
    if (message !== null) context.addIssue({ code: 'custom', path, message })
  }
}

function wrongReference(said: string, known: ReadonlySet<string>, isArgument: boolean): string | null {
  if (isMalformed(said)) return 'a result is written as {{ nodes.NAME.result }}'
  for (const { node: name, field } of referencesIn(said)) {
    if (!NODE_FIELDS.some((one) => one === field)) return `a node has no \`${field}\`; it has ${NODE_FIELDS.join(', ')}`
    if (!known.has(name)) return `\`${name}\` is not among what it depends on: add it to \`depends_on\``
  }
  // In the middle of a text that a shell reads, what an agent said would be a part of the program.
  return isArgument && referencesIn(said).length > 0 && !isReference(said) ? 'a result is an argument of its own: a shell would run what stands in it. [sh, -c, \'echo "$1"\', sh, "{{ nodes.NAME.result }}"] hands it over' : null
}

function needsOf(said: Node['depends_on']): readonly string[] {
  return Array.isArray(said) ? [...new Set(said)] : Object.keys(said ?? {})
}

function graphOf(nodes: Nodes): { id: string; needs: readonly string[] }[] {
  return Object.entries(nodes).map(([id, one]) => ({ id, needs: needsOf(one.depends_on) }))
}

/** For suggestions: the keys that may stand below `agents`. */
export function agentKeys([, name, part]: readonly PropertyKey[]): readonly string[] {
  return name === undefined ? [] : part === 'limits' ? FILE_LIMIT_KEYS : Object.keys(node.shape)
}

/** A node as it is to be put together. */
export interface NodeFile {
  readonly name: string
  readonly needs: readonly string[]
  readonly retries: number
  readonly worktree: boolean
  readonly cwd: string
  readonly argv?: string[]
  readonly agent?: string
  readonly intent?: string
  readonly model?: string
  readonly permissions?: 'ask' | 'allow' | 'deny'
  readonly allow?: string[]
  readonly deny?: string[]
  readonly mcp?: string[]
  readonly limits?: Limits
}

export interface ComposeFile {
  readonly file: string
  readonly nodes: readonly NodeFile[]
}

/** All of them, or those that are named with what they need. Errors: AGENT_INVALID where there are none, INVALID for a name that is none. */
export function composeFile(agents: Agents | undefined, file: string, chosen: readonly string[] = []): ComposeFile {
  if (!agents) throw new KernelError('AGENT_INVALID', `${file} has no \`agents\``, undefined, COMPOSE_HINT)
  const names = Object.keys(agents)
  const stranger = chosen.find((name) => !names.includes(name))
  if (stranger !== undefined) throw new KernelError('INVALID', unknown(stranger, names))
  const wanted = chosen.length === 0 ? new Set(names) : new Set([...chosen, ...above(graphOf(agents), chosen)])
  const nodes = Object.entries(agents).filter(([name]) => wanted.has(name)).map(([name, one]): NodeFile => {
    const { depends_on: said, command, worktree = false, cwd, retries, limits, ...rest } = one
    return { ...defined(rest), name, needs: needsOf(said), retries, worktree, cwd: resolve(dirname(file), cwd ?? '.'), ...defined({ argv: command, limits }) }
  })
  return { file, nodes }
}
