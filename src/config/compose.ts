// Parses `agents:` of a reeve.yaml: the agents that `reeve compose up` runs. Checks that every dependency exists, that there is no cycle,
// and that a node uses only results of its dependencies. Starts nothing. The file of a project may name programs here, because only an
// explicit command of the user starts them. Test: test/tables/config/compose.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { NODE_FIELDS, hasMalformedReference, isReference, findReferences } from '../kernel/compose/template.ts'
import { dependenciesOf, findCycle } from '../kernel/util/graph.ts'
import { KernelError } from '../kernel/model/errors.ts'
import { FILE_LIMIT_KEYS, fileLimitsRule } from './limit-rules.ts'
import { closestWord } from '../kernel/util/did-you-mean.ts'
import { childIdRule } from './restart-rules.ts'
import { type Limits, PERMISSION_POLICIES, type PermissionPolicy } from '../kernel/model/words.ts'
import { withoutUndefined } from '../kernel/util/without-undefined.ts'

/** maximum number of nodes in one file */
const MAX_NODES = 200
const MAX_RETRIES = 100

export const COMPOSE_HINT =
  'Write them below `agents:` in reeve.yaml (docs/reference/compose.md), or name another file: `reeve compose up -f FILE`.'

const text = z.string().min(1).max(10_000)
const words = z.array(z.string().min(1).max(1_000)).max(1_000)
const needs = z.union(
  [z.array(childIdRule).max(MAX_NODES), z.record(childIdRule, z.literal('completed', 'there is only `completed`'))],
  'expected { NODE: completed }, or a list of nodes',
)

const node = z
  .strictObject({
    agent: text.optional(),
    command: z
      .array(
        z
          .string()
          .regex(/^[^\0]*$/, 'must not contain NUL')
          .max(100_000),
      )
      .min(1)
      .max(1_000)
      .optional(),
    intent: z.string().min(1).max(100_000).optional(),
    model: text.optional(),
    depends_on: needs.optional(),
    limits: fileLimitsRule.optional(),
    retries: z.int().min(0).max(MAX_RETRIES).default(0),
    cwd: text.optional(),
    worktree: z.boolean().optional(),
    permissions: z.enum(PERMISSION_POLICIES).optional(),
    allow: words.optional(),
    deny: words.optional(),
    mcp: words.optional(),
  })
  .superRefine(({ agent, command, intent }, context) => {
    if (command && (agent ?? intent) !== undefined)
      context.addIssue(`it is a command and an agent at once: use \`command\` without \`agent\` and \`intent\``)
    if (!command && intent === undefined) context.addIssue('it needs an `intent` or a `command`')
  })

type Node = z.infer<typeof node>
type Nodes = Readonly<Record<string, Node>>
type Context = z.core.$RefinementCtx

export const composeAgentsRule = z.record(childIdRule, node).superRefine((nodes, context) => {
  const names = Object.keys(nodes)
  if (names.length === 0 || names.length > MAX_NODES) context.addIssue(`expected 1 to ${MAX_NODES} agents`)
  for (const [name, entry] of Object.entries(nodes)) checkNames(name, entry, names, context)
  const graph = graphOf(nodes)
  const cycle = findCycle(graph)
  if (cycle) context.addIssue({ code: 'custom', path: [cycle[0] ?? '', 'depends_on'], message: `a cycle: ${cycle.join(' needs ')}` })
  else for (const [name, entry] of Object.entries(nodes)) checkReferences(name, entry, dependenciesOf(graph, [name]), context)
})

export type ComposeAgents = z.infer<typeof composeAgentsRule>

function checkNames(name: string, { depends_on: dependsOn }: Node, names: readonly string[], context: Context): void {
  for (const [at, need] of needsOf(dependsOn).entries()) {
    if (!names.includes(need))
      context.addIssue({
        code: 'custom',
        path: [name, 'depends_on', Array.isArray(dependsOn) ? at : need],
        message: unknownNodeMessage(need, names),
      })
  }
}

function unknownNodeMessage(name: string, names: readonly string[]): string {
  const near = closestWord(name, names)
  return `there is no node \`${name}\`${near ? `; did you mean \`${near}\`?` : `; there are ${names.join(', ')}`}`
}

function checkReferences(name: string, { intent, command = [] }: Node, known: ReadonlySet<string>, context: Context): void {
  const texts = [
    ...(intent === undefined ? [] : [{ path: [name, 'intent'], text: intent }]),
    ...command.map((argument, at) => ({ path: [name, 'command', at], text: argument })),
  ]
  for (const { path, text: content } of texts) {
    const message = referenceProblem(content, known, path[1] === 'command')
    if (message !== null) context.addIssue({ code: 'custom', path, message })
  }
}

/** Returns the message about a wrong `{{ nodes.NAME.FIELD }}` in a text; null if there is none. `known`: the dependencies of the node. */
function referenceProblem(content: string, known: ReadonlySet<string>, isArgument: boolean): string | null {
  if (hasMalformedReference(content)) return 'a result is written as {{ nodes.NAME.result }}'
  for (const { node: name, field } of findReferences(content)) {
    if (!NODE_FIELDS.some((each) => each === field)) return `a node has no \`${field}\`; it has ${NODE_FIELDS.join(', ')}`
    if (!known.has(name)) return `it refers to \`${name}\`, but does not depend on it: add it to \`depends_on\``
  }
  // Inside a longer argument, the answer of an agent could become a part of a shell program.
  return isArgument && findReferences(content).length > 0 && !isReference(content)
    ? 'a result must be an argument of its own, or a shell could run its text. Use [sh, -c, \'echo "$1"\', sh, "{{ nodes.NAME.result }}"]'
    : null
}

function needsOf(dependsOn: Node['depends_on']): readonly string[] {
  return Array.isArray(dependsOn) ? [...new Set(dependsOn)] : Object.keys(dependsOn ?? {})
}

function graphOf(nodes: Nodes): { id: string; needs: readonly string[] }[] {
  return Object.entries(nodes).map(([id, entry]) => ({ id, needs: needsOf(entry.depends_on) }))
}

/** Returns the known keys below `agents`, for suggestions. */
export function composeKeys([, name, part]: readonly PropertyKey[]): readonly string[] {
  return name === undefined ? [] : part === 'limits' ? FILE_LIMIT_KEYS : Object.keys(node.shape)
}

/** A node of the file. Its paths are absolute. */
export interface FileNode {
  readonly name: string
  readonly needs: readonly string[]
  /** how often a failed node is started again */
  readonly retries: number
  /** whether the node works in its own git worktree */
  readonly worktree: boolean
  readonly cwd: string
  readonly argv?: string[]
  readonly agent?: string
  readonly intent?: string
  readonly model?: string
  readonly permissions?: PermissionPolicy
  readonly allow?: string[]
  readonly deny?: string[]
  readonly mcp?: string[]
  readonly limits?: Limits
}

export interface ComposeFile {
  readonly file: string
  readonly nodes: readonly FileNode[]
}

/** Returns all nodes, or the chosen ones with their dependencies. Errors: AGENT_INVALID without `agents`, INVALID for an unknown name. */
export function composeFile(agents: ComposeAgents | undefined, file: string, chosen: readonly string[] = []): ComposeFile {
  if (!agents) throw new KernelError('AGENT_INVALID', `${file} has no \`agents\``, undefined, COMPOSE_HINT)
  const names = Object.keys(agents)
  const unknown = chosen.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new KernelError('INVALID', unknownNodeMessage(unknown, names))
  const wanted = chosen.length === 0 ? new Set(names) : new Set([...chosen, ...dependenciesOf(graphOf(agents), chosen)])
  const nodes = Object.entries(agents)
    .filter(([name]) => wanted.has(name))
    .map(([name, entry]): FileNode => {
      const { depends_on: dependsOn, command, worktree = false, cwd, retries, limits, ...rest } = entry
      return {
        ...withoutUndefined(rest),
        name,
        needs: needsOf(dependsOn),
        retries,
        worktree,
        cwd: resolve(dirname(file), cwd ?? '.'),
        ...withoutUndefined({ argv: command, limits }),
      }
    })
  return { file, nodes }
}
